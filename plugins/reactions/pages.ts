import { notFound, Type } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { beforePosts, postFooter, type PostHead, type PostRecord } from 'parley-forum/plugins/discussions';
import { react, type ReactionCounts } from 'parley-forum/plugins/reactions';
import {
  fill,
  pagerOf,
  pages,
  phrase,
  redirect,
  shortcuts,
  slotFillings,
  view,
  type SafeHtml,
  type Web,
} from 'parley-forum/plugins/web';
import { cacheTagsOf, type RouteDeps } from './routes.ts';
import { shownType } from './shown-types.ts';

/** The maximum number of names per reaction type on a page of a post's reactions. */
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

  /** Who gave a post each kind of reaction: the newest of all kinds, or a page of one. */
  const peopleOf = async ({ id }: PostHead, kind: string | undefined, page: number) => {
    if (kind === undefined) return reactions.recentReactors(id, NAMES);
    const part = { limit: NAMES, offset: (page - 1) * NAMES, before: undefined };
    const rows = await reactions.reactors(id, kind, part);
    return new Map([[kind, rows.slice(0, NAMES).map(({ userId }) => userId)]]);
  };

  plugin.route(pages, {
    method: 'get',
    path: '/p/:id/reactions',
    can: 'public',
    query: Type.Object({
      kind: Type.Optional(Type.String({ maxLength: 40, description: 'Slug of the only kind to show' })),
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'Of this kind' })),
    }),
    load,
    cacheTags: ({ target }) => cacheTagsOf(target),
  })(async ({ actor, target, query: { kind, page = 1 } }) => {
    if (target.deleted || (kind === undefined && page > 1)) throw notFound();
    const { id, number, discussion } = target;
    const [[counts = []], reactors] = await Promise.all([reactions.counts([id], actor), peopleOf(target, kind, page)]);
    const people = await accounts.authors([...new Set([...reactors.values()].flat())]);
    const types = new Map(shownTypes().map((type) => [type.slug, type]));
    const path = `/p/${id}/reactions`;
    const pathOf = (slug: string, to: number): string =>
      `${path}?${new URLSearchParams({ kind: slug, ...(to > 1 && { page: String(to) }) })}`;
    const kinds = counts.flatMap(({ reaction, count }) => {
      const type = types.get(reaction);
      if (!type || (kind !== undefined && kind !== reaction)) return [];
      const users = (reactors.get(reaction) ?? []).flatMap((user) => people.get(user) ?? []);
      const more = kind === undefined ? count - users.length : 0;
      return [{ ...type, count, users, more, rest: pathOf(reaction, count > NAMES ? 2 : 1) }];
    });
    const last = Math.ceil((kinds[0]?.count ?? 0) / NAMES);
    if (kind !== undefined && page > last) throw notFound();
    const back = `/d/${discussion.number}/${number}`;
    const model = {
      number,
      kinds,
      discussion,
      back,
      all: kind !== undefined && path,
      pager: kind !== undefined && pagerOf(page, last, (to) => pathOf(kind, to)),
      target: `/p/${id}/react`,
      choices: kind === undefined && access.allows(actor, react) ? choices() : [],
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
