import { HttpError, sql, type Cache, type Clock, type Data } from 'parley-forum';
import { accountTag } from 'parley-forum/plugins/accounts';
import { MAX_FOLLOWS, type FollowKind } from 'parley-forum/plugins/subscriptions';

/** What a member follows besides discussions. */
export interface Follow {
  readonly kind: FollowKind;
  readonly id: string;
  readonly createdAt: Date;
}
/** What is followed, or may be. */
export type Followed = Omit<Follow, 'createdAt'>;

/** Who is notified of new discussions of a category, a tag or a member: one row for each of them and follower. */
export class FollowService {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #clock: Clock;

  constructor({ data, cache, clock }: { data: Data; cache: Cache; clock: Clock }) {
    this.#data = data;
    this.#cache = cache;
    this.#clock = clock;
  }

  /** All that a member follows, the newest first. Cached until they change something. */
  of(userId: string): Promise<readonly Follow[]> {
    return this.#cache.remember(`subscriptions.follows:${userId}`, [accountTag(userId)], () =>
      this.#data.all(sql<Follow>`select kind, subject_id as id, created_at as "createdAt" from follow
        where user_id = ${userId} order by created_at desc, kind, subject_id`),
    );
  }

  async has(userId: string, { kind, id }: Followed): Promise<boolean> {
    return (await this.of(userId)).some((follow) => follow.kind === kind && follow.id === id);
  }

  /** Throws 400 where the member follows as much as anybody may. */
  async set(userId: string, followed: Followed, following: boolean): Promise<void> {
    const { kind, id } = followed;
    if (following) await this.#add(userId, followed);
    else
      await this.#data.all(sql`delete from follow where user_id = ${userId} and kind = ${kind} and subject_id = ${id}`);
    await this.#cache.purge(accountTag(userId));
  }

  /** Ids of those who follow any of these, ascending, each once: at most `limit` after `after`. One statement. */
  async followers(
    followed: readonly Followed[],
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<readonly string[]> {
    if (followed.length === 0) return [];
    // Each part is read in the order of its index, so that a later page does not read what came before.
    const parts = followed.map(
      ({ kind, id }) => sql`(select user_id from follow where kind = ${kind} and subject_id = ${id}
        ${after === undefined ? sql`` : sql`and user_id > ${after}`} order by user_id limit ${limit})`,
    );
    const rows = await this.#data.all(
      sql<{
        id: string;
      }>`select user_id as id from (${sql.join(parts, sql` union `)}) found order by user_id limit ${limit}`,
    );
    return rows.map(({ id }) => id);
  }

  /** Nobody follows it any longer. */
  async forget({ kind, id }: Followed): Promise<void> {
    const rows = await this.#data.all(
      sql<{
        userId: string;
      }>`delete from follow where kind = ${kind} and subject_id = ${id} returning user_id as "userId"`,
    );
    if (rows.length > 0) await this.#cache.purge(...rows.map(({ userId }) => accountTag(userId)));
  }

  async #add(userId: string, { kind, id }: Followed): Promise<void> {
    const added = await this.#data.all(sql`insert into follow (user_id, kind, subject_id, created_at)
      select ${userId}, ${kind}, ${id}, ${new Date(this.#clock.now())}
      where (select count(*) from follow where user_id = ${userId}) < ${MAX_FOLLOWS} on conflict do nothing returning user_id`);
    if (added.length > 0) return;
    const known = await this.#data.one(
      sql`select 1 as known from follow where user_id = ${userId} and kind = ${kind} and subject_id = ${id}`,
    );
    if (!known)
      throw new HttpError(400, `You follow ${MAX_FOLLOWS} categories, tags and members; stop following one first`);
  }
}
