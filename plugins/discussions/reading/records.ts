import type { Environment, ExtensionPoint, PluginHandle, Static } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Author } from 'parley-forum/plugins/accounts';
import {
  categoryFields,
  discussionFields,
  postFields,
  type Category,
  type CategoryRecord,
  type DiscussionRecord,
  type Field,
  type PostRecord,
  type PostStub,
} from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { escapeHtml } from 'parley-forum/plugins/web';
import type { CategoryService } from '../categories/category-service.ts';
import { discussionPath } from '../identifiers.ts';
import type { DiscussionRow, PostRow } from '../rows.ts';

type AuthorRecord = Static<typeof Author>;
type Authors = ReadonlyMap<string, AuthorRecord>;

export interface RecordsDeps {
  readonly plugin: PluginHandle;
  readonly access: Pick<Access, 'representative'>;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly categories: CategoryService;
  readonly environment: Environment;
  readonly markdown: Pick<Markdown, 'excerpt'>;
}

/** Milliseconds after which a slow field of another plugin is omitted from the page. */
const FIELD_TIMEOUT = 2_000;

/** Characters shown of a text that exceeds the response size limit. */
const EXCERPT = 300;

/**
 * Converts rows to the records that the API and the pages show, adding authors from memory and the fields of other
 * plugins with one call each.
 */
export class Records {
  readonly #deps: RecordsDeps;

  constructor(deps: RecordsDeps) {
    this.#deps = deps;
  }

  async discussions(rows: readonly DiscussionRow[], viewer: Viewer): Promise<readonly DiscussionRecord[]> {
    const [authors, addFields] = await Promise.all([this.#authors(rows), this.#fields(discussionFields, rows, viewer)]);
    return addFields(rows.map((row) => this.#discussion(row, authors)));
  }

  /** Deleted posts become stubs, unless `whole` is set because the viewer is a moderator. */
  async posts(rows: readonly PostRow[], viewer: Viewer, whole: boolean): Promise<readonly (PostRecord | PostStub)[]> {
    const shown = rows.filter((row) => row.moved_post_id === null && (whole || !row.deleted_at));
    const [authors, addFields] = await Promise.all([
      this.#authors(shown.flatMap((row) => [row, ...(row.answered ? [row.answered] : []), ...(row.replies ?? [])])),
      this.#fields(postFields, shown, viewer),
    ]);
    const full = addFields(shown.map((row) => this.#post(row, { authors, whole })));
    const byId = new Map(full.map((record) => [record.id, record]));
    return rows.map(
      (row): PostRecord | PostStub => byId.get(row.id) ?? { id: row.id, number: row.number, is_deleted: true },
    );
  }

  /** Adds authors, but no fields, to rows of posts. */
  async withAuthors<T extends { readonly author_id: string }>(
    rows: readonly T[],
  ): Promise<readonly (T & { readonly author: AuthorRecord })[]> {
    const authors = await this.#authors(rows);
    return rows.map((row) => ({ ...row, author: authorOf(row.author_id, authors) }));
  }

  async categories(list: readonly Category[], viewer: Viewer): Promise<readonly CategoryRecord[]> {
    const { categories } = this.#deps;
    const count = await categories.counts();
    const records = list.map(
      ({ id, slug, name, description, parentId, hue, icon, position }, index): CategoryRecord => {
        const { discussions, posts } = count(id);
        const can = categories.rights(list[index]!, viewer);
        return {
          id,
          slug,
          name,
          description,
          parent_id: parentId,
          hue,
          icon,
          position,
          discussion_count: discussions,
          post_count: posts,
          can,
        };
      },
    );
    return (await this.#fields(categoryFields, records, viewer))(records);
  }

  /** The absolute URL of a discussion's page. */
  url(discussion: { readonly number: number; readonly slug: string }): string {
    return this.#deps.environment.baseUrl + discussionPath(discussion);
  }

  #authors(rows: readonly { readonly author_id: string; readonly last_author_id?: string }[]): Promise<Authors> {
    return this.#deps.accounts.authors([
      ...new Set(rows.flatMap((row) => [row.author_id, row.last_author_id ?? row.author_id])),
    ]);
  }

  #discussion(row: DiscussionRow, authors: Authors): DiscussionRecord {
    const { id, slug, name } = this.#deps.categories.all().find((category) => category.id === row.category_id) ?? {
      id: row.category_id,
      slug: '',
      name: '',
    };
    return {
      id: row.id,
      number: row.number,
      title: row.title,
      slug: row.slug,
      ...this.#text(row),
      category_id: row.category_id,
      category: { id, slug, name },
      author: authorOf(row.author_id, authors),
      last_author: authorOf(row.last_author_id, authors),
      reply_count: row.reply_count,
      view_count: row.view_count,
      participant_count: row.participant_count,
      last_post_number: row.last_number,
      is_pinned: row.is_pinned,
      pinned_in: row.is_pinned ? (row.is_pinned_everywhere ? 'everywhere' : 'category') : null,
      pinned_until: row.pinned_until?.toISOString() ?? null,
      is_locked: row.is_locked,
      lock_reason: row.lock_reason,
      is_deleted: row.deleted_at !== null,
      last_post_at: row.last_post_at.toISOString(),
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
      url: this.url(row),
    };
  }

  #post(row: PostRow, { authors, whole }: { readonly authors: Authors; readonly whole: boolean }): PostRecord {
    const answered = whole || !row.answered?.is_deleted ? row.answered : null;
    return {
      id: row.id,
      discussion_id: row.discussion_id,
      number: row.number,
      ...this.#text(row),
      author: authorOf(row.author_id, authors),
      is_first: row.number === 1,
      created_at: row.created_at.toISOString(),
      updated_at: row.updated_at.toISOString(),
      edited_at: row.edited_at?.toISOString() ?? null,
      is_deleted: row.deleted_at !== null,
      reply_to_number: answered && row.reply_to_number,
      ...(answered && { reply_to_author: authorOf(answered.author_id, authors) }),
      reply_count: row.reply_count,
      ...(row.replies && {
        replies: row.replies.map((reply) => ({
          number: reply.number,
          author: authorOf(reply.author_id, authors),
          created_at: new Date(reply.created_at).toISOString(),
        })),
      }),
      ...(row.author_since && { author_since: row.author_since.toISOString() }),
    };
  }

  /** Text that exceeds the response size limit is cut to an excerpt. */
  #text({ content, html }: Pick<PostRow, 'content' | 'html'>): Pick<PostRecord, 'content' | 'html' | 'is_truncated'> {
    if (html !== null) return { content, html, is_truncated: false };
    return {
      content,
      html: `<p dir="auto">${escapeHtml(this.#deps.markdown.excerpt(content, EXCERPT))}</p>\n`,
      is_truncated: true,
    };
  }

  /**
   * Loads other plugins' fields for these rows; the returned function adds them to their records, given in the same
   * order.
   */
  async #fields(
    point: ExtensionPoint<Field>,
    rows: readonly { readonly id: string }[],
    viewer: Viewer,
  ): Promise<<T extends object>(records: readonly T[]) => readonly T[]> {
    // A guest is their own representative.
    const standsForMany = this.#deps.access.representative(viewer)?.id === viewer.id;
    const fields = this.#deps.plugin.extensions(point).filter(({ value }) => !(value.personal && standsForMany));
    if (fields.length === 0 || rows.length === 0) return (records) => records;
    const ids = rows.map((row) => row.id);
    const columns = await Promise.all(
      fields.map(async ({ plugin, value: field }) => {
        const values = await this.#deps.plugin.attempt(
          plugin,
          `field ${field.name}`,
          () => field.loadMany(ids, viewer),
          FIELD_TIMEOUT,
        );
        return values && ([field.name, values] as const);
      }),
    );
    // A plugin that stopped in the meantime has removed the schema of its field, so its values are dropped too.
    const here = new Set(this.#deps.plugin.extensions(point).map(({ value }) => value.name));
    const loaded = columns.filter((column) => column !== undefined).filter(([name]) => here.has(name));
    return (records) =>
      records.map((record, index) => ({
        ...record,
        ...Object.fromEntries(loaded.map(([name, values]) => [name, values[index]])),
      }));
  }
}

/** Posts of deleted accounts show a placeholder author. */
const authorOf = (id: string, authors: Authors): AuthorRecord =>
  authors.get(id) ?? { id, username: 'deleted', display_name: null, avatar_url: null };
