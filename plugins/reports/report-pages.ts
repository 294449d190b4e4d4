import { notFound, Type, type Cache } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { postMenu, type Discussions, type PostHead } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { REASONS, report } from 'parley-forum/plugins/reports';
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
import type { Claims } from './claims.ts';
import { Note, type RoutesDeps } from './routes.ts';

export interface PagesDeps extends RoutesDeps {
  readonly access: Access;
  readonly cache: Cache;
  readonly claims: Claims;
  readonly discussions: Discussions;
  readonly markdown: Markdown;
  readonly web: Web | undefined;
}

const pathOf = ({ number, discussion }: PostHead): string => `/d/${discussion.number}/${number}`;
const postOf =
  (discussions: Discussions) =>
  ({ actor, params }: { readonly actor: Viewer; readonly params: Readonly<Record<string, string>> }) =>
    discussions.findPost(params['id'] ?? '', actor);

/** /p/{id}/report, and the link to it in the menu of a post. */
export function reportPages({ plugin, access, discussions, writer, web }: PagesDeps): void {
  const find = postOf(discussions);
  const formView = (post: PostHead, retry?: Retry): View => {
    const model = {
      number: post.number,
      discussion: post.discussion,
      action: `/p/${post.id}/report`,
      back: pathOf(post),
      values: retry?.body ?? {},
      ...formErrors(retry),
    };
    return view(
      '@reports/report',
      { name: 'report', title: phrase('reports:report.title', { number: post.number }), noindex: true },
      model,
    );
  };
  const rerender = async (retry: Retry): Promise<View> => {
    const post = await find(retry);
    if (!post) throw notFound();
    return formView(post, retry);
  };

  plugin.route(pages, { method: 'get', path: '/p/:id/report', can: report, load: find })(({ target }) =>
    formView(target),
  );
  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/report',
    can: report,
    options: { rerender },
    load: find,
    body: Type.Object({ reason: Type.Enum([...REASONS]), note: Type.Optional(Note) }),
  })(async ({ actor, target, body: { reason, note } }) => {
    await writer.report(actor, { postId: target.id, reason, note });
    return redirect(pathOf(target), { notice: phrase('reports:thanks') });
  });

  if (!web) return;
  plugin.extend(
    slotFillings,
    fill(postMenu, (posts, viewer) =>
      Promise.all(
        posts.map(async ({ id, author }) =>
          access.allows(viewer, report) && author.id !== viewer.id
            ? web.fragment(viewer, '@reports/menu-item', { href: `/p/${id}/report` })
            : undefined,
        ),
      ),
    ),
  );
}
