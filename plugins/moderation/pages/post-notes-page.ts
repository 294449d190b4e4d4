import { notFound, Type } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { postAfterBody, postMenu, type PostHead } from 'parley-forum/plugins/discussions';
import { openModeration } from 'parley-forum/plugins/moderation';
import {
  fill,
  formErrors,
  pages,
  phrase,
  redirect,
  slotFillings,
  view,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import { NoteText, postOf, type PostNoteDeps } from '../post-note-routes.ts';

const pathOf = ({ id }: Pick<PostHead, 'id'>): string => `/p/${id}/notes`;
const placeOf = ({ number, discussion }: PostHead): string => `/d/${discussion.number}/${number}`;

/** /p/{id}/notes, the link to it in the menu of a post, and the notes below the post. */
export function postNotePages(
  deps: PostNoteDeps & { readonly access: Pick<Access, 'allows'>; readonly web: Web | undefined },
): void {
  const { plugin, access, postNotes, web } = deps;
  const load = postOf(deps);
  const shown = async (post: PostHead, viewer: Viewer, retry?: Retry): Promise<View> => {
    const notes = (await postNotes.of([post.id], viewer)).get(post.id) ?? [];
    const model = {
      number: post.number,
      discussion: post.discussion,
      back: placeOf(post),
      form: pathOf(post),
      remove: `${pathOf(post)}/remove`,
      notes,
      values: retry?.body ?? {},
      ...formErrors(retry),
    };
    const title = phrase('moderation:post-notes.title', { number: post.number });
    return view('@moderation/post-notes', { name: 'moderation', title, noindex: true }, model);
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const post = await load(retry);
    if (!post || !access.allows(retry.actor, openModeration)) throw notFound();
    return shown(post, retry.actor, retry);
  };
  const path = '/p/:id/notes';

  plugin.route(pages, { method: 'get', path, can: openModeration, load })(({ actor, target }) => shown(target, actor));
  plugin.route(pages, {
    method: 'post',
    path,
    can: openModeration,
    options: { rerender },
    load,
    body: Type.Object({ content: NoteText }),
  })(async ({ actor, target, body: { content } }) => {
    await postNotes.add(target, content, actor);
    return redirect(placeOf(target), { notice: phrase('moderation:done.noted') });
  });
  plugin.route(pages, {
    method: 'post',
    path: `${path}/remove`,
    can: openModeration,
    load,
    body: Type.Object({ note: Type.String({ maxLength: 64 }) }),
  })(async ({ actor, target, body: { note } }) => {
    await postNotes.remove(target, note, actor);
    return redirect(pathOf(target), { notice: phrase('moderation:post-notes.removed') });
  });

  if (!web) return;
  plugin.extend(
    slotFillings,
    fill(postMenu, (posts, viewer) =>
      access.allows(viewer, openModeration)
        ? Promise.all(posts.map((post) => web.fragment(viewer, '@moderation/post-notes-item', { href: pathOf(post) })))
        : [],
    ),
    6,
  );
  plugin.extend(
    slotFillings,
    fill(postAfterBody, async (posts, viewer) => {
      if (!access.allows(viewer, openModeration)) return [];
      const notes = await postNotes.of(
        posts.map(({ id }) => id),
        viewer,
      );
      return Promise.all(
        posts.map(async (post) => {
          const own = notes.get(post.id);
          return own
            ? web.fragment(viewer, '@moderation/post-notes-shown', { notes: own, href: pathOf(post) })
            : undefined;
        }),
      );
    }),
  );
}
