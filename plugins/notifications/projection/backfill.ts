import type { PostProjection } from 'parley-forum/plugins/discussions';
import type { DiscussionProjection } from './projection.ts';

/** Catches up on posts and discussions that were moved, deleted or restored while the plugin was off. */
export const missedPosts = (projection: DiscussionProjection): Pick<PostProjection, 'posts'> => ({
  async posts(em, posts) {
    await projection.posts(em, posts);
    await projection.unmarkDeleted(posts.filter(({ removed }) => !removed).map(({ id }) => `post:${id}`));
    await projection.follow(posts.filter(({ visible }) => visible));
    // A post that was deleted by itself does not tell whether its discussion is visible.
    const latest = new Map(posts.filter(({ removed }) => !removed).map((post) => [post.discussionId, post]));
    for (const { discussionId: id, title, categoryId, visible } of latest.values())
      await projection.discussion(em, { id, title, categoryId, visible });
  },
});
