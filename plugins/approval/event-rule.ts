import type { Static } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { reviewPosts } from 'parley-forum/plugins/approval';
import { listCacheTags, type HeldPostEvent, postHeld } from 'parley-forum/plugins/discussions';
import type { EventRule } from 'parley-forum/ports/events';
import { queueTag, type HeldPosts } from './held-posts.ts';

type Published = { readonly held_post: Static<typeof HeldPostEvent> };

/** While posts are held, events about them are visible to those who review posts and can see where they go. */
export const heldPostRule = (posts: HeldPosts, access: Access): EventRule => ({
  hook: postHeld,
  // Nobody gets events about their own posts.
  personal: true,
  tags: [queueTag, ...listCacheTags],
  async visible(data, viewer) {
    if (!access.allows(viewer, reviewPosts)) return data.map(() => false);
    const ids = (data as readonly Published[]).map(({ held_post: post }) => post.id);
    const seen = await posts.visible(ids, viewer);
    return ids.map((id) => seen.has(id));
  },
});
