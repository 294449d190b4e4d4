import { HttpError, InvalidInput, type Data, type Environment, type Extension, type PluginHandle } from 'parley-forum';
import type { Member, Viewer } from 'parley-forum/plugins/access';
import type { Page } from 'parley-forum/plugins/api';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { MAX_DRAFT_BYTES, type DraftFields, type DraftRecord } from 'parley-forum/plugins/drafts';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { DraftForm, DraftForms, Drafts } from 'parley-forum/ports/drafts';
import { formsOf } from './draft-forms.ts';
import type { Draft, DraftStore, Limits, ListRequest } from './draft-store.ts';

export interface DraftDeps {
  readonly data: Data;
  readonly environment: Environment;
  readonly discussions: Discussions;
  readonly others: () => readonly Extension<DraftForms>[];
  readonly attempt: PluginHandle['attempt'];
  readonly markdown: Pick<Markdown, 'excerpt'>;
  readonly store: DraftStore;
  readonly limits: () => Limits;
}
/** A draft as its owner sees it, with the path of the form to continue in. */
export interface ShownDraft {
  readonly record: DraftRecord;
  readonly path: string | null;
}

/** Maximum number of fields; more than any form has. */
const MOST_FIELDS = 60;
/** Valid field names. */
const NAME = /^[^]{1,200}$/;
/** Names of fields that no form for texts has, in case a program sends them. */
const SECRET = /passw|secret|token|_csrf/i;
/** Maximum characters of the query string of a form's URL. */
const MAX_QUERY = 2_048;
/** Characters of a text that are shown as its excerpt. */
const EXCERPT = 200;

/** The drafts of members, each visible to its owner alone; `viewer` is always a member here. */
export class DraftService implements Drafts {
  readonly #deps: DraftDeps;

  constructor(deps: DraftDeps) {
    this.#deps = deps;
  }

  /** Finds one of the viewer's own drafts. */
  find(key: string, viewer: Member): Promise<Draft | undefined> {
    return this.#deps.store.find(viewer.id, key);
  }

  /** The form of a key; undefined if there is none that the viewer may see. */
  async formOf(key: string, viewer: Member): Promise<DraftForm | undefined> {
    const [form] = await formsOf([key], this.#deps, viewer);
    return form;
  }

  async values(key: string, viewer: Viewer): Promise<DraftFields | undefined> {
    return viewer.id === undefined ? undefined : (await this.find(key, viewer))?.fields;
  }

  async sent(userId: string, keys: readonly string[], content: string): Promise<void> {
    await this.#deps.store.removeSent(userId, keys, content);
  }

  list(viewer: Member, request: ListRequest): Promise<Page<Draft>> {
    return this.#deps.store.list(viewer.id, request);
  }

  /**
   * Stores a draft in place of any existing one. Throws 400 if the fields are not those of a form for texts, and 409 if
   * the member has too many drafts or if the stored draft is not the one of `replaces` (null: none) because it was
   * changed elsewhere in the meantime.
   */
  async put(viewer: Member, key: string, fields: DraftFields, replaces?: Date | null): Promise<Draft> {
    const { data, store, limits } = this.#deps;
    check(fields);
    return data.transaction(async () => {
      const put = await store.put(viewer.id, key, fields, { ...limits(), replaces });
      if (put) return put;
      const there = await store.find(viewer.id, key);
      if (replaces !== undefined && there?.updatedAt.getTime() !== replaces?.getTime())
        throw new HttpError(409, 'The draft was changed elsewhere in the meantime', { code: 'draft_changed' });
      throw new HttpError(409, 'You have too many drafts; discard some that you no longer need', {
        code: 'draft_limit',
      });
    });
  }

  /** Resolves to the number of drafts removed. */
  remove(keys: readonly string[], viewer: Member): Promise<number> {
    return this.#deps.store.remove(viewer.id, keys);
  }

  /** Runs a constant number of statements. */
  async shown(drafts: readonly Draft[], viewer: Member): Promise<readonly ShownDraft[]> {
    const { environment, markdown } = this.#deps;
    const keys = drafts.map(({ key }) => key);
    const forms = await formsOf(keys, this.#deps, viewer);
    return drafts.map(({ key, fields, updatedAt }, at) => {
      const form = forms[at];
      const path = form ? `${form.path}?${queryOf(fields, form.draft)}${form.hash ?? ''}` : null;
      const typed = textOf(fields['title'] ?? fields['subject']);
      const record = {
        key,
        fields,
        updated_at: updatedAt.toISOString(),
        title: form?.title ?? (typed === '' ? null : typed),
        excerpt: markdown.excerpt(textOf(fields['content']), EXCERPT),
        url: path === null ? null : environment.baseUrl + path,
      };
      return { record, path };
    });
  }
}

/**
 * The query string that makes the form load its draft. Repeats the query parameters of the form's URL, which are stored
 * under names with a “?”, up to the maximum length.
 */
function queryOf(fields: DraftFields, draft = '1'): string {
  let query = `draft=${draft}`;
  for (const [name, value] of Object.entries(fields)) {
    if (!name.startsWith('?') || name === '?draft') continue;
    const more = `${query}&${new URLSearchParams({ [name.slice(1)]: String(value) }).toString()}`;
    if (more.length <= MAX_QUERY) query = more;
  }
  return query;
}

const textOf = (value: string | boolean | undefined): string => (typeof value === 'string' ? value.trim() : '');

function check(fields: DraftFields): void {
  const wrong = (message: string): InvalidInput => new InvalidInput([{ field: 'fields', message }]);
  const names = Object.keys(fields);
  if (names.length === 0 || names.length > MOST_FIELDS) throw wrong(`must have 1 to ${MOST_FIELDS} fields`);
  if (!names.every((name) => NAME.test(name))) throw wrong('has a field whose name is empty or too long');
  if (names.some((name) => SECRET.test(name))) throw wrong('has a field that is not valid text');
  if (Buffer.byteLength(JSON.stringify(fields)) > MAX_DRAFT_BYTES)
    throw wrong(`must have at most ${MAX_DRAFT_BYTES} bytes in total`);
}
