import { notFound, Type } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { postFooter, type PostHead, type PostRecord } from 'parley-forum/plugins/discussions';
import { react, type ReactionCounts } from 'parley-forum/plugins/reactions';
import { fill, pages, redirect, slotFillings, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import { imageOf } from './emoji-images.ts';
import type { RouteDeps } from './routes.ts';

/** The buttons below each post, and the form they send. */
export function reactionPages(
  { plugin, discussions, reactions }: RouteDeps,
  { access, web }: { access: Access; web: Web },
): void {
  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/react',
    can: react,
    body: Type.Object({ reaction: Type.String({ minLength: 1, maxLength: 40 }) }),
    load: ({
      actor,
      params,
    }: {
      actor: Viewer;
      params: Readonly<Record<string, string>>;
    }): Promise<PostHead | undefined> => discussions.findPost(params['id'] ?? '', actor),
  })(async ({ actor, target, body }) => {
    if (target.deleted) throw notFound();
    await reactions.toggle(actor, target.id, body.reaction);
    return redirect(`/d/${target.discussion.number}/${target.number}`);
  });

  const imageUrl = (emoji: string): string | undefined => {
    const image = imageOf(emoji);
    return image && web.asset('reactions', image);
  };
  const bar = async (
    post: PostRecord & { readonly reactions?: ReactionCounts },
    viewer: Viewer,
  ): Promise<SafeHtml | undefined> => {
    const { id, number, is_deleted: gone, reactions: counts = [] } = post;
    const may = !gone && access.allows(viewer, react);
    if (!may && counts.length === 0) return undefined;
    const shown = reactions.types().map((type) => ({ ...type, picture: imageUrl(type.emoji) }));
    const types = new Map(shown.map((type) => [type.slug, type]));
    const given = counts.flatMap((count) => {
      const type = types.get(count.reaction);
      return type ? [{ ...count, ...type, may: may && type.enabled }] : [];
    });
    return web.fragment(viewer, '@reactions/bar', {
      id,
      number,
      given,
      choices: may ? shown.filter(({ enabled }) => enabled) : [],
    });
  };
  plugin.extend(
    slotFillings,
    fill(postFooter, (posts, viewer) => Promise.all(posts.map((post) => bar(post, viewer)))),
  );
}
