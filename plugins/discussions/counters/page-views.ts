import { LRUCache } from 'lru-cache';
import { messageOf, sql, type Cache, type Clock, type Data, type Logger } from 'parley-forum';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import type { PageViewListener } from 'parley-forum/plugins/web';

/** Milliseconds between writes, so that views become visible well within ten seconds. */
const WRITE_INTERVAL = 5_000;
/** Milliseconds during which repeated views of a discussion by one visitor count once. */
const VISIT_WINDOW = 30 * 60_000;
/** Maximum number of visits in memory; the oldest are dropped and may be counted again. */
const MAX_VISITS = 100_000;
const PAGE = /^\/d\/([1-9]\d{0,8})(?:-[^/?]*)?(?:\?|$)/;
/** User agents of programs rather than people. */
const BOT =
  /bot\b|bot\/|crawl|spider|slurp|preview|fetch|monitor|curl|wget|python|java\/|go-http|headless|facebookexternalhit|^$/i;

type PageView = Parameters<PageViewListener['onPageView']>[0];

/** Counts page views by people in memory, and writes them to the database every few seconds. */
export class PageViewCounter implements PageViewListener {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #log: Logger;
  /**
   * When each visitor was last counted. Limited by size, because `max` would allocate memory for all entries up front.
   */
  readonly #recentVisits = new LRUCache<string, number>({ maxSize: MAX_VISITS, sizeCalculation: () => 1 });
  #pending = new Map<number, number>();
  #writing: Promise<void> = Promise.resolve();

  constructor({ data, cache, clock, log }: { data: Data; cache: Cache; clock: Clock; log: Logger }) {
    this.#data = data;
    this.#cache = cache;
    this.#clock = clock;
    this.#log = log;
  }

  /** Starts writing every few seconds. The returned function stops it, after writing the rest. */
  start(): () => Promise<void> {
    const timer = setInterval(() => void this.flush(), WRITE_INTERVAL).unref();
    return () => {
      clearInterval(timer);
      return this.flush();
    };
  }

  readonly onPageView = ({ path, viewer, ip, userAgent }: PageView): void => {
    const number = Number(PAGE.exec(path)?.[1]);
    if (!number || BOT.test(userAgent)) return;
    // Not identified by cookie: there is none on the first visit, so the second one would be counted again.
    const visit = `${number} ${viewer.id ?? `${ip} ${userAgent}`}`;
    const now = this.#clock.now();
    const before = this.#recentVisits.peek(visit);
    if (before !== undefined && now - before < VISIT_WINDOW) return;
    this.#recentVisits.set(visit, now);
    this.#pending.set(number, (this.#pending.get(number) ?? 0) + 1);
  };

  /** Resolves when all views counted so far are stored. Those that cannot be stored are kept for the next write. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    if (this.#pending.size === 0) return;
    const counted = this.#pending;
    this.#pending = new Map();
    try {
      const rows = await this.#data.transaction(() => this.#add(counted));
      await this.#cache.purge(discussionCacheTags.views, ...rows.map(({ id }) => discussionCacheTags.viewsOf(id)));
    } catch (error) {
      for (const [number, views] of counted) this.#pending.set(number, (this.#pending.get(number) ?? 0) + views);
      this.#log.warn({ error: messageOf(error) }, 'page views could not be stored; they are kept for the next attempt');
    }
  }

  /** Rows are locked in the order of their ids, so that two processes cannot deadlock. */
  #add(counted: ReadonlyMap<number, number>): Promise<{ id: string }[]> {
    return this.#data.all(sql<{ id: string }>`
      with seen as (select * from unnest(${[...counted.keys()]}::int[], ${[...counted.values()]}::int[]) as t (number, views)),
      locked as (select d.id, s.views from discussion d join seen s on s.number = d.number
          order by d.id for no key update of d)
      update discussion u set view_count = u.view_count + l.views from locked l where u.id = l.id returning u.id`);
  }
}
