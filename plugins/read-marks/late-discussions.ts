import { sql, ZERO_ID, type Cache, type Clock, type Data, type RawBuilder } from 'parley-forum';
import type { Categories } from 'parley-forum/plugins/discussions';

/** Cache tag for everything that depends on which discussions came late. */
export const LATE = 'read-late';

export interface LateDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly categories: Categories;
}

/**
 * Discussions that became visible late: they had been deleted, or in a category that not every member sees. Members who
 * could not see them have not read them.
 */
export class LateDiscussions {
  readonly #deps: LateDeps;

  constructor(deps: LateDeps) {
    this.#deps = deps;
  }

  restored(discussionId: string): Promise<void> {
    return this.#add(discussionId, sql`select ${ZERO_ID}::uuid as id`);
  }

  left(categoryId: string, discussionId: string): Promise<void> {
    return this.#add(discussionId, sql`select ${categoryId}::uuid as id`);
  }

  /** Posts were moved into it from another discussion. */
  joined(sourceId: string, discussionId: string): Promise<void> {
    return this.#add(discussionId, sql`select category_id as id from discussion where id = ${sourceId}`);
  }

  /**
   * Posts of the discussion are gone: its last post may now be earlier than the time from which members look for late
   * discussions.
   */
  async shortened(discussionId: string): Promise<void> {
    const { data, cache } = this.#deps;
    const row = await data.one(sql`select 1 from read_late where discussion_id = ${discussionId} limit 1`);
    if (row) await cache.purge(LATE);
  }

  async #add(discussionId: string, hiddenIn: RawBuilder<unknown>): Promise<void> {
    const { data, cache, clock, categories } = this.#deps;
    await categories.refresh();
    const open = categories.all().filter(({ view }) => view === 'everyone' || view === 'members');
    const added = await data.all(sql`insert into read_late (discussion_id, hidden_in, visible_since)
      select ${discussionId}::uuid, id, ${new Date(clock.now())}::timestamptz from (${hiddenIn}) h
      where id <> all(${open.map(({ id }) => id)}::uuid[])
      on conflict (discussion_id, hidden_in) do update set visible_since = excluded.visible_since returning 1`);
    if (added.length > 0) await cache.purge(LATE);
  }

  /** Deletes up to `limit` entries older than `since`. Resolves to the number deleted. */
  async forget(since: Date, limit: number): Promise<number> {
    const gone = await this.#deps.data.all(sql`delete from read_late where (discussion_id, hidden_in) in (
      select discussion_id, hidden_in from read_late where visible_since < ${since} limit ${limit}) returning 1`);
    return gone.length;
  }
}
