import { sql, type Data, type Logger } from 'parley-forum';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { vectorOf, type Language } from './languages.ts';
import type { SearchProjection } from './projection.ts';

/** Posts in one transaction: their discussions cannot be changed meanwhile, so it must be short. */
const BATCH = 500;
/** Posts between two lines of the log. */
const LOG_INTERVAL = 50_000;

/** State of the index. There is one row. */
interface IndexState {
  /** Checkpoint up to which nothing is missing; null until every post has been copied once. */
  readonly complete: string | null;
  /** Checkpoint at which the current backfill began; null when there is none. */
  readonly walking: string | null;
  /** The last post it has indexed. */
  readonly walked: string | null;
  /** Something may have been written without the projection since `complete`. */
  readonly stale: boolean;
  /** The language in which every post is indexed. */
  readonly language: string | null;
}
interface IndexMaintenanceDeps {
  readonly data: Data;
  readonly discussions: Discussions;
  readonly projection: SearchProjection;
  readonly log: Logger;
  readonly language: () => Language;
}

/**
 * Backfills the index with what was written while the plugin was off, in batches that survive a stop, and reindexes it
 * when the language setting changes.
 */
export class IndexMaintenance {
  readonly #deps: IndexMaintenanceDeps;

  constructor(deps: IndexMaintenanceDeps) {
    this.#deps = deps;
  }

  /**
   * Call it once the projection is added. Resolves to whether posts are missing or the language changed, so that there is
   * something to do.
   */
  async start(): Promise<boolean> {
    const { discussions, language } = this.#deps;
    const { complete, walking, stale, language: indexed } = await this.#state();
    if (stale || walking !== null) return true;
    const missing = await discussions.hasChanges(complete ?? undefined);
    await this.#set(missing ? sql`stale = true` : sql`complete = ${await discussions.checkpoint()}`);
    return missing || indexed !== language();
  }

  /** Stores a checkpoint: an index that is complete now is complete up to here. */
  async stop(): Promise<void> {
    const checkpoint = await this.#deps.discussions.checkpoint();
    await this.#deps.data.all(
      sql`update search_state set complete = ${checkpoint} where walking is null and not stale`,
    );
  }

  async catchUp(signal: AbortSignal): Promise<void> {
    for (
      let state = await this.#state();
      !signal.aborted && (state.stale || state.walking !== null);
      state = await this.#state()
    ) {
      if (state.walking === null)
        await this.#set(sql`walking = ${await this.#deps.discussions.checkpoint()}, walked = null, stale = false`);
      else await this.#copy(state, signal);
    }
    await this.#reindex(signal);
  }

  async #copy({ complete, walking, walked }: IndexState, signal: AbortSignal): Promise<void> {
    const { data, discussions, projection, log } = this.#deps;
    let copied = 0;
    for (let after = walked ?? undefined; !signal.aborted;) {
      const last = await data.transaction(async (em) => {
        const posts = await discussions.projectedPosts(after, BATCH, complete ?? undefined);
        if (posts.length > 0) await projection.posts(em, posts);
        copied += posts.length;
        const finished = posts.length < BATCH;
        await this.#set(
          finished ? sql`complete = ${walking}, walking = null, walked = null` : sql`walked = ${posts.at(-1)!.id}`,
        );
        return finished ? undefined : posts.at(-1)!.id;
      });
      if (copied > 0 && (last === undefined || copied % LOG_INTERVAL === 0))
        log.info({ posts: copied, done: last === undefined }, 'posts were looked through for the search');
      if (last === undefined) return;
      after = last;
    }
  }

  /** Indexes anew what is in another language than the setting's. New posts come in the new one by themselves. */
  async #reindex(signal: AbortSignal): Promise<void> {
    const { data, log } = this.#deps;
    const language = this.#deps.language();
    if ((await this.#state()).language === language) return;
    let after = '00000000-0000-0000-0000-000000000000';
    for (let indexed = 0; !signal.aborted;) {
      const rows = await data.all(sql<{ id: string }>`
        update search_post s set language = ${language}, vector = ${vectorOf({ language: sql`${language}`, title: sql`title`, body: sql`body` })}
        from (select id from search_post where id > ${after} and language <> ${language} order by id limit ${BATCH} for update skip locked) o (same) where s.id = o.same returning s.id`);
      indexed += rows.length;
      if (rows.length < BATCH) {
        await this.#set(sql`language = ${language}`);
        if (indexed > 0) log.info({ posts: indexed, language }, 'the search index is in its new language');
        return;
      }
      if (indexed % LOG_INTERVAL === 0) log.info({ posts: indexed, language }, 'the search index changes its language');
      after = rows.reduce((last, { id }) => (id > last ? id : last), after);
    }
  }

  async #set(values: ReturnType<typeof sql>): Promise<void> {
    await this.#deps.data.all(sql`update search_state set ${values}`);
  }

  async #state(): Promise<IndexState> {
    const state = await this.#deps.data.one(
      sql<IndexState>`select complete, walking, walked, stale, language from search_state`,
    );
    return state!;
  }
}
