import { createId, sql, Type, type Data, type RawBuilder, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { Author, type Accounts } from 'parley-forum/plugins/accounts';
import { decodeId, encodeCursor, nullable, Time, type Page } from 'parley-forum/plugins/api';
import type { CategoryService } from '../categories/category-service.ts';
import type { ChangedBy } from '../writing/moderation-log.ts';
import { MAX_TEXT_BYTES } from '../rows.ts';

/**
 * A change of a post, or of the title or category edited along with a first post. Has the previous values, and null for
 * those that did not change.
 */
export const RevisionRecord = Type.Object({
  id: Type.String(),
  post_id: Type.String(),
  editor: nullable(Author),
  reason: Type.String(),
  content: nullable(Type.String()),
  title: nullable(Type.String()),
  category_id: nullable(Type.String({ description: 'Also null if the caller may not see that category' })),
  created_at: Time,
});
export type RevisionRecord = Static<typeof RevisionRecord>;

/** The values before a change; undefined ones did not change. */
interface Before {
  readonly content?: string | undefined;
  readonly title?: string | undefined;
  readonly categoryId?: string | undefined;
}
interface RevisionRow {
  readonly id: string;
  readonly post_id: string;
  readonly editor_id: string;
  readonly content: string | null;
  readonly title: string | null;
  readonly category_id: string | null;
  readonly reason: string;
  readonly created_at: Date;
}
interface Replaced extends RevisionRow {
  readonly next_content: string;
  readonly next_title: string;
  readonly next_category_id: string;
}
/** A change with the old and the new values. */
export interface Change {
  readonly id: string;
  readonly editor: Author | null;
  readonly reason: string;
  readonly at: string;
  readonly content: readonly [before: string, after: string] | undefined;
  readonly title: readonly [before: string, after: string] | undefined;
  /** Category ids. */
  readonly category: readonly [before: string, after: string] | undefined;
}
interface Part {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}
interface RevisionsDeps {
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly categories: CategoryService;
}

const COLUMNS = sql<RevisionRow>`r.id, r.post_id, r.editor_id, r.content, r.title, r.category_id, r.reason,
  r.created_at`;

/** The value of a column after a change: the old value of the next change to it, or the current value. */
const next = (column: string, now: RawBuilder<unknown>): RawBuilder<unknown> => sql`coalesce((
  select n.${sql.ref(column)} from post_revision n where n.post_id = r.post_id and n.id > r.id
    and n.${sql.ref(column)} is not null order by n.id limit 1
), ${now})`;

/** Earlier versions of posts, newest change first. Callers check who may read them. */
export class Revisions {
  readonly #deps: RevisionsDeps;

  constructor(deps: RevisionsDeps) {
    this.#deps = deps;
  }

  /** Must be called in the transaction of the change. Does nothing if nothing changed. */
  async add(
    postId: string,
    { content, title, categoryId }: Before,
    { viewer, reason = '' }: ChangedBy,
    now: Date,
  ): Promise<void> {
    if (content === undefined && title === undefined && categoryId === undefined) return;
    await this.#deps.data
      .all(sql`insert into post_revision (id, post_id, editor_id, content, title, category_id, reason, created_at)
      values (${createId(now.getTime())}, ${postId}, ${viewer.id}, ${content ?? null}, ${title ?? null}, ${categoryId ?? null}, ${reason.trim()}, ${now})`);
  }

  async list(postId: string, part: Part, viewer: Viewer): Promise<Page<RevisionRecord>> {
    const found = await this.#deps.data.all(sql<
      RevisionRow & { readonly found: number }
    >`select ${COLUMNS}, r.found from (
        select r.*, count(*) over ()::int as found, row_number() over (order by r.id desc) as place,
          sum(coalesce(octet_length(r.content), 0)) over (order by r.id desc) as reached
            from (select * from post_revision r where ${this.#part(postId, part)}) r
      ) r where r.place = 1 or r.reached <= ${sql.lit(MAX_TEXT_BYTES)} order by r.id desc`);
    const items = found.slice(0, part.limit);
    const hasMore = items.length < (found[0]?.found ?? 0);
    const authors = await this.#editors(items);
    const visible = await this.#visible(viewer);
    const records = items.map(
      ({ editor_id: editorId, created_at: at, category_id: category, found: _found, ...row }) => ({
        ...row,
        editor: authors.get(editorId) ?? null,
        category_id: category !== null && visible.has(category) ? category : null,
        created_at: at.toISOString(),
      }),
    );
    return { items: records, hasMore, nextCursor: hasMore ? encodeCursor([items.at(-1)!.id]) : undefined };
  }

  async changes(postId: string, part: Part): Promise<{ readonly items: readonly Change[]; readonly hasMore: boolean }> {
    const rows = await this.#deps.data.all(sql<Replaced>`
      select ${COLUMNS}, ${next('content', sql`p.content`)} as next_content,
        ${next('title', sql`d.title`)} as next_title,
        ${next('category_id', sql`d.category_id`)} as next_category_id
      from post_revision r join post p on p.id = r.post_id join discussion d on d.id = p.discussion_id
      where ${this.#part(postId, part)}`);
    const shown = rows.slice(0, part.limit);
    const authors = await this.#editors(shown);
    const pair = (before: string | null, after: string) => (before === null ? undefined : ([before, after] as const));
    const items = shown.map((row) => ({
      id: row.id,
      editor: authors.get(row.editor_id) ?? null,
      reason: row.reason,
      at: row.created_at.toISOString(),
      content: pair(row.content, row.next_content),
      title: pair(row.title, row.next_title),
      category: pair(row.category_id, row.next_category_id),
    }));
    return { items, hasMore: rows.length > part.limit };
  }

  #part(postId: string, { limit, offset = 0, cursor }: Part): RawBuilder<unknown> {
    const before = cursor === undefined ? undefined : decodeId(cursor);
    return sql`r.post_id = ${postId}${before === undefined ? sql`` : sql` and r.id < ${before}::uuid`} order by r.id desc limit ${limit + 1} offset ${offset}`;
  }

  #editors(rows: readonly RevisionRow[]): Promise<ReadonlyMap<string, Author>> {
    return this.#deps.accounts.authors([...new Set(rows.map((row) => row.editor_id))]);
  }

  async #visible(viewer: Viewer): Promise<ReadonlySet<string>> {
    const { categories } = this.#deps;
    await categories.refresh();
    return new Set(categories.visible(viewer).map(({ id }) => id));
  }
}
