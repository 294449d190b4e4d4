import { sql, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { accountTag } from 'parley-forum/plugins/accounts';
import type { DiscussionCondition, DiscussionIds, Narrowing } from 'parley-forum/plugins/discussions';
import type { Level, Subscriptions } from 'parley-forum/ports/subscriptions';
import type { Tags } from 'parley-forum/ports/tags';
import type { Followed, FollowService } from './follow-service.ts';
import type { Muting } from './muting.ts';

export interface SubscriptionDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly follows: FollowService;
  readonly muting: Muting;
  readonly tags: Tags | undefined;
}

/** A discussion with the subjects of which it may have followers. */
type StartedDiscussion = Parameters<Subscriptions['followers']>[0];
type WatchedDiscussion = Parameters<Subscriptions['watchers']>[0];

/** The discussions that members follow: one row per member and discussion. */
export class SubscriptionService implements Subscriptions {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #clock: Clock;

  readonly #follows: FollowService;
  readonly #muting: Muting;
  readonly #tags: Tags | undefined;

  constructor({ data, cache, clock, follows, muting, tags }: SubscriptionDeps) {
    this.#data = data;
    this.#cache = cache;
    this.#clock = clock;
    this.#follows = follows;
    this.#muting = muting;
    this.#tags = tags;
  }

  async watchers(
    { id: discussionId, categoryId }: WatchedDiscussion,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<readonly string[]> {
    const own = sql`(select user_id from subscription where discussion_id = ${discussionId} and level = 'watching'
      ${after === undefined ? sql`` : sql`and user_id > ${after}`} order by user_id limit ${limit})`;
    const notLess = sql`not exists (select from subscription s where s.discussion_id = ${discussionId}
      and s.user_id = f.user_id and s.level in ('normal', 'muted'))`;
    const subjects = await this.#watchable(discussionId, categoryId);
    const parts = [own, ...this.#follows.watching(subjects, notLess, { limit, ...(after !== undefined && { after }) })];
    const rows = await this.#data.all(sql<{
      id: string;
    }>`select user_id as id from (${sql.join(parts, sql` union `)}) found
      order by user_id limit ${limit}`);
    return rows.map(({ id }) => id);
  }

  /** Whether the member watches the category or a tag of a discussion. */
  async watchesSubject(userId: string, { id, categoryId }: WatchedDiscussion): Promise<boolean> {
    const watched = (await this.#follows.of(userId)).filter(({ level }) => level === 'watching');
    if (watched.length === 0) return false;
    const subjects = await this.#watchable(id, categoryId);
    return subjects.some((one) => watched.some((other) => other.kind === one.kind && other.id === one.id));
  }

  async followers(
    discussion: StartedDiscussion,
    options: { readonly after?: string; readonly limit: number },
  ): Promise<readonly string[]> {
    return this.#follows.followers(await this.#subjectsOf(discussion), options);
  }

  async levels(discussionId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, Level>> {
    const rows = await this.#data.all(sql<{ id: string; level: Level }>`
      select user_id as id, level from subscription
      where discussion_id = ${discussionId} and user_id = any(${userIds}::uuid[])`);
    return new Map(rows.map(({ id, level }) => [id, level]));
  }

  async level(discussionId: string, userId: string): Promise<Level> {
    return (await this.levels(discussionId, [userId])).get(userId) ?? 'normal';
  }

  async notMutedBy(userId: string): Promise<DiscussionCondition> {
    return sql<boolean>`d.id not in (select discussion_id from subscription
      where user_id = ${userId} and level = 'muted')
      and ${await this.#muting.outside(userId)}`;
  }

  followedBy(userId: string): DiscussionCondition {
    return sql<boolean>`d.id in (${followedBy(userId)})`;
  }

  async noteOfMuted(userId: string): Promise<Narrowing['note'] | undefined> {
    return (await this.#muting.narrowing({ id: userId }))?.note;
  }

  async mutersOf(discussion: StartedDiscussion, userIds: readonly string[]): Promise<ReadonlySet<string>> {
    const mutes = await this.#follows.mutes(userIds, await this.#subjectsOf(discussion));
    return new Set(mutes.map(({ userId }) => userId));
  }

  async ignoredBy(
    userIds: readonly string[],
    others: readonly string[],
  ): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const mutes = await this.#follows.mutes(
      userIds,
      others.map((id) => ({ kind: 'member' as const, id })),
    );
    const byMember = Map.groupBy(mutes, ({ userId }) => userId);
    return new Map([...byMember].map(([userId, ignored]) => [userId, new Set(ignored.map(({ id }) => id))]));
  }

  async set(discussionId: string, userId: string, level: Level): Promise<void> {
    await this.#data.all(sql`insert into subscription (discussion_id, user_id, level, created_at)
        values (${discussionId}, ${userId}, ${level}, ${this.#now()})
      on conflict (discussion_id, user_id) do update set level = excluded.level, created_at = excluded.created_at`);
    await this.#cache.purge(accountTag(userId));
  }

  /** Sets the level; without one, toggles between following and not following. Resolves to the new level. */
  async toggle(discussionId: string, userId: string, level: Level | undefined): Promise<Level> {
    const row = await this.#data.one(sql<{ level: Level }>`
      insert into subscription as s (discussion_id, user_id, level, created_at)
      values (${discussionId}, ${userId}, ${level ?? 'watching'}, ${this.#now()})
      on conflict (discussion_id, user_id) do update set created_at = excluded.created_at,
        level = coalesce(${level ?? null}::text, case when s.level in ('watching', 'tracking') then 'normal' else 'watching' end)
      returning level`);
    await this.#cache.purge(accountTag(userId));
    return row!.level;
  }

  /** Subscribes authors to a discussion; an existing level, chosen or not, is kept. */
  async followOnWriting(discussionId: string, userIds: readonly string[], level: Level): Promise<void> {
    if (level === 'normal') return;
    await this.#add(
      sql`select ${discussionId}::uuid, id, ${level}, ${this.#now()}::timestamptz
        from unnest(${userIds}::uuid[]) as m (id) order by id`,
    );
  }

  /** Followers of a merged discussion follow its target at the same level; an existing level is kept. */
  followMerged(from: string, to: string): Promise<void> {
    return this.#add(sql`select ${to}::uuid, user_id, level, ${this.#now()}::timestamptz from subscription
      where discussion_id = ${from} and level in ('watching', 'tracking') order by user_id`);
  }

  async #add(rows: RawBuilder<unknown>): Promise<void> {
    const added = await this.#data.all(sql<{ id: string }>`
      insert into subscription (discussion_id, user_id, level, created_at) ${rows} on conflict do nothing
      returning user_id as id`);
    if (added.length > 0) await this.#cache.purge(...added.map(({ id }) => accountTag(id)));
  }

  /** A member's levels other than `normal`, by discussion. */
  async of(
    userId: string,
    discussionIds: readonly string[],
  ): Promise<ReadonlyMap<string, { readonly level: Level; readonly createdAt: Date }>> {
    const rows = await this.#data.all(sql<{ id: string; level: Level; createdAt: Date }>`
      select discussion_id as id, level, created_at as "createdAt" from subscription
      where user_id = ${userId} and discussion_id = any(${discussionIds}::uuid[])`);
    return new Map(rows.map(({ id, level, createdAt }) => [id, { level, createdAt }]));
  }

  /** The subjects of a discussion that can be followed and muted. */
  async #subjectsOf({ id, categoryId, authorId }: StartedDiscussion): Promise<readonly Followed[]> {
    return [{ kind: 'member', id: authorId }, ...(await this.#watchable(id, categoryId))];
  }

  /** The subjects of a discussion that can be watched. */
  async #watchable(id: string, categoryId: string): Promise<readonly Followed[]> {
    const tags = (await this.#tags?.idsOf(id)) ?? [];
    return [{ kind: 'category', id: categoryId }, ...tags.map((tag) => ({ kind: 'tag' as const, id: tag }))];
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }
}

/** A select of the discussions that a member follows. */
export const followedBy = (userId: string): DiscussionIds =>
  sql`select discussion_id from subscription where user_id = ${userId} and level in ('watching', 'tracking')`;
/** A select of the discussions that a member follows or has muted. */
export const followedOrMutedBy = (userId: string): DiscussionIds =>
  sql`select discussion_id from subscription where user_id = ${userId} and level <> 'normal'`;
