import { createId, sql, type Clock, type Data, type EntityManager } from 'parley-forum';
import type { PostProjection, ProjectedPost } from 'parley-forum/plugins/discussions';
import { loneLinks } from './lone-links.ts';
import type { DuePreview } from './preview-store.ts';

interface LinkUsesDeps {
  readonly data: Data;
  readonly clock: Clock;
  /** Adds the job that fetches a page. */
  fetch(preview: DuePreview): Promise<void>;
}

/**
 * Records which links a post shows as cards, in the transaction that writes it. Runs one statement, whatever the number
 * of posts.
 */
export class LinkUses implements PostProjection {
  readonly #deps: LinkUsesDeps;

  constructor(deps: LinkUsesDeps) {
    this.#deps = deps;
  }

  async posts(_em: EntityManager, posts: readonly ProjectedPost[]): Promise<void> {
    const { clock, data, fetch } = this.#deps;
    const now = new Date(clock.now());
    // Links of a deleted discussion are kept, since it may be restored.
    const uses = posts
      .filter(({ removed }) => !removed)
      .flatMap(({ id, discussionId, html, visible }) =>
        loneLinks(html).map((url) => ({ id, discussionId, url, visible })),
      );
    // Sorted, so that two posts with the same new links cannot deadlock.
    const urls = [...new Set(uses.map(({ url }) => url))].toSorted();
    const found = await data.all(sql<DuePreview & { fresh: boolean }>`
      with named as (
        select * from unnest(${uses.map(({ id }) => id)}::uuid[], ${uses.map(({ discussionId }) => discussionId)}::uuid[],
          ${uses.map(({ url }) => url)}::text[], ${uses.map(({ visible }) => visible)}::boolean[])
            as n (post_id, discussion_id, url, visible)
      ), preview as (
        insert into link_preview as l (id, url, created_at, due_at)
        select n.id, n.url, ${now}, ${now}
        from unnest(${urls.map(() => createId(clock.now()))}::uuid[], ${urls}::text[]) as n (id, url)
        on conflict (url) do update set url = excluded.url returning l.id, l.url, l.created_at = l.due_at as fresh
      ), used as (
        select n.post_id, n.discussion_id, n.visible, p.id as preview_id from named n join preview p using (url)
      ), dropped as (
        delete from link_preview_use u where u.post_id = any(${posts.map(({ id }) => id)}::uuid[])
          and not exists (select 1 from used where used.post_id = u.post_id and used.preview_id = u.preview_id)
      ), added as (
        insert into link_preview_use as u (post_id, preview_id, discussion_id, visible)
        select post_id, preview_id, discussion_id, visible from used
        on conflict (post_id, preview_id) do update
          set discussion_id = excluded.discussion_id, visible = excluded.visible
          where (u.discussion_id, u.visible) is distinct from (excluded.discussion_id, excluded.visible)
      )
      select id, url, fresh from preview`);
    for (const { id, url, fresh } of found) if (fresh) await fetch({ id, url });
  }

  async discussion(_em: EntityManager, { id, visible }: Parameters<PostProjection['discussion']>[1]): Promise<void> {
    await this.#deps.data.all(
      sql`update link_preview_use set visible = ${visible} where discussion_id = ${id} and visible <> ${visible}`,
    );
  }

  async category(): Promise<void> {}
}
