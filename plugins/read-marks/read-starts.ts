import { sql, type Cache, type Clock, type Data } from 'parley-forum';
import { LATE } from './late-discussions.ts';
import type { ReadStart } from './unread-conditions.ts';

const DAY = 86_400_000;
/** Milliseconds. Posts written this recently may not have been committed yet, so they are not skipped as read. */
export const ON_ITS_WAY = 60_000;

interface Row {
  readonly newSince: Date;
  readonly allReadUntil: Date;
}
interface Loaded extends Row {
  readonly lateFrom: Date | null;
}
const COLUMNS = sql`new_since as "newSince", all_read_until as "allReadUntil", (select min(d.last_post_at)
  from read_late l join discussion d on d.id = l.discussion_id
  where l.visible_since > read_start.all_read_until) as "lateFrom"`;
const tagOf = (userId: string): string => `read-start:${userId}`;

export interface ReadStartDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  /** The number of days for which a discussion that was never opened counts as new. */
  days(): number;
}

/** The time from which on something can be unread: one row per member, created when they sign up or are first seen. */
export class ReadStarts {
  readonly #deps: ReadStartDeps;

  constructor(deps: ReadStartDeps) {
    this.#deps = deps;
  }

  async of(userId: string): Promise<ReadStart> {
    const { cache, clock, days } = this.#deps;
    const tag = tagOf(userId);
    const { newSince, allReadUntil, lateFrom } = await cache.remember(tag, [tag, LATE], () => this.#load(userId));
    const oldest = new Date(clock.now() - days() * DAY);
    return {
      userId,
      newSince: newSince > oldest ? newSince : oldest,
      oldest,
      allReadUntil,
      lateFrom: lateFrom ?? undefined,
    };
  }

  async #load(userId: string): Promise<Loaded> {
    const { data, clock } = this.#deps;
    const row = await data.one(sql<Loaded>`select ${COLUMNS} from read_start where user_id = ${userId}`);
    if (row) return row;
    const now = new Date(clock.now());
    const made = await data.one(sql<Loaded>`insert into read_start (user_id, new_since, all_read_until)
        values (${userId}, ${now}, ${now})
      on conflict (user_id) do update set user_id = excluded.user_id returning ${COLUMNS}`);
    return made!;
  }

  /** Sets both times, unless earlier ones are already stored. */
  async begin(members: readonly { readonly id: string; readonly since: Date }[]): Promise<void> {
    const since = members.map((member) => member.since.toISOString());
    await this.#deps.data.all(sql`insert into read_start as s (user_id, new_since, all_read_until)
      select t.id, t.since, t.since
      from unnest(${members.map(({ id }) => id)}::uuid[], ${since}::timestamptz[]) as t (id, since) order by t.id
      on conflict (user_id) do update set new_since = least(s.new_since, excluded.new_since),
        all_read_until = least(s.all_read_until, excluded.all_read_until)`);
    await this.#deps.cache.purge(...members.map(({ id }) => tagOf(id)));
  }

  /** Advances both times, never back; with `unless`, only if the second one has not changed since it was read. */
  async advance({ userId, allReadUntil }: ReadStart, to: Row, { unless = false } = {}): Promise<void> {
    await this.#deps.data.all(sql`update read_start
      set new_since = greatest(new_since, ${to.newSince}), all_read_until = greatest(all_read_until, ${to.allReadUntil})
      where user_id = ${userId}${unless ? sql` and all_read_until = ${allReadUntil}` : sql``}`);
    await this.#deps.cache.purge(tagOf(userId));
  }

  /**
   * Lets a discussion whose last post is from `lastPostAt` be unread again. Always changes the row, so that `unless`
   * notices.
   */
  async reopen(userId: string, lastPostAt: Date): Promise<void> {
    await this.#deps.data.all(sql`update read_start
      set all_read_until = least(all_read_until, ${lastPostAt}::timestamptz) - interval '1 millisecond'
      where user_id = ${userId}`);
    await this.#deps.cache.purge(tagOf(userId));
  }
}
