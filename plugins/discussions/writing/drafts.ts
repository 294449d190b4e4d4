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

/** Maximum length of a title in characters, shared by forms, the API and the database's index of titles. */
const TITLE_LENGTH = 200;
/** Maximum size of a post in bytes: the limit for rendering Markdown. */
const CONTENT_BYTES = 65_536;

/** Absent parts are not written. */
interface Draft {
  readonly title?: string;
  readonly content?: string;
}
/** A draft that has been validated, filtered by plugins and rendered. */
export interface AcceptedDraft {
  readonly title: string;
  readonly content: string;
  readonly html: string;
}
/** Stores the value of another plugin's field in the transaction that writes the discussion. */
export type SaveField = (em: EntityManager, id: string) => Promise<void>;
/** The value that `body` contains for a field: as given, and as parsed by the schema of its plugin. */
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
 * Text as stored: line endings are normalized, and control characters removed, because they are invisible and neither
 * XML nor PostgreSQL accepts them.
 */
const normalize = (text: string): string => text.replace(/\r\n?/g, '\n').replace(/(?![\t\n])\p{Cc}/gu, '');
/**
 * Also removes characters that change the text direction: a title shares its line with names, dates and other titles.
 */
const normalizeTitle = (title: string): string => withoutDirections(normalize(title)).replace(/\s+/g, ' ').trim();

/**
 * Removes leading and trailing blank lines, but not the indentation of the first word, which may make it a code block.
 */
function withoutBlankLines(text: string): string {
  const end = text.trimEnd().length;
  const after = text.indexOf('\n', end);
  return end === 0 ? '' : text.slice(0, after < 0 ? undefined : after).replace(/^\s*\n/, '');
}

/** Normalizes a draft for storage. Throws 400 naming each invalid field. */
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

  /** Throws 400 naming each invalid field, or the error with which a filter of `discussion.draft` rejects it. */
  async accept(
    draft: Draft & { readonly content: string },
    author: Viewer,
    categoryId: string,
  ): Promise<AcceptedDraft> {
    const { title = '', content = '' } = await this.#filtered(draft, author, categoryId);
    return { title, content, html: await this.#markdown.render(content) };
  }

  /** Like `accept`, for a new title of an existing discussion. */
  async acceptTitle(title: string, author: Viewer, categoryId: string): Promise<string> {
    return (await this.#filtered({ title }, author, categoryId)).title ?? title;
  }

  /** The result of the filters is validated like the original draft. */
  async #filtered(draft: Draft, author: Viewer, categoryId: string): Promise<Draft> {
    const sent = checked(draft);
    const { title = sent.title, content = sent.content } = await this.#plugin.filter(draftAccepted, sent, {
      author,
      categoryId,
    });
    return checked({ title, content });
  }

  /**
   * The fields of other plugins for which `body` has values. Throws 400 for a value that its plugin does not accept.
   */
  fields(body: Readonly<Record<string, unknown>>, viewer: Viewer): readonly SaveField[] {
    return fieldSaves(this.#plugin.extensions(discussionFields), body, viewer);
  }

  /** The values of these fields in the form that their plugins can save later. */
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

/**
 * Functions that store the fields for which `body` has values. Throws 400 for a value that its plugin does not accept.
 */
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

/** The value given for a field, as parsed by its schema; throws 400 naming the field if it is invalid. */
export function checkedValue(field: Field, given: unknown): unknown {
  const body = bodies.get(field) ?? Type.Object(field.body ? { [field.name]: field.body } : {});
  bodies.set(field, body);
  return (parse(body, { [field.name]: given }) as Record<string, unknown>)[field.name];
}
