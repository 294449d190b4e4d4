import { sql, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { tags, type DiscussionHead } from 'parley-forum/plugins/discussions';
import { inBatches } from 'parley-forum/plugins/privacy';
import type { Editing } from '../writing/editor.ts';
import { addPosts, leave } from '../counters/counters.ts';
import type { Emptying } from './redaction.ts';
import { slugOf } from '../identifiers.ts';
import type { Mirroring } from '../projections/projections.ts';
import { headTag } from '../reading/reader.ts';

export interface ErasingServices {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly editing: Editing;
  readonly emptying: Emptying;
  readonly mirroring: Mirroring;
  /** In place of every title that is erased. */
  title(): string;
}
type Own = DiscussionHead & {
  /** Others have replied, and those replies are there. */
  readonly shared: boolean;
};

interface Author {
  readonly id: string;
  readonly username: string;
}
/** Replies that can be read; they have an index. */
const LIVING = sql`p.number > 1 and p.deleted_at is null`;
/** What says something still, or said something before. */
const SPEAKING = sql`(p.content <> '' or p.html <> '' or exists (select 1 from post_revision r where r.post_id = p.id))`;

const headOf = (d: string): RawBuilder<DiscussionHead> =>
  sql.raw(`${d}.id, ${d}.number, ${d}.title, ${d}.slug, ${d}.category_id as "categoryId",
  ${d}.author_id as "authorId", ${d}.is_locked as locked, ${d}.is_pinned as pinned, ${d}.deleted_at is not null as deleted`);

/**
 * Removes all that a member wrote. What can be seen is deleted first, in the ways that everybody is told of; then what
 * it said goes from the rows that stay as stubs. A discussion in which others have replied stays for their sake,
 * without its title and its first post.
 */
export class Erasing {
  readonly #services: ErasingServices;

  constructor(services: ErasingServices) {
    this.#services = services;
  }

  async erase(accountId: string, signal: AbortSignal): Promise<void> {
    const { access, accounts } = this.#services;
    const author: Author = { id: accountId, username: (await accounts.find(accountId))?.username ?? 'deleted' };
    const viewer: Viewer = { ...author, group: access.groupOf('guest') };
    await inBatches(signal, (limit) => this.#discussions(viewer, limit, signal));
    await inBatches(signal, (limit) => this.#posts(author, limit, LIVING));
    await inBatches(signal, (limit) => this.#posts(author, limit, SPEAKING));
  }

  async #discussions(viewer: Viewer, limit: number, signal: AbortSignal): Promise<number> {
    const { data, editing, title } = this.#services;
    const own = await data.all(sql<Own>`
      select ${headOf('d')}, exists (select 1 from post p where p.discussion_id = d.id and p.author_id <> d.author_id and p.deleted_at is null) as shared
      from discussion d join post f on f.id = d.first_post_id
      where d.author_id = ${viewer.id} and (d.title <> ${title()} or (d.deleted_at is null and f.deleted_at is null)) order by d.id limit ${limit}`);
    for (const { shared, ...head } of own) {
      if (signal.aborted) break;
      if (head.deleted) await this.#rename(head);
      else await editing.change(head, { title: title() }, { viewer });
      if (shared) await this.#stub(head);
      else await editing.remove(head, { viewer });
    }
    return own.length;
  }

  /** Replies, and what was deleted before. */
  async #posts(author: Author, limit: number, condition: RawBuilder<unknown>): Promise<number> {
    const { data, emptying } = this.#services;
    const rows = await data.all(
      sql<{
        id: string;
      }>`select p.id from post p where p.author_id = ${author.id} and ${condition} order by p.id limit ${limit}`,
    );
    if (rows.length > 0)
      await emptying.empty(
        rows.map(({ id }) => id),
        author,
      );
    return rows.length;
  }

  /** Discussions that were deleted before: nobody is told of what becomes of them. */
  async #rename({ id, number }: DiscussionHead): Promise<void> {
    const { data, cache, mirroring, title } = this.#services;
    const text = title();
    await data.transaction(async (em) => {
      const row = await data.one(sql<{
        categoryId: string;
        deletedAt: Date | null;
      }>`update discussion set title = ${text}, slug = ${slugOf(text, 'discussion')}
        where id = ${id} returning category_id as "categoryId", deleted_at as "deletedAt"`);
      if (row) await mirroring.discussion(em, { id, title: text, ...row });
    });
    await cache.purge(headTag(id), headTag(number), tags.discussion(id));
  }

  /** The first post alone is deleted: its author is no longer among those who started or wrote something here. */
  async #stub({ id, number, authorId }: DiscussionHead): Promise<void> {
    const { data, cache, clock, mirroring } = this.#services;
    const now = new Date(clock.now());
    await data.transaction(async (em) => {
      const stored = await data.one(sql<{ id: string; title: string; categoryId: string; deletedAt: Date | null }>`
        select id, title, category_id as "categoryId", deleted_at as "deletedAt" from discussion where id = ${id} for no key update`);
      const post = await data.one(sql<{ id: string; content: string; html: string; createdAt: Date }>`
        update post set deleted_at = ${now}, deleted_by = ${authorId}, updated_at = ${now} where discussion_id = ${id} and number = 1 and deleted_at is null
        returning id, content, html, created_at as "createdAt"`);
      if (!stored || !post) return;
      await leave(data, id, authorId, { posts: 1, replies: 0 });
      if (!stored.deletedAt)
        await addPosts(data, authorId, [{ categoryId: stored.categoryId, discussions: -1, posts: -1 }]);
      await mirroring.posts(em, stored, [{ ...post, number: 1, authorId, deletedAt: now }]);
    });
    await cache.purge(tags.lists, tags.discussion(id), headTag(id), headTag(number));
  }
}
