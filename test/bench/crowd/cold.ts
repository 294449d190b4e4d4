import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { Parser } from 'htmlparser2';
import { startChild, type Child } from '../child.ts';
import type { Statement } from '../forum.ts';
import { CONNECTIONS } from '../load.ts';
import { median } from '../median.ts';
import { AGENT, TURNS } from '../reads.ts';
import { repeatOn, repeated } from '../repeat.ts';
import type { Result } from '../report.ts';
import type { Kind, Visitor } from './requests.ts';
import { openTown, type Town } from './town.ts';
import { enter, sample, tokenOf } from './visitors.ts';

/** Answers that bare Express gives in turn in place of all of a kind. */
const SAMPLES = 24;
/** Members who have a token. */
const TOKENS = 40;
/** Seconds that nobody counts, before each of the figures. */
const WARM = 0.5;
/** A part of what bare Express answers. */
const PAGE_GOAL = 0.05;
const TOKEN_GOAL = 0.3;
/** Times the cost of a guest's request. */
const DEAD_SESSION_GOAL = 1.2;

interface ColdRead extends Kind {
  readonly goal: number | undefined;
}

/**
 * Requests of which each has its own address, so that nothing that was kept of an answer fits: by another id or page,
 * and by a parameter that nobody reads. What has no goal is null in a quick run.
 */
export async function measureCold(server: string | undefined, quick: boolean): Promise<readonly Result[]> {
  await using town = await openTown(server);
  await using forum = await startChild('forum.ts', town.environment);
  const members: Visitor[] = [];
  for (const { id } of town.population.members) members.push(await enter(forum.url, id));
  const tokens: Visitor[] = [];
  for (const member of members.slice(0, TOKENS)) tokens.push(await tokenOf(forum.url, member));
  const run = { town, url: forum.url, seconds: quick ? 4 : 6 };
  const results: Result[] = [];
  for (const read of readsOf(town, { members, tokens })) {
    if (quick && read.goal === undefined) {
      results.push(unmeasured(read));
      continue;
    }
    const measured = await besideBare(run, read);
    results.push(measured);
    if (read.goal !== undefined && server) results.push(...(await statementsAlone(run, forum, read, measured)));
  }
  results.push(...(await deadSessions(run, await enter(forum.url, town.population.members[0]!.id))));
  results.push(...(await weight(forum.url + town.population.discussions[0]!.path, members[1]!)));
  return results;
}

interface Run {
  readonly town: Town;
  readonly url: string;
  readonly seconds: number;
}

interface Callers {
  readonly members: readonly Visitor[];
  readonly tokens: readonly Visitor[];
}

function readsOf({ population }: Town, { members, tokens }: Callers): readonly ColdRead[] {
  const { discussions, categories, members: accounts } = population;
  const callers: Readonly<Record<string, readonly Visitor[]>> = { guest: [AGENT], member: members, token: tokens };
  const read = (who: string, what: string, paths: readonly string[], goal?: number): ColdRead => ({
    name: `cold, ${who}: ${what}`,
    weight: 1,
    visitors: callers[who]!,
    paths: paths.map((path) => `${path}${path.includes('?') ? '&' : '?'}turn={n}`),
    goal,
  });
  const forBoth = (what: string, paths: readonly string[], goal?: number): readonly ColdRead[] =>
    ['guest', 'member'].map((who) => read(who, what, paths, goal));
  const call = (what: string, paths: readonly string[], goal?: number): readonly ColdRead[] =>
    ['guest', 'member', 'token'].map((who) => read(who, `GET ${what}`, paths, who === 'token' ? goal : undefined));
  return [
    ...forBoth('home', ['/?page={1-20}'], PAGE_GOAL),
    ...forBoth(
      'discussion',
      discussions.map(({ path }) => path),
      PAGE_GOAL,
    ),
    ...forBoth(
      'category',
      categories.map((slug) => `/c/${slug}?page={1-20}`),
    ),
    ...forBoth(
      'profile',
      accounts.map(({ username }) => `/u/${username}`),
    ),
    read('member', 'notifications', ['/notifications']),
    ...forBoth('search', ['/search?q={word}+{word}']),
    // Another address of the same input: what is kept by the input may be sent.
    read('token', 'GET /api/discussions at another address', ['/api/discussions']),
    ...call('/api/discussions', ['/api/discussions?offset={0-1900}&limit={15-25}'], TOKEN_GOAL),
    ...call(
      '/api/discussions/{id}/posts',
      discussions.map(({ id }) => `/api/discussions/${id}/posts?offset={0-4}&limit={15-25}`),
      TOKEN_GOAL,
    ),
    ...call('/api/search', ['/api/search?q={word}+{word}']),
    read('token', 'GET /api/notifications', ['/api/notifications?limit={15-25}'], TOKEN_GOAL),
  ];
}

const rate = async ({ town, url }: Run, read: Kind, seconds: number) =>
  town.load({ urls: [url], seconds, connections: CONNECTIONS, reads: [read], words: town.population.words });

const unmeasured = ({ name, goal }: ColdRead): Result => ({
  name,
  value: undefined,
  unit: 'requests/s',
  ratio: undefined,
  goal,
  atMost: false,
});

async function besideBare(run: Run, read: ColdRead): Promise<Result> {
  const { town, url, seconds } = run;
  await town.bare.ask({ answers: await sample(url, [read], { words: town.population.words, count: SAMPLES }) });
  const bare = { ...run, url: town.bare.url };
  const bareRead: Kind = { ...read, paths: ['/?turn={n}'] };
  await rate(run, read, WARM);
  const [rates, ratios, bytes]: [number[], number[], number[]] = [[], [], []];
  for (let turn = 0; turn < TURNS; turn++) {
    const own = await rate(run, read, seconds / TURNS);
    const { perSecond } = await rate(bare, bareRead, seconds / TURNS);
    rates.push(own.perSecond);
    bytes.push(own.bytes);
    ratios.push(own.perSecond / perSecond);
  }
  return {
    name: read.name,
    value: median(rates),
    unit: `requests/s of ${Math.round(median(bytes))} bytes`,
    ratio: median(ratios),
    goal: read.goal,
    atMost: false,
  };
}

/**
 * What no response can exceed that runs the same statements: these alone, from a bare pg client. Nothing if there are
 * none.
 */
async function statementsAlone(
  { town, url, seconds }: Run,
  forum: Child,
  read: ColdRead,
  { value = 0, ratio = 1 }: Result,
): Promise<readonly Result[]> {
  await forum.ask({ do: 'record' });
  await sample(url, [read], { words: town.population.words, count: 1 });
  const { statements } = await forum.ask<{ readonly statements: readonly Statement[] }>({ do: 'recorded' });
  if (statements.length === 0) return [];
  const perSecond = await repeatOn(town.environment['DATABASE_URL']!, seconds, async (client) => {
    for (const [place, statement] of statements.entries())
      await client.query(repeated(statement, place, statement.values));
  });
  return [
    {
      name: `${read.name}: its statements alone`,
      value: perSecond,
      unit: `times/s, ${statements.length} statements each`,
      ratio: (perSecond * ratio) / value,
      goal: undefined,
      atMost: false,
    },
  ];
}

/** What a request costs with a session that is over, or another site's, as a multiple of a guest's without any. */
async function deadSessions(run: Run, over: Visitor): Promise<readonly Result[]> {
  await fetch(`${run.url}/logout`, { method: 'POST', headers: over, redirect: 'manual' });
  const random = (): string => randomBytes(32).toString('base64url');
  const sessions: Readonly<Record<string, Visitor>> = {
    'a session that is over': { ...AGENT, cookie: over['cookie']! },
    "another site's session": { ...AGENT, cookie: `parley.sid=s%3A${random()}.${random()}` },
  };
  const paths = run.town.population.discussions.map(({ path }) => path);
  const addresses: Readonly<Record<string, readonly string[]>> = {
    'the same discussion': paths.slice(0, 1),
    'cold discussions': paths.map((path) => `${path}?turn={n}`),
  };
  const results: Result[] = [];
  for (const [what, asked] of Object.entries(addresses)) {
    for (const [who, visitor] of Object.entries(sessions)) {
      const read = (by: Visitor): Kind => ({ name: what, weight: 1, visitors: [by], paths: asked });
      await rate(run, read(AGENT), WARM);
      const [rates, costs]: [number[], number[]] = [[], []];
      for (let turn = 0; turn < TURNS; turn++) {
        const guest = await rate(run, read(AGENT), run.seconds / TURNS);
        const own = await rate(run, read(visitor), run.seconds / TURNS);
        rates.push(own.perSecond);
        costs.push(guest.perSecond / own.perSecond);
      }
      results.push({
        name: `${who}, ${what}: cost beside a guest's`,
        value: median(rates),
        unit: 'requests/s',
        ratio: median(costs),
        goal: DEAD_SESSION_GOAL,
        atMost: true,
      });
    }
  }
  return results;
}

/** What a member's page of a discussion of twenty posts weighs. */
async function weight(url: string, member: Visitor): Promise<readonly Result[]> {
  const page = await (await fetch(url, { headers: member })).text();
  let elements = 0;
  new Parser({ onopentag: () => elements++ }).end(page);
  const [response] = (await once(get(url, { headers: { ...member, 'accept-encoding': 'gzip' } }), 'response')) as [
    IncomingMessage,
  ];
  let compressed = 0;
  for await (const part of response as AsyncIterable<Buffer>) compressed += part.length;
  const result = (what: string, value: number, unit: string, goal: number): Result => ({
    name: `a member's page of twenty posts: ${what}`,
    value,
    unit,
    ratio: undefined,
    goal,
    atMost: true,
  });
  return [
    result('uncompressed', Buffer.byteLength(page) / 1_000, 'KB', 45),
    result('by gzip', compressed / 1_000, 'KB', 12),
    result('elements', elements, 'elements', 1_200),
  ];
}
