import { sql, type Cache, type Data } from 'parley-forum';

const TAG = 'slow-mode';

/**
 * The discussions in slow mode. They are few, so all of them are read at once and cached, and no reply needs a query of
 * its own.
 */
export class SlowModeStore {
  readonly #data: Data;
  readonly #cache: Cache;

  constructor({ data, cache }: { data: Data; cache: Cache }) {
    this.#data = data;
    this.#cache = cache;
  }

  /** Seconds between replies; 0 if the discussion is not in slow mode. */
  async of(discussionId: string): Promise<number> {
    return (await this.all()).get(discussionId) ?? 0;
  }

  all(): Promise<ReadonlyMap<string, number>> {
    return this.#cache.remember('slow-mode.all', [TAG], async () => {
      const rows = await this.#data.all(
        sql<{ id: string; seconds: number }>`select discussion_id as id, seconds from slow_mode order by discussion_id`,
      );
      return new Map(rows.map(({ id, seconds }) => [id, seconds]));
    });
  }

  /** Resolves to false if nothing changes. In a transaction, the change takes effect after the commit. */
  async set(discussionId: string, seconds: number): Promise<boolean> {
    const changed = await this.#data.all(
      seconds === 0
        ? sql`delete from slow_mode where discussion_id = ${discussionId} returning seconds`
        : sql`insert into slow_mode as s (discussion_id, seconds) values (${discussionId}, ${seconds})
            on conflict (discussion_id) do update set seconds = excluded.seconds where s.seconds <> excluded.seconds
            returning seconds`,
    );
    if (changed.length === 0) return false;
    await this.#data.afterCommit(() => this.#cache.purge(TAG));
    return true;
  }
}
