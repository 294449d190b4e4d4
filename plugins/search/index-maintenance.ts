import { setTimeout as sleep } from 'node:timers/promises';
import { sql, ZERO_ID, type Backfill, type Data, type Logger } from 'parley-forum';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { vectorOf, type Language } from './languages.ts';
import type { SearchProjection } from './projection.ts';

/** Number of posts in one statement. */
const BATCH = 500;
/** Number of posts between two log messages. */
const LOG_INTERVAL = 50_000;
/** Milliseconds after which locked posts are tried again. */
const AGAIN = 500;

interface IndexMaintenanceDeps {
  readonly data: Data;
  readonly discussions: Discussions;
  readonly projection: SearchProjection;
  readonly log: Logger;
  readonly language: () => Language;
  /** Called in the transactions of a backfill. */
  readonly changed: () => Promise<void>;
}

/** Backfills the index, and reindexes it when the language setting changes. */
export class IndexMaintenance {
  readonly #deps: IndexMaintenanceDeps;

  constructor(deps: IndexMaintenanceDeps) {
    this.#deps = deps;
  }

  /** Adds posts that are missing from the index, and logs the progress. */
  backfill(): Backfill {
    const { discussions, projection, log, changed } = this.#deps;
    let batchSize = 0;
    const posts = discussions.postBackfill({
      posts: async (em, batch) => {
        await projection.posts(em, batch);
        await changed();
        batchSize = batch.length;
      },
    });
    /**
     * By checkpoint, because a restart starts another backfill whose batches alternate with those of the earlier one.
     */
    const counts = new Map<string | undefined, number>();
    return {
      ...posts,
      run: async (since, after) => {
        batchSize = 0;
        const next = await posts.run(since, after);
        const done = next === undefined;
        const before = counts.get(since) ?? 0;
        const copied = before + batchSize;
        const intervals = (posts: number): number => Math.floor(posts / LOG_INTERVAL);
        if (copied > 0 && (done || intervals(copied) > intervals(before)))
          log.info({ posts: copied, done }, 'posts were backfilled into the search index');
        if (done) counts.delete(since);
        else counts.set(since, copied);
        return next;
      },
    };
  }

  /** Whether posts may be indexed in a language other than the configured one. */
  async isOutdated(): Promise<boolean> {
    return (await this.#indexed()) !== this.#deps.language();
  }

  /**
   * Reindexes posts that are indexed in a language other than the configured one. New posts already use the new
   * language.
   */
  async reindex(signal: AbortSignal): Promise<void> {
    const { data, log } = this.#deps;
    const language = this.#deps.language();
    if ((await this.#indexed()) === language) return;
    let after = ZERO_ID;
    for (let indexed = 0; !signal.aborted;) {
      const rows = await data.all(sql<{ id: string }>`
        update search_post s
          set language = ${language},
            vector = ${vectorOf({ language: sql`${language}`, title: sql`title`, body: sql`body` })}
        from (select id from search_post where id > ${after} and language <> ${language} order by id
            limit ${BATCH} for update skip locked) o (same) where s.id = o.same returning s.id`);
      indexed += rows.length;
      if (indexed % LOG_INTERVAL === 0 && rows.length > 0)
        log.info({ posts: indexed, language }, 'the search index is being reindexed in another language');
      after = rows.reduce((last, { id }) => (id > last ? id : last), after);
      if (rows.length > 0) continue;
      if (await this.#finish(language)) {
        if (indexed > 0) log.info({ posts: indexed, language }, 'the search index was reindexed in another language');
        return;
      }
      // Some posts were skipped because they were locked.
      after = ZERO_ID;
      await sleep(AGAIN, undefined, { signal }).catch(() => undefined);
    }
  }

  /** False if some posts are still in another language. */
  async #finish(language: Language): Promise<boolean> {
    const { data } = this.#deps;
    const done = await data.all(sql`update search_state set language = ${language}
      where not exists (select from search_post where language <> ${language}) returning language`);
    return done.length > 0;
  }

  /** The language in which every post is indexed; null before the first indexing. */
  async #indexed(): Promise<string | null> {
    const state = await this.#deps.data.one(sql<{ language: string | null }>`select language from search_state`);
    return state!.language;
  }
}
