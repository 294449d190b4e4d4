import type { PostProjection } from 'parley-forum/plugins/discussions';
import type { DiscussionProjection } from './projection.ts';

/** While the plugin is off, posts and discussions are moved, deleted and restored without it. */
export const missedPosts = (projection: DiscussionProjection): Pick<PostProjection, 'posts'> => ({
  async posts(em, posts) {
    await projection.posts(em, posts);
    await projection.unmarkDeleted(posts.filter(({ removed }) => !removed).map(({ id }) => `post:${id}`));
    await projection.follow(posts.filter(({ visible }) => visible));
    // A post that was deleted by itself does not say whether its discussion is there.
    const latest = new Map(posts.filter(({ removed }) => !removed).map((post) => [post.discussionId, post]));
    for (const { discussionId: id, title, categoryId, visible } of latest.values())
      await projection.discussion(em, { id, title, categoryId, visible });
  },
});
