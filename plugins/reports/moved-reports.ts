import { sql, type Data } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Discussions, PostProjection } from 'parley-forum/plugins/discussions';

/**
 * Moves reports along with their posts to another discussion, in the same transaction, so that only those who can see
 * the posts see the reports.
 */
export const movedReports = (data: Data): PostProjection => ({
  async posts(_em, posts) {
    const moved = posts.filter(({ left }) => left !== undefined);
    if (moved.length === 0) return;
    await data.all(sql`
      with r as (
        select r.id, p.discussion_id from report r
          join unnest(${moved.map(({ id }) => id)}::uuid[], ${moved.map(({ discussionId }) => discussionId)}::uuid[]) as p (id, discussion_id) on p.id = r.post_id
        order by r.id for update of r
      ) update report set discussion_id = r.discussion_id from r where report.id = r.id`);
  },
  /** Reports belong to posts, so there is nothing to do. */
  async discussion() {},
  async category() {},
});

/** Catches up with posts that moved while the plugin was off. */
export async function followPosts(
  data: Data,
  { access, discussions }: { readonly access: Access; readonly discussions: Discussions },
): Promise<void> {
  await data.all(sql`update report r set discussion_id = p.discussion_id
    from (${await discussions.readablePosts(access.unrestricted)}) p where p.id = r.post_id
      and p.discussion_id <> r.discussion_id`);
}
