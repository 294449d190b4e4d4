import type { Backfill, Cache, Data } from 'parley-forum';
import { discussionCacheTags, type PostProjection } from 'parley-forum/plugins/discussions';
import type { Projections } from './projections.ts';

/**
 * Posts processed in one transaction: their discussions cannot be changed meanwhile, so it must be short. On the
 * embedded database nothing else goes on in the process, either.
 */
const [BATCH, EMBEDDED_BATCH] = [500, 100];

/**
 * Passes posts to a projection in the order of their ids. What was cached meanwhile may show the projection without
 * them, so it goes when all have been passed.
 */
export const postBackfill = (
  { data, cache, projections }: { readonly data: Data; readonly cache: Cache; readonly projections: Projections },
  projection: Pick<PostProjection, 'posts'>,
): Backfill => ({
  checkpoint: () => projections.checkpoint(),
  run: (since, after) =>
    data.transaction(async (em) => {
      const batch = data.embedded ? EMBEDDED_BATCH : BATCH;
      const { posts, next } = await projections.projectedBatch(after, batch, since);
      if (posts.length > 0) await projection.posts(em, posts);
      if (next !== undefined) return next;
      const passed = posts.length > 0 || after !== undefined;
      if (passed) await cache.purge(discussionCacheTags.lists, discussionCacheTags.all);
      return undefined;
    }),
});
