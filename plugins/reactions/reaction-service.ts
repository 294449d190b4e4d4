import {
  HttpError,
  InvalidInput,
  notFound,
  sql,
  type Cache,
  type Clock,
  type Data,
  type PluginHandle,
} from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { discussionCacheTags, type Discussions, type PostHead } from 'parley-forum/plugins/discussions';
import { reactionAdded, reactionRemoved } from 'parley-forum/ports/reactions';
import { react, type ReactionCounts, type Reactions, type ReactionType } from 'parley-forum/plugins/reactions';
import type { ReactionTypes } from './reaction-types.ts';

export interface ReactionDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly access: Access;
  readonly discussions: Discussions;
  readonly types: ReactionTypes;
  /** Called after the reactions to a post changed. */
  changed(post: PostHead): void;
}
interface CountRow {
  readonly postId: string;
  readonly type: string;
  readonly count: number;
  readonly reacted: boolean;
}
/** A reaction that a member gave. */
export interface GivenReaction {
  readonly id: number;
  readonly postId: string;
  readonly type: string;
  readonly createdAt: Date;
}
/** A member who gave a post a reaction. */
export interface Reactor {
  readonly id: number;
  readonly userId: string;
  readonly createdAt: Date;
}
interface ReactionPage {
  readonly limit: number;
  readonly offset: number;
  /** The id of the last reaction on the previous page. */
  readonly before: number | undefined;
}

/** Adds, removes and counts reactions. */
export class ReactionService implements Reactions {
  readonly #deps: ReactionDeps;

  constructor(deps: ReactionDeps) {
    this.#deps = deps;
  }

  types(): readonly ReactionType[] {
    return this.#deps.types.all();
  }

  async toggle(viewer: Viewer, postId: string, reaction: string): Promise<'added' | 'removed'> {
    const { access, cache, discussions, types } = this.#deps;
    if (viewer.id === undefined || !access.allows(viewer, react))
      throw new HttpError(403, `You may not ${react.label}`);
    await types.refresh();
    const post = await discussions.findPost(postId, viewer);
    if (!post || post.deleted) throw notFound('There is no such post');
    const type = types.find(reaction);
    if (!type?.enabled) throw unknownType(types.all().filter(({ enabled }) => enabled));
    const added = await this.#write(viewer.id, viewer.username ?? '', post, type);
    await cache.purge(discussionCacheTags.discussion(post.discussion.id));
    this.#deps.changed(post);
    return added ? 'added' : 'removed';
  }

  /** The type with this slug or emoji; throws 400 if there is none. */
  async type(reaction: string): Promise<ReactionType> {
    const { types } = this.#deps;
    await types.refresh();
    const type = types.find(reaction);
    if (!type) throw unknownType(types.all());
    return type;
  }

  /** The counts for each post, in the order of the types. One statement. */
  async counts(postIds: readonly string[], viewer: Viewer): Promise<readonly ReactionCounts[]> {
    const { data, types } = this.#deps;
    await types.refresh();
    const rows = await data.all(sql<CountRow>`select c.post_id as "postId", c.type, c.count, r.id is not null as reacted
      from reaction_count c left join reaction r on r.post_id = c.post_id and r.type = c.type
        and r.user_id = ${viewer.id ?? null}::uuid
      where c.post_id = any(${postIds}::uuid[]) and c.count > 0 order by c.post_id, c.type`);
    const found = Map.groupBy(rows, ({ postId }) => postId);
    const order = new Map(types.all().map(({ slug }, index) => [slug, index]));
    const place = ({ type }: CountRow): number => order.get(type) ?? order.size;
    const sorted = (id: string): readonly CountRow[] => (found.get(id) ?? []).toSorted((a, b) => place(a) - place(b));
    return postIds.map((id) => sorted(id).map(({ type, count, reacted }) => ({ reaction: type, count, reacted })));
  }

  /** The types that the viewer gave to these posts, by post. */
  async ownOn(postIds: readonly string[], viewer: Viewer): Promise<ReadonlyMap<string, readonly string[]>> {
    if (viewer.id === undefined || postIds.length === 0) return new Map();
    const rows = await this.#deps.data.all(sql<{ postId: string; type: string }>`select post_id as "postId", type
      from reaction where user_id = ${viewer.id} and post_id = any(${postIds}::uuid[]) order by post_id, type`);
    const byPost = Map.groupBy(rows, ({ postId }) => postId);
    return new Map([...byPost].map(([postId, given]) => [postId, given.map(({ type }) => type)]));
  }

  /** The ids of the most recent reactors, at most `limit` per type. */
  async recentReactors(postId: string, limit: number): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.#deps.data.all(sql<{ type: string; userId: string }>`
      select c.type, r.user_id as "userId" from reaction_count c cross join lateral (
        select id, user_id from reaction where post_id = c.post_id and type = c.type order by id desc limit ${limit}
      ) r where c.post_id = ${postId} and c.count > 0 order by r.id desc`);
    return new Map(
      [...Map.groupBy(rows, ({ type }) => type)].map(([type, found]) => [type, found.map(({ userId }) => userId)]),
    );
  }

  /** Who gave a post this reaction, newest first; up to one more than `limit`. */
  reactors(postId: string, type: string, { limit, offset, before }: ReactionPage): Promise<readonly Reactor[]> {
    return this.#deps.data.all(sql<Reactor>`select id, user_id as "userId", created_at as "createdAt" from reaction
      where post_id = ${postId} and type = ${type}${before === undefined ? sql`` : sql` and id < ${before}`}
      order by id desc limit ${limit + 1} offset ${offset}`);
  }

  /** A member's reactions to posts that the viewer may see, newest first; up to one more than `limit`. */
  async reactionsBy(
    userId: string,
    { limit, offset, before }: ReactionPage,
    viewer: Viewer,
  ): Promise<readonly GivenReaction[]> {
    const { data, discussions } = this.#deps;
    return data.all(sql<GivenReaction>`select id, post_id as "postId", type, created_at as "createdAt" from reaction
      where user_id = ${userId} and post_id in (${await discussions.visiblePosts(viewer)})${before === undefined ? sql`` : sql` and id < ${before}`}
      order by id desc limit ${limit + 1} offset ${offset}`);
  }

  /** Concurrent equal toggles are serialized, because each locks the counter's row first. */
  #write(userId: string, username: string, post: PostHead, { slug, emoji }: ReactionType): Promise<boolean> {
    const { data, clock, plugin } = this.#deps;
    return data.transaction(async () => {
      await data.all(sql`insert into reaction_count (post_id, type, count) values (${post.id}, ${slug}, 0)
        on conflict (post_id, type) do update set count = reaction_count.count`);
      const row = await data.one(sql<{ added: boolean }>`
        with taken as (
          delete from reaction where post_id = ${post.id} and type = ${slug} and user_id = ${userId} returning 1
        ), given as (
          insert into reaction (post_id, type, user_id, created_at)
          select ${post.id}::uuid, ${slug}, ${userId}::uuid, ${new Date(clock.now())}::timestamptz
          where not exists (select from taken) returning 1
        )
        update reaction_count set count = count + (case when exists (select from given) then 1 else -1 end)
        where post_id = ${post.id} and type = ${slug} returning exists (select from given) as added`);
      const added = row?.added ?? false;
      await plugin.emit(added ? reactionAdded : reactionRemoved, {
        reaction: slug,
        emoji,
        post_id: post.id,
        discussion_id: post.discussion.id,
        author_id: post.authorId,
        actor: { id: userId, username },
      });
      return added;
    });
  }
}

const unknownType = (known: readonly ReactionType[]): InvalidInput =>
  new InvalidInput([{ field: 'reaction', message: `must be one of ${known.map(({ slug }) => slug).join(', ')}` }]);
