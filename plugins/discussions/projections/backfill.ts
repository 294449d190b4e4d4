import type { Backfill, Cache, Data } from 'parley-forum';
import { discussionCacheTags, type PostProjection } from 'parley-forum/plugins/discussions';
import type { Projections } from './projections.ts';

/**
 * Number of posts processed in one transaction. Their discussions cannot change meanwhile, so it must be short; with
 * the embedded database, it also blocks everything else in the process.
 */
const [BATCH, EMBEDDED_BATCH] = [500, 100];

/**
 * Passes posts to a projection in order of id. Responses cached meanwhile may be based on the incomplete projection, so
 * caches are purged at the end.
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
