import { InvalidInput, notFound, Type, type PluginHandle, type Settings } from 'parley-forum';
import { accessTag, type Viewer } from 'parley-forum/plugins/access';
import { Author, type Accounts } from 'parley-forum/plugins/accounts';
import {
  decodePosition,
  pageOfRows,
  api,
  Id,
  limitOf,
  listOf,
  pageFields,
  pageOf,
  Paging,
  Time,
} from 'parley-forum/plugins/api';
import { discussionCacheTags, type Discussions, type PostHead } from 'parley-forum/plugins/discussions';
import { react, ReactionCounts, reactionsTag } from 'parley-forum/plugins/reactions';
import type { ReactionService } from './reaction-service.ts';

export interface RouteDeps {
  readonly plugin: PluginHandle;
  readonly settings: Settings;
  readonly accounts: Pick<Accounts, 'find' | 'authors'>;
  readonly discussions: Discussions;
  readonly reactions: ReactionService;
}
/** The maximum number of members listed per reaction type. */
const NAMES = 10;

const PostReaction = Type.Object({
  reaction: Type.String(),
  emoji: Type.String(),
  label: Type.String(),
  count: Type.Integer(),
  reacted: Type.Boolean(),
  users: Type.Array(Author, { description: `Who reacted most recently, at most ${NAMES}` }),
});
const Reacted = Type.Object({ user: Author, created_at: Time });
const UserReaction = Type.Object({ post_id: Type.String(), reaction: Type.String(), created_at: Time });

/** Cache tags of whatever shows the reactions to a post. */
export const cacheTagsOf = ({ discussion }: PostHead): readonly string[] => [
  discussionCacheTags.discussion(discussion.id),
  discussionCacheTags.all,
  discussionCacheTags.categories,
  reactionsTag,
  accessTag,
];
/** The id of the last reaction on the previous page. */
const idIn = (cursor: string | undefined): number | undefined =>
  cursor === undefined ? undefined : decodePosition(cursor);

/** /api/reactions and below, and /api/users/reactions. */
export function reactionRoutes({ plugin, settings, accounts, discussions, reactions }: RouteDeps): void {
  const find = ({
    actor,
    params,
  }: {
    readonly actor: Viewer;
    readonly params: { readonly post_id: string };
  }): Promise<PostHead | undefined> => discussions.findPost(params.post_id, actor);

  plugin.route(api, {
    method: 'post',
    path: '/reactions/toggle',
    can: react,
    summary: 'Add a reaction to a post, or remove it',
    body: Type.Object({
      post_id: Id,
      reaction: Type.String({ minLength: 1, maxLength: 40, description: 'Slug or emoji' }),
    }),
    result: Type.Object({ action: Type.Enum(['added', 'removed']), reactions: ReactionCounts }),
  })(async ({ actor, body }) => {
    const action = await reactions.toggle(actor, body.post_id, body.reaction);
    const [counts] = await reactions.counts([body.post_id], actor);
    return { action, reactions: [...counts!] };
  });

  plugin.route(api, {
    method: 'get',
    path: '/reactions/post/:post_id',
    can: 'public',
    summary: 'Reactions to a post, and who reacted most recently',
    params: Type.Object({ post_id: Id }),
    query: Type.Object(Paging),
    result: listOf('reactions', PostReaction),
    load: find,
    cacheTags: ({ target }) => cacheTagsOf(target),
  })(async ({ actor, target, query }) => {
    const [counts = []] = await reactions.counts([target.id], actor);
    const page = pageOf(counts, { ...query, limit: limitOf(settings, query.limit) });
    const recentReactors = await reactions.recentReactors(target.id, NAMES);
    const people = await accounts.authors([...new Set([...recentReactors.values()].flat())]);
    const types = new Map(reactions.types().map((type) => [type.slug, type]));
    const items = page.items.map(({ reaction, count, reacted }) => {
      const { emoji = '', label = reaction } = types.get(reaction) ?? {};
      return {
        reaction,
        emoji,
        label,
        count,
        reacted,
        users: (recentReactors.get(reaction) ?? []).flatMap((id) => people.get(id) ?? []),
      };
    });
    return { reactions: items, ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/reactions/post/:post_id/members',
    can: 'public',
    summary: 'Who gave a post one kind of reaction, newest first',
    params: Type.Object({ post_id: Id }),
    query: Type.Object({
      ...Paging,
      reaction: Type.String({ minLength: 1, maxLength: 40, description: 'Slug or emoji' }),
    }),
    result: listOf('members', Reacted),
    load: find,
    cacheTags: ({ target }) => cacheTagsOf(target),
  })(async ({ target, query: { reaction, limit: wanted, offset = 0, cursor } }) => {
    const limit = limitOf(settings, wanted);
    const type = await reactions.type(reaction);
    const rows = await reactions.reactors(target.id, type.slug, { limit, offset, before: idIn(cursor) });
    const page = pageOfRows(rows, limit, ({ id }) => [id]);
    const people = await accounts.authors(page.items.map(({ userId }) => userId));
    const items = page.items.flatMap(({ userId, createdAt }) => {
      const user = people.get(userId);
      return user ? [{ user, created_at: createdAt.toISOString() }] : [];
    });
    return { members: items, ...pageFields({ ...page, items }) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/users/reactions',
    can: 'public',
    summary: 'Posts that a member reacted to and the caller may see, newest first',
    query: Type.Object({
      ...Paging,
      user_id: Type.Optional(Type.String({ maxLength: 64, description: 'Default: the caller' })),
    }),
    result: listOf('reactions', UserReaction),
  })(async ({ actor, query: { user_id: userId = actor.id, limit: wanted, offset = 0, cursor } }) => {
    if (userId === undefined) throw new InvalidInput([{ field: 'user_id', message: 'is required for guests' }]);
    if (userId !== actor.id && !(await accounts.find(userId))) throw notFound('There is no such user');
    const limit = limitOf(settings, wanted);
    const rows = await reactions.reactionsBy(userId, { limit, offset, before: idIn(cursor) }, actor);
    const page = pageOfRows(rows, limit, ({ id }) => [id]);
    const items = page.items.map(({ postId, type, createdAt }) => ({
      post_id: postId,
      reaction: type,
      created_at: createdAt.toISOString(),
    }));
    return { reactions: items, ...pageFields(page) };
  });
}
