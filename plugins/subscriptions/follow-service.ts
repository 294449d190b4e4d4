import { HttpError, sql, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import { accountTag } from 'parley-forum/plugins/accounts';
import { MAX_FOLLOWS, type FollowKind, type FollowLevel } from 'parley-forum/plugins/subscriptions';

/** A category, a tag or a member. */
export interface Followed {
  readonly kind: FollowKind;
  readonly id: string;
}
/** A category, tag or member that a member follows or has muted. */
export interface Follow extends Followed {
  readonly level: StoredLevel;
  readonly createdAt: Date;
}
/** The levels that are stored. */
type StoredLevel = Exclude<FollowLevel, 'normal'>;
interface Mute extends Followed {
  readonly userId: string;
}

/**
 * Cache tag of what a member follows and has muted. Separate from the account's tag, so that other changes of the
 * account do not reload it.
 */
const followsTag = (userId: string): string => `follows:${userId}`;
const FULL: Readonly<Record<StoredLevel, string>> = {
  following: `You follow ${MAX_FOLLOWS} categories, tags and members; stop following one first`,
  watching: `You follow ${MAX_FOLLOWS} categories, tags and members; stop following one first`,
  muted: `You have muted ${MAX_FOLLOWS} categories, tags and members; unmute one first`,
};

/** The level of a row of `follow`. */
const LEVEL = sql`case when is_muted then 'muted' when is_watched then 'watching' else 'following' end`;

/** The categories, tags and members that members follow or mute: one row per member and subject. */
export class FollowService {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #clock: Clock;

  constructor({ data, cache, clock }: { data: Data; cache: Cache; clock: Clock }) {
    this.#data = data;
    this.#cache = cache;
    this.#clock = clock;
  }

  /** Everything a member follows or has muted, newest first. Cached until they change something. */
  of(userId: string): Promise<readonly Follow[]> {
    return this.#cache.remember(`subscriptions.follows:${userId}`, [followsTag(userId)], () =>
      this.#data.all(sql<Follow>`select kind, subject_id as id, ${LEVEL} as level, created_at as "createdAt" from follow
        where user_id = ${userId} order by created_at desc, kind, subject_id`),
    );
  }

  async followed(userId: string): Promise<readonly Follow[]> {
    return (await this.of(userId)).filter(({ level }) => level !== 'muted');
  }

  async muted(userId: string): Promise<readonly Follow[]> {
    return (await this.of(userId)).filter(({ level }) => level === 'muted');
  }

  async level(userId: string, { kind, id }: Followed): Promise<FollowLevel> {
    return (await this.of(userId)).find((follow) => follow.kind === kind && follow.id === id)?.level ?? 'normal';
  }

  /** Sets a level, replacing any other one. Throws 400 if the member has reached the maximum number for that level. */
  async set(userId: string, { kind, id }: Followed, level: StoredLevel): Promise<void> {
    const [muted, watched] = [level === 'muted', level === 'watching'];
    const set = await this.#data.transaction(async () => {
      // Serializes concurrent calls, so that each one counts what the others set.
      await this.#data.lock(`subscriptions:${userId}`);
      return this.#data.all(sql`insert into follow as f (user_id, kind, subject_id, is_muted, is_watched, created_at)
        select ${userId}, ${kind}, ${id}, ${muted}, ${watched}, ${new Date(this.#clock.now())}
        where (select count(*) from follow where user_id = ${userId} and is_muted = ${muted}
          and (kind, subject_id) <> (${kind}, ${id}::uuid)) < ${MAX_FOLLOWS}
        on conflict (user_id, kind, subject_id) do update set is_muted = excluded.is_muted,
          is_watched = excluded.is_watched, created_at = excluded.created_at
          where (f.is_muted, f.is_watched) <> (excluded.is_muted, excluded.is_watched) returning 1`);
    });
    if (set.length > 0) return this.#changed([userId]);
    const known = await this.#data.one(sql`select 1 as known from follow
      where user_id = ${userId} and kind = ${kind} and subject_id = ${id} and ${LEVEL} = ${level}`);
    if (!known) throw new HttpError(400, FULL[level]);
  }

  /** Ends this level; any other one is kept. */
  async end(userId: string, { kind, id }: Followed, level: StoredLevel): Promise<void> {
    await this.#data.all(sql`delete from follow
      where user_id = ${userId} and kind = ${kind} and subject_id = ${id} and ${LEVEL} = ${level}`);
    await this.#changed([userId]);
  }

  /**
   * The ids of members who follow any of these, ascending and without duplicates: at most `limit` after `after`. One
   * statement.
   */
  async followers(
    followed: readonly Followed[],
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<readonly string[]> {
    if (followed.length === 0) return [];
    // Each part is read in index order, so that a later page does not read the earlier ones again.
    const parts = followed.map(
      ({ kind, id }) => sql`(select user_id from follow where kind = ${kind} and subject_id = ${id} and not is_muted
        ${after === undefined ? sql`` : sql`and user_id > ${after}`} order by user_id limit ${limit})`,
    );
    const rows = await this.#data.all(
      sql<{
        id: string;
      }>`select user_id as id from (${sql.join(parts, sql` union `)}) found order by user_id limit ${limit}`,
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Selects of the ids of members who watch one of these, each in index order, with `condition` on the row `f` of each:
   * at most `limit` after `after`.
   */
  watching(
    watched: readonly Followed[],
    condition: RawBuilder<unknown>,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): readonly RawBuilder<unknown>[] {
    return watched.map(
      ({ kind, id }) => sql`(select f.user_id from follow f where f.kind = ${kind} and f.subject_id = ${id}
        and f.is_watched and ${condition}
        ${after === undefined ? sql`` : sql`and f.user_id > ${after}`} order by f.user_id limit ${limit})`,
    );
  }

  /** Which of these subjects each of the members has muted. One statement. */
  mutes(userIds: readonly string[], muted: readonly Followed[]): Promise<readonly Mute[]> {
    return this.#data.all(sql<Mute>`select f.user_id as "userId", f.kind, f.subject_id as id
      from unnest(${muted.map(({ kind }) => kind)}::text[], ${muted.map(({ id }) => id)}::uuid[]) as s (kind, id)
        join follow f on f.kind = s.kind and f.subject_id = s.id
      where f.is_muted and f.user_id = any(${userIds}::uuid[]) order by f.user_id, f.kind, f.subject_id`);
  }

  /**
   * A tag is gone: members who follow or mute it now follow or mute its replacement, if there is one and they have no
   * level for it yet.
   */
  async replaceTag(id: string, into: string | undefined): Promise<void> {
    await this.#data.transaction(async () => {
      if (into !== undefined)
        await this.#data.all(sql`insert into follow (user_id, kind, subject_id, is_muted, is_watched, created_at)
          select user_id, kind, ${into}::uuid, is_muted, is_watched, created_at from follow
          where kind = 'tag' and subject_id = ${id} order by user_id on conflict do nothing`);
      await this.forget({ kind: 'tag', id });
    });
  }

  /** Deletes all follows and mutes of a subject. */
  async forget({ kind, id }: Followed): Promise<void> {
    const rows = await this.#data.all(
      sql<{
        userId: string;
      }>`delete from follow where kind = ${kind} and subject_id = ${id} returning user_id as "userId"`,
    );
    if (rows.length > 0) await this.#changed(rows.map(({ userId }) => userId));
  }

  /** Pages and responses are cached per member. */
  #changed(userIds: readonly string[]): Promise<void> {
    return this.#cache.purge(...userIds.flatMap((id) => [followsTag(id), accountTag(id)]));
  }
}
