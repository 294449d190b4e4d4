import type { PostRecord, PostStub } from 'parley-forum/plugins/discussions';
import type { NewPlace } from './reader.ts';

type Post = PostRecord | PostStub;

/** The post that has moved, which may be one that cannot be seen (null); undefined of one that is where it was. */
const movedId = (post: Post): string | null | undefined => ('author' in post ? undefined : post.moved_post_id);

/** Ids of posts that stood here and can be seen elsewhere. */
export const movedIds = (posts: readonly Post[]): readonly string[] => posts.flatMap((post) => movedId(post) ?? []);

/**
 * What is said of posts that were moved, by number: of those that stood one behind the other and are in one discussion
 * by now, the first says it of all of them (`count`), and the others nothing (`along`).
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
