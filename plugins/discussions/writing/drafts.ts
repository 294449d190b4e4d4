import {
  InvalidInput,
  isUnseen,
  parse,
  Type,
  withoutDirections,
  type EntityManager,
  type Extension,
  type FieldProblem,
  type PluginHandle,
  type TSchema,
} from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { discussionFields, draftAccepted, type Field } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';

/** Characters of a title, the same for forms, the API and the database's index of titles. */
const TITLE_LENGTH = 200;
/** Bytes of a post: the bound under which Markdown is rendered. */
const CONTENT_BYTES = 65_536;

/** A part that is not written is absent. */
interface Draft {
  readonly title?: string;
  readonly content?: string;
}
/** A draft that was validated, passed every plugin's filter, and was rendered. */
export interface AcceptedDraft {
  readonly title: string;
  readonly content: string;
  readonly html: string;
}
/** Stores one field of another plugin in the transaction that writes the discussion. */
export type SaveField = (em: EntityManager, id: string) => Promise<void>;
/** What `body` says of one of these fields: as it was given, and as its plugin takes it. */
interface GivenField {
  readonly field: Field;
  readonly given: unknown;
  readonly value: unknown;
}

function problems({ title, content }: Draft): FieldProblem[] {
  const found: FieldProblem[] = [];
  if (title !== undefined && isUnseen(title)) found.push({ field: 'title', message: 'is required' });
  if (title !== undefined && title.length > TITLE_LENGTH)
    found.push({ field: 'title', message: `must have at most ${TITLE_LENGTH} characters` });
  if (content !== undefined && isUnseen(content)) found.push({ field: 'content', message: 'is required' });
  if (content !== undefined && Buffer.byteLength(content) > CONTENT_BYTES)
    found.push({ field: 'content', message: `must have at most ${CONTENT_BYTES} bytes` });
  return found;
}

/**
 * Text as it is stored: without control characters, which show nothing and which XML and PostgreSQL do not take, and
 * lines end alike wherever they were typed.
 */
const normalize = (text: string): string => text.replace(/\r\n?/g, '\n').replace(/(?![\t\n])\p{Cc}/gu, '');
/** Nor with what turns the direction of what follows: a title stands on one line with names, dates and other titles. */
const normalizeTitle = (title: string): string => withoutDirections(normalize(title)).replace(/\s+/g, ' ').trim();

/** Without the blank lines around it: white space before the first word may make it a block of code. */
function withoutBlankLines(text: string): string {
  const end = text.trimEnd().length;
  const after = text.indexOf('\n', end);
  return end === 0 ? '' : text.slice(0, after < 0 ? undefined : after).replace(/^\s*\n/, '');
}

/** As it is stored. 400 naming each field that is wrong. */
export function checked({ title, content }: { readonly [K in keyof Draft]?: string | undefined }): Draft {
  const draft = {
    ...(title !== undefined && { title: normalizeTitle(title) }),
    ...(content !== undefined && { content: withoutBlankLines(normalize(content)) }),
  };
  const wrong = problems(draft);
  if (wrong.length > 0) throw new InvalidInput(wrong);
  return draft;
}

/** Validates, filters and renders drafts. */
export class Drafts {
  readonly #plugin: PluginHandle;
  readonly #markdown: Markdown;

  constructor(plugin: PluginHandle, markdown: Markdown) {
    this.#plugin = plugin;
    this.#markdown = markdown;
  }

  /** 400 naming each field that is wrong, or the error with which a filter of `discussion.draft` refuses it. */
  async accept(
    draft: Draft & { readonly content: string },
    author: Viewer,
    categoryId: string,
  ): Promise<AcceptedDraft> {
    const { title = '', content = '' } = await this.#filtered(draft, author, categoryId);
    return { title, content, html: await this.#markdown.render(content) };
  }

  /** As `accept`, for a new title of a discussion that is there. */
  async acceptTitle(title: string, author: Viewer, categoryId: string): Promise<string> {
    return (await this.#filtered({ title }, author, categoryId)).title ?? title;
  }

  /** What filters make of a draft is checked as what was sent. */
  async #filtered(draft: Draft, author: Viewer, categoryId: string): Promise<Draft> {
    const sent = checked(draft);
    const { title = sent.title, content = sent.content } = await this.#plugin.filter(draftAccepted, sent, {
      author,
      categoryId,
    });
    return checked({ title, content });
  }

  /** The fields of other plugins that `body` has values for. 400 for a value its plugin does not take. */
  fields(body: Readonly<Record<string, unknown>>, viewer: Viewer): readonly SaveField[] {
    return fieldSaves(this.#plugin.extensions(discussionFields), body, viewer);
  }

  /** These fields as their plugins keep them, to be saved later. */
  async keptFields(
    body: Readonly<Record<string, unknown>>,
    viewer: Viewer,
  ): Promise<Readonly<Record<string, unknown>>> {
    const fields = givenFields(this.#plugin.extensions(discussionFields), body);
    const kept: Record<string, unknown> = {};
    for (const { field, given, value } of fields)
      kept[field.name] = field.keep ? await field.keep(value, viewer) : given;
    return kept;
  }
}

const givenFields = (
  fields: readonly Extension<Field>[],
  body: Readonly<Record<string, unknown>>,
): readonly GivenField[] =>
  fields.flatMap(({ value: field }) => {
    const given = body[field.name];
    if (given === undefined || !field.body || !field.save) return [];
    return [{ field, given, value: checkedValue(field, given) }];
  });

/** What stores the fields that `body` has values for. 400 for a value that a field's plugin does not take. */
export const fieldSaves = (
  fields: readonly Extension<Field>[],
  body: Readonly<Record<string, unknown>>,
  viewer: Viewer,
): readonly SaveField[] =>
  givenFields(fields, body).map(
    ({ field, value }): SaveField =>
      (em, id) =>
        field.save!(em, id, value, viewer),
  );

const bodies = new WeakMap<Field, TSchema>();

/** What was given for a field, as its plugin takes it; 400 naming the field otherwise. */
export function checkedValue(field: Field, given: unknown): unknown {
  const body = bodies.get(field) ?? Type.Object(field.body ? { [field.name]: field.body } : {});
  bodies.set(field, body);
  return (parse(body, { [field.name]: given }) as Record<string, unknown>)[field.name];
}
