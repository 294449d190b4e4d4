import { slugOf } from 'parley-forum/plugins/api';
import { sql, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { discussionCacheTags, type DiscussionHead } from 'parley-forum/plugins/discussions';
import { repeatInBatches } from 'parley-forum/ports/personal-data';
import type { DiscussionEditor } from '../writing/editor.ts';
import { addPostCounts, removeParticipantPosts } from '../counters/counters.ts';
import type { Redaction } from './redaction.ts';

import type { Projections } from '../projections/projections.ts';
import { headTag } from '../reading/reader.ts';

export interface ErasureDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly editor: DiscussionEditor;
  readonly redaction: Redaction;
  readonly projections: Projections;
  /** The text that replaces every erased title. */
  title(): string;
}
interface Author {
  readonly id: string;
  readonly username: string;
}
/** Readable replies; they have an index. */
const VISIBLE_REPLY = sql`p.number > 1 and p.deleted_at is null`;
/** Posts that have text or revisions. */
const HAS_TEXT = sql`(p.content <> '' or p.html <> ''
  or exists (select 1 from post_revision r where r.post_id = p.id))`;

const headOf = (d: string): RawBuilder<DiscussionHead> =>
  sql.raw(`${d}.id, ${d}.number, ${d}.title, ${d}.slug, ${d}.category_id as "categoryId",
  ${d}.author_id as "authorId", ${d}.is_locked as locked, ${d}.is_pinned as pinned, ${d}.deleted_at is not null as deleted`);

/**
 * Erases everything a member wrote. Visible posts are deleted first, with the usual events; then the rows that remain
 * as stubs are emptied. A discussion in which others have replied remains, without its title and its first post.
 */
export class Erasure {
  readonly #deps: ErasureDeps;

  constructor(deps: ErasureDeps) {
    this.#deps = deps;
  }

  async erase(accountId: string, signal: AbortSignal): Promise<void> {
    const { access, accounts } = this.#deps;
    const author: Author = { id: accountId, username: (await accounts.find(accountId))?.username ?? 'deleted' };
    const viewer: Viewer = { ...author, group: access.groupOf('guest') };
    await repeatInBatches(signal, (limit) => this.#discussions(viewer, limit, signal));
    await repeatInBatches(signal, (limit) => this.#posts(author, limit, VISIBLE_REPLY));
    await repeatInBatches(signal, (limit) => this.#posts(author, limit, HAS_TEXT));
  }

  async #discussions(viewer: Viewer, limit: number, signal: AbortSignal): Promise<number> {
    const { data, editor, title } = this.#deps;
    const own = await data.all(sql<DiscussionHead>`
      select ${headOf('d')}
      from discussion d join post f on f.id = d.first_post_id
      where d.author_id = ${viewer.id} and (d.title <> ${title()} or (d.deleted_at is null and f.deleted_at is null))
      order by d.id limit ${limit}`);
    for (const head of own) {
      if (signal.aborted) break;
      if (head.deleted) await this.#rename(head);
      else await editor.change(head, { title: title() }, { viewer, regardless: true });
      await data.transaction(async () => {
        if (await this.#isShared(head)) await this.#stub(head);
        else await editor.remove(head, { viewer, regardless: true });
      });
    }
    return own.length;
  }

  /** Whether the discussion has visible replies by others. Locks it, so that nobody can reply until it is erased. */
  async #isShared({ id, authorId }: DiscussionHead): Promise<boolean> {
    const { data } = this.#deps;
    await data.one(sql`select id from discussion where id = ${id} for no key update`);
    const reply = await data.one(sql`select id from post
      where discussion_id = ${id} and author_id <> ${authorId} and deleted_at is null limit 1`);
    return reply !== undefined;
  }

  /** Replies, and posts that were deleted earlier. */
  async #posts(author: Author, limit: number, condition: RawBuilder<unknown>): Promise<number> {
    const { data, redaction } = this.#deps;
    const rows = await data.all(
      sql<{
        id: string;
      }>`select p.id from post p where p.author_id = ${author.id} and ${condition} order by p.id limit ${limit}`,
    );
    if (rows.length > 0)
      await redaction.redact(
        rows.map(({ id }) => id),
        author,
      );
    return rows.length;
  }

  /** Renames a discussion that was deleted earlier: emits no event. */
  async #rename({ id, number }: DiscussionHead): Promise<void> {
    const { data, cache, projections, title } = this.#deps;
    const text = title();
    await data.transaction(async (em) => {
      const row = await data.one(sql<{
        categoryId: string;
        deletedAt: Date | null;
      }>`update discussion set title = ${text}, slug = ${slugOf(text, 'discussion')}
        where id = ${id} returning category_id as "categoryId", deleted_at as "deletedAt"`);
      if (row) await projections.discussion(em, { id, title: text, ...row });
    });
    await cache.purge(headTag(id), headTag(number), discussionCacheTags.discussion(id));
  }

  /**
   * Deletes the first post alone, so that its author no longer counts as having started the discussion or written in
   * it.
   */
  async #stub({ id, number, authorId }: DiscussionHead): Promise<void> {
    const { data, cache, clock, projections } = this.#deps;
    const now = new Date(clock.now());
    await data.transaction(async (em) => {
      const stored = await data.one(sql<{ id: string; title: string; categoryId: string; deletedAt: Date | null }>`
        select id, title, category_id as "categoryId", deleted_at as "deletedAt" from discussion
        where id = ${id} for no key update`);
      const post = await data.one(sql<{ id: string; content: string; html: string; createdAt: Date }>`
        update post set deleted_at = ${now}, deleted_by = ${authorId}, updated_at = ${now}
        where discussion_id = ${id} and number = 1 and deleted_at is null
        returning id, content, html, created_at as "createdAt"`);
      if (!stored || !post) return;
      await removeParticipantPosts(data, id, authorId, { posts: 1, replies: 0 });
      if (!stored.deletedAt)
        await addPostCounts(data, authorId, [{ categoryId: stored.categoryId, discussions: -1, posts: -1 }]);
      await projections.posts(em, stored, [{ ...post, number: 1, authorId, deletedAt: now }]);
    });
    await cache.purge(discussionCacheTags.lists, discussionCacheTags.discussion(id), headTag(id), headTag(number));
  }
}
