import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, type Child } from './child.ts';
import type { Amounts, Prepared } from './data.ts';
import { createDatabase } from './database.ts';
import { median } from './median.ts';
import type { Result } from './report.ts';
import type { FeedCosts } from './feeds.ts';
import type { SearchCosts } from './search.ts';
import { secondsToStart } from './start.ts';

/** Of 10,000 posts, and of 1,000,000. The long discussion is opened in its middle. */
export const SMALL = { discussions: 1_000, posts: 10_000, users: 200, long: 40 };
const LARGE = { discussions: 100_000, posts: 1_000_000, users: 20_000, long: 5_000 };
/** Where `offset` paging is measured, and how many pages a cursor is followed. */
const FAR = 10_000;
const PAGES = 500;
const PAGE = 20;
const ROUNDS = 30;

interface Costs {
  readonly first: number;
  readonly opening: number;
  readonly far: number;
  readonly page500: number;
  readonly search: SearchCosts;
  readonly feeds: FeedCosts;
  readonly start: number;
}

/** What reading costs over 1,000,000 posts, as multiples of what it costs over 10,000. Null in a quick run. */
export async function measureLarge(server: string | undefined, quick: boolean): Promise<readonly Result[]> {
  const costs = quick ? undefined : { small: await costsOf(server, SMALL), large: await costsOf(server, LARGE) };
  const result = (
    name: string,
    value: (of: { small: Costs; large: Costs }) => readonly [number, number],
    goal: number,
  ): Result => {
    const [measured, base] = costs ? value(costs) : [undefined, undefined];
    return {
      name,
      value: measured,
      unit: 'ms',
      ratio: measured !== undefined && base !== undefined ? measured / base : undefined,
      goal,
      atMost: true,
    };
  };
  return [
    result('1,000,000 posts: first page', ({ small, large }) => [large.first, small.first], 1.5),
    result('1,000,000 posts: page 500 by cursor', ({ small, large }) => [large.page500, small.first], 1.5),
    result(
      '1,000,000 posts: a discussion of 5,000 opened in the middle',
      ({ small, large }) => [large.opening, small.opening],
      1.5,
    ),
    result('1,000,000 posts: offset 10,000', ({ large }) => [large.far, large.first], 20),
    result(
      '1,000,000 posts: p95 of searches, to reading 20 posts by id',
      ({ large: { search } }) => [search.search, search.lookup],
      50,
    ),
    result(
      '1,000,000 posts: a feed purged and made again, to reading its 20 discussions by id',
      ({ large: { feeds } }) => [feeds.rebuilt, feeds.lookup],
      5,
    ),
    {
      name: 'a start with 1,000,000 posts, to one with 10,000',
      value: costs?.large.start,
      unit: 's',
      ratio: costs && costs.large.start / costs.small.start,
      goal: 1.3,
      atMost: true,
    },
  ];
}

async function costsOf(server: string | undefined, amounts: Amounts & { readonly long: number }): Promise<Costs> {
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  const database = server ? await createDatabase(server) : undefined;
  try {
    const environment = { DATA_DIR: dataDir, DATABASE_URL: database?.url ?? '', REDIS_URL: '' };
    return { ...(await readingCosts(environment, amounts)), start: await secondsToStart(environment) };
  } finally {
    await database?.drop();
    await rm(dataDir, { recursive: true, force: true });
  }
}

async function readingCosts(
  environment: Readonly<Record<string, string>>,
  amounts: Amounts & { readonly long: number },
): Promise<Omit<Costs, 'start'>> {
  await using forum = await startChild('forum.ts', environment);
  const prepared = await forum.ask<Prepared>({ do: 'prepare', ...amounts });
  const list = (query: string): Promise<number> => requestTime(forum, `/api/discussions?limit=${PAGE}${query}`);
  const middle = Math.ceil(amounts.long / 2);
  return {
    first: await list(''),
    far: amounts.discussions > FAR ? await list(`&offset=${FAR}`) : NaN,
    page500: amounts.discussions > PAGES * PAGE ? await list(`&cursor=${await cursorOf(forum, PAGES)}`) : NaN,
    search: amounts.discussions > FAR ? await forum.ask<SearchCosts>({ do: 'search' }) : { search: NaN, lookup: NaN },
    feeds: await forum.ask<FeedCosts>({ do: 'feeds' }),
    opening: await requestTime(forum, `/api/discussions/${prepared.long}?near=${middle}`),
  };
}

/** Milliseconds of one request, the median, with everything held in memory dropped before each. */
async function requestTime(forum: Child, path: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await forum.ask({ do: 'forget' });
    const start = performance.now();
    const response = await fetch(forum.url + path);
    await response.arrayBuffer();
    times.push(performance.now() - start);
    if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  }
  return median(times);
}

async function cursorOf(forum: Child, page: number): Promise<string> {
  let cursor = '';
  for (let at = 1; at < page; at++) {
    const { next_cursor } = (await (
      await fetch(`${forum.url}/api/discussions?limit=${PAGE}${cursor && `&cursor=${cursor}`}`)
    ).json()) as { next_cursor: string };
    cursor = next_cursor;
  }
  return cursor;
}
