import type { Backfill, Data } from 'parley-forum';
import type { PostProjection } from 'parley-forum/plugins/discussions';
import type { Projections } from './projections.ts';

/** Posts processed in one transaction: their discussions cannot be changed meanwhile, so it must be short. */
const BATCH = 500;

/** Passes posts to a projection in the order of their ids. */
export const postBackfill = (
  { data, projections }: { readonly data: Data; readonly projections: Projections },
  projection: Pick<PostProjection, 'posts'>,
): Backfill => ({
  checkpoint: () => projections.checkpoint(),
  run: (since, after) =>
    data.transaction(async (em) => {
      const posts = await projections.projectedPosts(after, BATCH, since);
      if (posts.length > 0) await projection.posts(em, posts);
      return posts.length === BATCH ? posts.at(-1)!.id : undefined;
    }),
});
