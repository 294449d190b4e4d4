import {
  InvalidInput,
  parse,
  Type,
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
const TITLE = { minLength: 1, maxLength: 200 } as const;
/** Characters of a post, and bytes: the bound under which Markdown is rendered. */
const CONTENT = { minLength: 1, maxLength: 65_536 } as const;

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

function problems(title: string | undefined, content: string): FieldProblem[] {
  const found: FieldProblem[] = [];
  if (title !== undefined && title === '') found.push({ field: 'title', message: 'is required' });
  if (title !== undefined && title.length > TITLE.maxLength)
    found.push({ field: 'title', message: `must have at most ${TITLE.maxLength} characters` });
  if (content === '') found.push({ field: 'content', message: 'is required' });
  if (Buffer.byteLength(content) > CONTENT.maxLength)
    found.push({ field: 'content', message: `must have at most ${CONTENT.maxLength} bytes` });
  return found;
}

/**
 * Text as it is stored: without control characters, which show nothing and which XML and PostgreSQL do not take, and
 * lines end alike wherever they were typed.
 */
const normalize = (text: string): string => text.replace(/\r\n?/g, '\n').replace(/(?![\t\n])\p{Cc}/gu, '');
const normalizeTitle = (title: string): string => normalize(title).replace(/\s+/g, ' ').trim();

/** Without the blank lines around it: white space before the first word may make it a block of code. */
function withoutBlankLines(text: string): string {
  const end = text.trimEnd().length;
  const after = text.indexOf('\n', end);
  return end === 0 ? '' : text.slice(0, after < 0 ? undefined : after).replace(/^\s*\n/, '');
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
    draft: { readonly title?: string; readonly content: string },
    author: Viewer,
    categoryId: string,
  ): Promise<AcceptedDraft> {
    const title = draft.title === undefined ? undefined : normalizeTitle(draft.title);
    const content = withoutBlankLines(normalize(draft.content));
    const wrong = problems(title, content);
    if (wrong.length > 0) throw new InvalidInput(wrong);
    const final = await this.#plugin.filter(
      draftAccepted,
      { ...(title !== undefined && { title }), content },
      { author, categoryId },
    );
    const accepted = { title: final.title ?? '', content: final.content ?? content };
    return { ...accepted, html: await this.#markdown.render(accepted.content) };
  }

  /** As `accept`, for a new title of a discussion that is there. */
  async acceptTitle(title: string, author: Viewer, categoryId: string): Promise<string> {
    const cleaned = normalizeTitle(title);
    const wrong = problems(cleaned, '-');
    if (wrong.length > 0) throw new InvalidInput(wrong);
    return (await this.#plugin.filter(draftAccepted, { title: cleaned }, { author, categoryId })).title ?? cleaned;
  }

  /** The fields of other plugins that `body` has values for. 400 for a value its plugin does not take. */
  fields(body: Readonly<Record<string, unknown>>, viewer: Viewer): readonly SaveField[] {
    return fieldSaves(this.#plugin.extensions(discussionFields), body, viewer);
  }

  /** These fields as they were given, when their plugins have looked at them: to be saved later. */
  async keptFields(
    body: Readonly<Record<string, unknown>>,
    viewer: Viewer,
  ): Promise<Readonly<Record<string, unknown>>> {
    const fields = givenFields(this.#plugin.extensions(discussionFields), body);
    for (const { field, value } of fields) await field.check?.(value, viewer);
    return Object.fromEntries(fields.map(({ field, given }) => [field.name, given]));
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
