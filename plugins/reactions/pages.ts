import { notFound, Type } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { accessTag } from 'parley-forum/plugins/access';
import {
  beforePosts,
  discussionCacheTags,
  postFooter,
  type PostHead,
  type PostRecord,
} from 'parley-forum/plugins/discussions';
import { react, reactionsTag, type ReactionCounts } from 'parley-forum/plugins/reactions';
import {
  fill,
  pages,
  phrase,
  redirect,
  shortcuts,
  slotFillings,
  view,
  type SafeHtml,
  type Web,
} from 'parley-forum/plugins/web';
import type { RouteDeps } from './routes.ts';
import { shownType } from './shown-types.ts';

/** The maximum number of names shown per reaction type on the page of a post's reactions. */
const NAMES = 100;

/** The buttons below each post, the form they submit, and the page of who reacted. */
export function reactionPages(
  { plugin, discussions, reactions, accounts }: RouteDeps,
  { access, web }: { access: Access; web: Web },
): void {
  const load = ({
    actor,
    params,
  }: {
    actor: Viewer;
    params: Readonly<Record<string, string>>;
  }): Promise<PostHead | undefined> => discussions.findPost(params['id'] ?? '', actor);

  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/react',
    can: react,
    body: Type.Object({ reaction: Type.String({ minLength: 1, maxLength: 40 }) }),
    load,
  })(async ({ actor, target, body }) => {
    if (target.deleted) throw notFound();
    await reactions.toggle(actor, target.id, body.reaction);
    return redirect(`/d/${target.discussion.number}/${target.number}`);
  });

  const shownTypes = () => reactions.types().map((type) => shownType(web, type));
  const choices = () => shownTypes().filter(({ enabled }) => enabled);

  plugin.route(pages, {
    method: 'get',
    path: '/p/:id/reactions',
    can: 'public',
    load,
    cacheTags: ({ target }) => [
      discussionCacheTags.discussion(target.discussion.id),
      discussionCacheTags.all,
      discussionCacheTags.categories,
      reactionsTag,
      accessTag,
    ],
  })(async ({ actor, target }) => {
    if (target.deleted) throw notFound();
    const { id, number, discussion } = target;
    const [[counts = []], recentReactors] = await Promise.all([
      reactions.counts([id], actor),
      reactions.recentReactors(id, NAMES),
    ]);
    const people = await accounts.authors([...new Set([...recentReactors.values()].flat())]);
    const types = new Map(shownTypes().map((type) => [type.slug, type]));
    const kinds = counts.flatMap(({ reaction, count }) => {
      const type = types.get(reaction);
      const users = (recentReactors.get(reaction) ?? []).flatMap((user) => people.get(user) ?? []);
      return type ? [{ ...type, count, users, more: count - users.length }] : [];
    });
    const model = {
      number,
      kinds,
      discussion,
      back: `/d/${discussion.number}/${number}`,
      target: `/p/${id}/react`,
      choices: access.allows(actor, react) ? choices() : [],
    };
    return view(
      '@reactions/post',
      { name: 'reactions', title: phrase('reactions:page', { number, title: discussion.title }), noindex: true },
      model,
    );
  });

  type Reacted = PostRecord & { readonly reactions?: ReactionCounts };
  const bar = async (post: Reacted, viewer: Viewer, own: readonly string[]): Promise<SafeHtml | undefined> => {
    const { id, number, is_deleted: gone, reactions: counts = [] } = post;
    const may = !gone && access.allows(viewer, react);
    if (!may && counts.length === 0) return undefined;
    const types = new Map(counts.length > 0 ? shownTypes().map((type) => [type.slug, type]) : []);
    const given = counts.flatMap((count) => {
      const type = types.get(count.reaction);
      return type ? [{ ...count, ...type, reacted: own.includes(count.reaction), may: may && type.enabled }] : [];
    });
    return web.fragment(viewer, '@reactions/bar', { id, number, given, may });
  };
  /**
   * Rendered bars without a reaction of the viewer's own, by post: on a page shared by many viewers, the post is the
   * same object.
   */
  const plain = new WeakMap<Reacted, SafeHtml | undefined>();
  const barWithoutOwn = async (post: Reacted, viewer: Viewer): Promise<SafeHtml | undefined> => {
    const rendered = await bar(post, viewer, []);
    plain.set(post, rendered);
    return rendered;
  };
  plugin.extend(shortcuts, {
    id: 'reactions.choose',
    keys: 'x',
    label: 'reactions:keys.choose',
    area: 'posts',
    press: 'div.reactions > a',
    visible: (viewer) => access.allows(viewer, react),
  });
  plugin.extend(
    slotFillings,
    fill(postFooter, async (posts: readonly Reacted[], viewer) => {
      const counted = posts.filter((post) => (post.reactions?.length ?? 0) > 0).map(({ id }) => id);
      const own = await reactions.ownOn(counted, viewer);
      return Promise.all(
        posts.map(async (post) => {
          const given = own.get(post.id);
          if (given) return bar(post, viewer, given);
          return plain.has(post) ? plain.get(post) : barWithoutOwn(post, viewer);
        }),
      );
    }),
  );
  plugin.extend(
    slotFillings,
    fill(
      beforePosts,
      async (_discussions, viewer) => {
        const may = access.allows(viewer, react);
        return [await web.fragment(viewer, '@reactions/picker', { may, choices: may ? choices() : [] })];
      },
      { shared: true },
    ),
  );
}
