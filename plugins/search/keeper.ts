import { sql, type Data, type Logger } from 'parley-forum';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { vectorOf, type Language } from './languages.ts';
import type { PostMirror } from './mirror.ts';

/** Posts in one transaction: their discussions cannot be changed meanwhile, so it must be short. */
const BATCH = 500;
/** Posts between two lines of the log. */
const TELL_EVERY = 50_000;

/** How far the copy has come. There is one row. */
interface State {
  /** Mark up to which nothing is missing; null until every post has been copied once. */
  readonly complete: string | null;
  /** Mark at which the copying under way began; null when there is none. */
  readonly walking: string | null;
  /** The last post it has copied. */
  readonly walked: string | null;
  /** Something may have been written without the mirror since `complete`. */
  readonly stale: boolean;
  /** The language in which every post is indexed. */
  readonly language: string | null;
}
interface KeeperParts {
  readonly data: Data;
  readonly discussions: Discussions;
  readonly mirror: PostMirror;
  readonly log: Logger;
  readonly language: () => Language;
}

/**
 * Brings the copy up to what was written while nobody mirrored it, in batches that survive a stop, and into the
 * language of the setting.
 */
export class Keeper {
  readonly #parts: KeeperParts;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  /**
   * From now on the mirror hears of everything. Resolves to whether something came before, or the language changed, so
   * that there is something to do.
   */
  async begin(): Promise<boolean> {
    const { discussions, language } = this.#parts;
    const { complete, walking, stale, language: indexed } = await this.#state();
    if (stale || walking !== null) return true;
    const missing = await discussions.hasChanges(complete ?? undefined);
    await this.#set(missing ? sql`stale = true` : sql`complete = ${await discussions.checkpoint()}`);
    return missing || indexed !== language();
  }

  /** The mirror is about to leave: what is complete now is complete up to here. */
  async end(): Promise<void> {
    const mark = await this.#parts.discussions.checkpoint();
    await this.#parts.data.all(sql`update search_state set complete = ${mark} where walking is null and not stale`);
  }

  async catchUp(signal: AbortSignal): Promise<void> {
    for (
      let state = await this.#state();
      !signal.aborted && (state.stale || state.walking !== null);
      state = await this.#state()
    ) {
      if (state.walking === null)
        await this.#set(sql`walking = ${await this.#parts.discussions.checkpoint()}, walked = null, stale = false`);
      else await this.#walk(state, signal);
    }
    await this.#translate(signal);
  }

  async #walk({ complete, walking, walked }: State, signal: AbortSignal): Promise<void> {
    const { data, discussions, mirror, log } = this.#parts;
    let copied = 0;
    for (let after = walked ?? undefined; !signal.aborted;) {
      const last = await data.transaction(async (em) => {
        const posts = await discussions.projectedPosts(after, BATCH, complete ?? undefined);
        if (posts.length > 0) await mirror.posts(em, posts);
        copied += posts.length;
        const end = posts.length < BATCH;
        await this.#set(
          end ? sql`complete = ${walking}, walking = null, walked = null` : sql`walked = ${posts.at(-1)!.id}`,
        );
        return end ? undefined : posts.at(-1)!.id;
      });
      if (copied > 0 && (last === undefined || copied % TELL_EVERY === 0))
        log.info({ posts: copied, done: last === undefined }, 'posts were looked through for the search');
      if (last === undefined) return;
      after = last;
    }
  }

  /** Indexes anew what is in another language than the setting's. New posts come in the new one by themselves. */
  async #translate(signal: AbortSignal): Promise<void> {
    const { data, log } = this.#parts;
    const language = this.#parts.language();
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
      if (indexed % TELL_EVERY === 0) log.info({ posts: indexed, language }, 'the search index changes its language');
      after = rows.reduce((last, { id }) => (id > last ? id : last), after);
    }
  }

  async #set(values: ReturnType<typeof sql>): Promise<void> {
    await this.#parts.data.all(sql`update search_state set ${values}`);
  }

  async #state(): Promise<State> {
    const state = await this.#parts.data.one(
      sql<State>`select complete, walking, walked, stale, language from search_state`,
    );
    return state!;
  }
}
