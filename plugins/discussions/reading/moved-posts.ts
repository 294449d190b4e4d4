import type { PostRecord, PostStub } from 'parley-forum/plugins/discussions';
import type { NewPlace } from './reader.ts';

type Post = PostRecord | PostStub;

/** Id of the post that moved, null if the viewer cannot see it; undefined for a post that has not moved. */
const movedId = (post: Post): string | null | undefined => ('author' in post ? undefined : post.moved_post_id);

/** Ids of posts that used to be here and that the viewer can see elsewhere. */
export const movedIds = (posts: readonly Post[]): readonly string[] => posts.flatMap((post) => movedId(post) ?? []);

/**
 * Descriptions of moved posts, by number. For consecutive posts that are now in the same discussion, the first one
 * describes all of them (`count`), and the others are marked `along`.
 */
export function movedPosts(posts: readonly Post[], places: ReadonlyMap<string, NewPlace>): ReadonlyMap<number, object> {
  const said = new Map<number, object>();
  let run: { readonly to: string | undefined; readonly title: string | undefined; count: number } | undefined;
  for (const post of posts) {
    const id = movedId(post);
    const place = places.get(id ?? '');
    if (id === undefined) run = undefined;
    else if (run && run.to === place?.id) {
      run.count++;
      said.set(post.number, { along: true });
    } else {
      run = { to: place?.id, title: place?.title, count: 1 };
      said.set(post.number, run);
    }
  }
  return said;
}
