import type { App } from '../../core/host/app.ts';
import { sql } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { Discussions } from 'parley-forum/plugins/discussions';
import { Search, type SearchType } from 'parley-forum/plugins/search';

/**
 * What is asked of the machine-made texts: rare words, which stand in titles; common ones, in every fifteenth post and
 * more; phrases of both kinds; several words; filters; and a word that nobody wrote. Each for discussions and for
 * posts.
 */
const QUERIES = [
  'windlass',
  'sextant',
  'winter photographs',
  'turnbuckle salt',
  'boat',
  'engine',
  'silicone',
  'boat -engine',
  '"anchor windlass"',
  '"keel bolts"',
  '"mooring chain"',
  '"out of the tank"',
  'pump category:general',
  'harbour after:2025-01-01',
  'trousers before:2026-01-01',
  'unobtainium',
] as const;
const TYPES: readonly SearchType[] = ['discussions', 'posts'];
const PAGE = 20;
const ROUNDS = 20;

export interface SearchCosts {
  /** Milliseconds under which 95 of 100 searches stayed. */
  readonly search: number;
  /** The same of reading twenty posts by their ids. */
  readonly lookup: number;
}

/** Both by the services of one process, in turns, so that whatever else the machine does meets both. */
export async function searchCosts(app: App): Promise<SearchCosts> {
  // As the server does by itself some minutes after so much was written.
  await app.data.all(sql`analyze`);
  const [search, discussions, { guest }] = [app.service(Search), app.service(Discussions), app.service(Access)];
  const posts = await app.data.all(
    sql<{
      id: string;
    }>`select id from post order by md5(id::text) limit ${PAGE * ROUNDS * TYPES.length * QUERIES.length}`,
  );
  const [searches, lookups]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    for (const q of QUERIES) {
      for (const type of TYPES) {
        const ids = posts.splice(0, PAGE).map(({ id }) => id);
        lookups.push(await timed(() => discussions.posts(ids, guest)));
        searches.push(await timed(() => search.search({ q, type, limit: PAGE }, guest)));
      }
    }
  }
  return { search: p95(searches), lookup: p95(lookups) };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

const p95 = (times: readonly number[]): number => times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)]!;
