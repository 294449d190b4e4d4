import { Type, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { api, IdParams } from 'parley-forum/plugins/api';
import type { Discussions, PostHead } from 'parley-forum/plugins/discussions';
import { openModeration, PostNote } from 'parley-forum/plugins/moderation';
import type { PostNotes } from './post-notes.ts';

export interface PostNoteDeps {
  readonly plugin: PluginHandle;
  readonly discussions: Pick<Discussions, 'findPost'>;
  readonly postNotes: PostNotes;
}
/** The text of a note on a post. */
export const NoteText = Type.String({ pattern: '\\S', maxLength: 2_000, 'x-pattern-problem': 'is required' });

/** Returns a `load` function that finds the post with the id in the path. */
export const postOf =
  ({ discussions }: Pick<PostNoteDeps, 'discussions'>) =>
  ({
    actor,
    params,
  }: {
    readonly actor: Viewer;
    readonly params: Readonly<Record<string, string>>;
  }): Promise<PostHead | undefined> =>
    discussions.findPost(params['id'] ?? '', actor);

/** /api/posts/{id}/notes. */
export function postNoteRoutes(deps: PostNoteDeps): void {
  const { plugin, postNotes } = deps;
  const load = postOf(deps);
  const path = '/posts/:id/notes';

  plugin.route(api, {
    method: 'get',
    path,
    can: openModeration,
    summary: 'Notes on a post that moderators wrote for each other, oldest first',
    params: IdParams,
    result: Type.Object({ notes: Type.Array(PostNote) }),
    load,
  })(async ({ actor, target }) => ({ notes: [...((await postNotes.of([target.id], actor)).get(target.id) ?? [])] }));

  plugin.route(api, {
    method: 'post',
    path,
    can: openModeration,
    status: 201,
    summary: 'Add a note to a post for other moderators; nobody else sees it',
    params: IdParams,
    body: Type.Object({ content: NoteText }),
    result: Type.Object({ note: PostNote }),
    load,
  })(async ({ actor, target, body: { content } }) => ({ note: await postNotes.add(target, content, actor) }));

  plugin.route(api, {
    method: 'delete',
    path: `${path}/:note`,
    can: openModeration,
    summary: 'Remove a note from a post: one’s own, or any as an administrator',
    params: Type.Object({ ...IdParams.properties, note: IdParams.properties.id }),
    load,
  })(async ({ actor, target, params }) => {
    await postNotes.remove(target, params.note, actor);
    return {};
  });
}
