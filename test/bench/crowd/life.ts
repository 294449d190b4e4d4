import { startChild, type Child } from '../child.ts';
import { CONNECTIONS } from '../load.ts';
import { median } from '../median.ts';
import type { Result } from '../report.ts';
import type { Measured } from './generator.ts';
import { backendsOf, processorTime } from './processor-time.ts';
import type { Kind, Visitor } from './requests.ts';
import { openTown, type Town } from './town.ts';
import { enter, returningGuest, sample } from './visitors.ts';

const GUESTS = 100;
const STREAMS = 20;
/** Discussions that are written in, which are those that most is read in. */
const ACTIVE = 200;
/** Answers that bare Express gives in turn. */
const SAMPLES = 120;
/** Turns taken with the baseline, and seconds that nobody counts before them. */
const TURNS = 3;
const WARM = 3;
const P99_GOAL = 5;
const MEMORY_GOAL = 220;
const ENCODINGS = { 'accept-encoding': 'br, gzip' };

/** What many members and guests read and write at once, on one process and, with Redis, on two. */
export async function measureLife(
  server: string | undefined,
  redis: string | undefined,
  seconds: number,
): Promise<readonly Result[]> {
  await using town = await openTown(server);
  const results = [...(await lifeOn(town, { count: 1, redis: '', seconds }))];
  if (server && redis) results.push(...(await lifeOn(town, { count: 2, redis, seconds })));
  return results;
}

interface Processes {
  readonly count: number;
  /** Its URL; empty for none. */
  readonly redis: string;
  readonly seconds: number;
}

interface Turn extends Measured {
  readonly bare: number;
  /** Milliseconds of processor time. */
  readonly forum: number;
  readonly postgres: number | undefined;
}

async function lifeOn(town: Town, { count, redis, seconds }: Processes): Promise<readonly Result[]> {
  await using stopped = new AsyncDisposableStack();
  const forums: Child[] = [];
  while (forums.length < count)
    forums.push(stopped.use(await startChild('forum.ts', { ...town.environment, REDIS_URL: redis })));
  const urls = forums.map(({ url }) => url);
  const { members, guests } = await visitorsOf(urls[0]!, town);
  const { words } = town.population;
  const load = {
    urls,
    connections: CONNECTIONS,
    reads: readsOf(town, members, guests),
    writes: writesOf(town, members),
    streams: [{ name: 'stream', weight: 1, visitors: members.slice(0, STREAMS), paths: ['/api/live'] }],
    words,
  };
  const bare = { ...load, urls: [town.bare.url], writes: [], streams: [] };
  const bareReads = load.reads.map((kind) => ({ ...kind, paths: ['/compressed'] }));
  await town.load({ ...load, seconds: WARM });
  await town.bare.ask({ answers: await sample(urls[0]!, load.reads, { words, count: SAMPLES }) });
  const turns: Turn[] = [];
  while (turns.length < TURNS) {
    const [forumBefore, postgresBefore] = await times(town, forums);
    const measured = await town.load({ ...load, seconds: seconds / TURNS });
    const [forum, postgres] = await times(town, forums);
    const { perSecond } = await town.load({ ...bare, reads: bareReads, seconds: seconds / TURNS });
    turns.push({
      ...measured,
      bare: perSecond,
      forum: forum - forumBefore,
      postgres: postgres === undefined ? undefined : postgres - (postgresBefore ?? 0),
    });
  }
  const memory = await Promise.all(forums.map((forum) => forum.memory()));
  return [...figures(`life, ${count === 1 ? 'one process' : `${count} processes`}`, turns, Math.max(...memory))];
}

async function visitorsOf(
  url: string,
  { population }: Town,
): Promise<{ readonly members: readonly Visitor[]; readonly guests: readonly Visitor[] }> {
  const [members, guests]: [Visitor[], Visitor[]] = [[], []];
  for (const { id } of population.members) members.push({ ...(await enter(url, id)), ...ENCODINGS });
  while (guests.length < GUESTS) guests.push({ ...(await returningGuest(url)), ...ENCODINGS });
  return { members, guests };
}

/** What is read, in hundredths. */
function readsOf({ population }: Town, members: readonly Visitor[], guests: readonly Visitor[]): readonly Kind[] {
  const { discussions, categories, members: accounts } = population;
  const everyone = [...members, ...guests];
  return [
    { name: 'discussion', weight: 56, visitors: everyone, paths: discussions.map(({ path }) => path), zipf: true },
    { name: 'home', weight: 20, visitors: everyone, paths: ['/', '/?page=2', '/?page=3'], zipf: true },
    {
      name: 'category',
      weight: 8,
      visitors: everyone,
      paths: categories.flatMap((slug) => [`/c/${slug}`, `/c/${slug}?page={2-5}`]),
    },
    { name: 'profile', weight: 4, visitors: everyone, paths: accounts.map(({ username }) => `/u/${username}`) },
    { name: 'notifications', weight: 4, visitors: members, paths: ['/notifications'] },
    { name: 'search', weight: 3, visitors: everyone, paths: ['/search?q={word}', '/search?q={word}+{word}'] },
    {
      name: 'rows below a list',
      weight: 3,
      visitors: everyone,
      paths: ['/api/discussions?limit=20&offset={20-200}'],
    },
    {
      name: 'posts of a discussion',
      weight: 2,
      visitors: everyone,
      paths: discussions.map(({ id }) => `/api/discussions/${id}/posts`),
      zipf: true,
    },
  ];
}

function writesOf({ population }: Town, members: readonly Visitor[]): readonly (Kind & { perSecond: number })[] {
  const active = population.discussions.slice(0, ACTIVE).map(({ id }) => id);
  const write = (path: string, perSecond: number, bodies: readonly object[]) => ({
    name: path,
    weight: 1,
    visitors: members,
    paths: [path],
    bodies: bodies.map((body) => JSON.stringify(body)),
    perSecond,
  });
  const content = '{word} {word} {word}, as **{word}** said of the {word} and `{word}`.';
  return [
    write(
      '/api/posts',
      5,
      active.map((id) => ({ discussion_id: id, content })),
    ),
    write(
      '/api/reactions/toggle',
      10,
      population.posts
        .slice(0, ACTIVE)
        .flatMap((id) => population.reactions.map((reaction) => ({ post_id: id, reaction }))),
    ),
    write(
      '/api/typing-indicator/typing',
      50,
      active.map((id) => ({ discussion_id: id })),
    ),
  ];
}

/** Processor time so far of the forum and, where that is known, of what PostgreSQL does for it. */
async function times({ environment }: Town, forums: readonly Child[]): Promise<readonly [number, number | undefined]> {
  const url = environment['DATABASE_URL'];
  const backends = url ? await backendsOf(url) : [];
  return [
    await processorTime(forums.map(({ pid }) => pid)),
    backends.length === 0 ? undefined : await processorTime(backends),
  ];
}

function* figures(name: string, turns: readonly Turn[], memory: number): Generator<Result> {
  const of = (value: (turn: Turn) => number): number => median(turns.map(value));
  const figure = (what: string, value: number | undefined, unit: string, atMost = true): Result => ({
    name: `${name}: ${what}`,
    value,
    unit,
    ratio: undefined,
    goal: undefined,
    atMost,
  });
  const bytes = Math.round(of((turn) => turn.bytes));
  yield figure(
    'reads',
    of(({ perSecond }) => perSecond),
    `requests/s of ${bytes} bytes`,
    false,
  );
  yield {
    ...figure(
      'reads beside bare Express that compresses the same',
      of(({ bare }) => bare),
      'requests/s of its own',
      false,
    ),
    ratio: of(({ perSecond, bare }) => perSecond / bare),
  };
  yield figure(
    'half of the reads within',
    of(({ p50 }) => p50),
    'ms',
  );
  yield {
    ...figure(
      '99 of 100 reads within, to half of them',
      of(({ p99 }) => p99),
      'ms',
    ),
    ratio: of(({ p50, p99 }) => p99 / p50),
    goal: P99_GOAL,
  };
  yield figure(
    'answers that said to come back later',
    of(({ refused }) => refused),
    'a turn',
  );
  const each = (time: number | undefined, { reads, writes }: Turn): number => (time ?? NaN) / (reads + writes);
  yield figure(
    'processor time of the forum',
    of((turn) => each(turn.forum, turn)),
    'ms a request',
  );
  const known = turns.every(({ postgres }) => postgres !== undefined);
  yield figure(
    'processor time of PostgreSQL',
    known ? of((turn) => each(turn.postgres, turn)) : undefined,
    'ms a request',
  );
  yield { ...figure('resident memory of a process after it', memory, 'MiB'), goal: MEMORY_GOAL };
}
