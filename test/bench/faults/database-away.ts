import { setTimeout as sleep } from 'node:timers/promises';
import { openProxy, type RedisProxy } from '../../plugins/cache/redis-proxy.ts';
import { startReceiver } from '../../plugins/webhooks/receiver.ts';
import { Findings, within } from './findings.ts';
import { Forum } from './forum.ts';
import { Journal } from './journal.ts';
import { JSON_ONLY, prepare, type Prepared } from './prepared.ts';
import type { Ground, Scenario } from './scenario.ts';
import { canStartPostgres, startPostgres, type OwnServer } from './servers.ts';

const WRITERS = 4;
/** Seconds within which writing goes on once PostgreSQL answers again. */
const BACK = 10;

/** How it goes away, and what may be expected meanwhile. */
interface Manner {
  readonly id: string;
  readonly name: string;
  /** Seconds within which everything is answered while it is away. */
  readonly limit: number;
  /** A forum whose PostgreSQL can go away in this manner. */
  open(ground: Ground): Promise<Breakable>;
}

const gone = (manner: Manner): Scenario => ({
  ...manner,
  leftOut: ({ database }) => (database === 'embedded' ? 'it runs inside the process' : undefined),
  async run(ground) {
    const rounds = ground.long ? 5 : 1;
    const found = new Findings();
    await using away = await manner.open(ground);
    await using receiver = await startReceiver();
    await using forum = await Forum.open(away.prepared);
    const admin = await forum.member();
    const { status, text } = await admin.post(
      '/admin/webhooks/save',
      { name: 'Witness', url: receiver.url, events: ['post.created'] },
      JSON_ONLY,
    );
    if (status !== 201) throw new Error(text);
    const journal = new Journal(forum, ground);
    const over = new AbortController();
    const writing = journal.write(WRITERS, over.signal);
    let [slowest, latest] = [0, 0];
    for (let round = 0; round < rounds; round++) {
      const before = journal.answered.size;
      await within(30, async () => journal.answered.size > before + 10);
      await away.server.stop();
      latest = Math.max(latest, await whileAway(forum.guest(), found));
      await sleep(ground.long ? 8_000 : 500);
      await away.server.start();
      const answered = journal.answered.size;
      const took = await within(
        BACK,
        async () => journal.answered.size > answered && (await forum.guest().get('/readyz')).status === 200,
      );
      found.check(took !== undefined, `nothing was written ${BACK} s after PostgreSQL was back`);
      slowest = Math.max(slowest, took ?? Infinity);
    }
    over.abort();
    await writing;
    found.check(latest < manner.limit, `an answer without PostgreSQL took ${latest.toFixed(1)} s`);
    const receivedIds = (): ReadonlySet<string> =>
      new Set(receiver.received.map(({ body }) => body.data.post.id as string));
    const undelivered = (): number => [...journal.answered.values()].filter(({ id }) => !receivedIds().has(id)).length;
    found.check(
      (await within(60, async () => undelivered() === 0)) !== undefined,
      `${undelivered()} posts were never sent to the webhook`,
    );
    // By then nothing is left of the writing that would change them.
    await keptPages(forum, away.server, found);
    const refusals = [...journal.refused].map(([what, times]) => `${times} × ${what}`).join(', ');
    const tried =
      `${rounds} times ${away.how} while ${WRITERS} members wrote; ${refusals} and retried, guests answered within ${latest.toFixed(1)} s, cached pages served; ` +
      `writing possible again after ${slowest.toFixed(1)} s, ${journal.answered.size} posts answered, each sent to a webhook`;
    return { tried, lost: [...found.lost, ...(await journal.lost())] };
  },
});

/** PostgreSQL is shut down in the middle of everything, or the way to it is cut, and comes back. */
export const databaseAway = gone({
  id: 'database-away',
  name: 'PostgreSQL gone and back',
  limit: 6,
  open: shutDownOrCutOff,
});
/** PostgreSQL stops answering without closing connections, like a machine that has vanished, and is reachable again. */
export const databaseSilent = gone({ id: 'database-silent', name: 'PostgreSQL silent', limit: 12, open: silenced });

/** Resolves to the seconds that the latest answer took. */
async function whileAway(guest: ReturnType<Forum['guest']>, found: Findings): Promise<number> {
  const begun = performance.now();
  const [health, ready, data, page] = await Promise.all([
    guest.get('/healthz'),
    guest.get('/readyz'),
    guest.get('/api/discussions?sort=oldest&limit=7'),
    guest.get('/d/2', { accept: 'text/html' }),
  ]);
  found.equal(health.status, 200, 'GET /healthz');
  found.equal(ready.status, 503, 'GET /readyz');
  found.equal(
    [data.status, Number(data.headers.get('retry-after')) > 0, data.body?.success],
    [503, true, false],
    'an API call without PostgreSQL',
  );
  found.equal([page.status, Number(page.headers.get('retry-after')) > 0], [503, true], 'a page without PostgreSQL');
  found.check(page.text.startsWith('<!doctype html>'), `what says so is no page: ${page.text.slice(0, 100)}`);
  found.equal(
    /postgres|ECONN|terminat|silent|127\.0\.0\.1/i.exec(page.text)?.[0],
    undefined,
    'what the page says of the inside',
  );
  return (performance.now() - begun) / 1_000;
}

/** What was kept for guests and not changed since needs no database. */
async function keptPages(forum: Forum, server: Breakable['server'], found: Findings): Promise<void> {
  const guest = forum.guest();
  const paths = ['/', '/categories', '/api/categories'];
  const read = async (): Promise<readonly number[]> =>
    Promise.all(paths.map(async (path) => (await guest.get(path)).status));
  await within(10, async () => (await forum.get('/readyz')).success === true);
  await read();
  await read();
  await server.stop();
  found.equal(
    await read(),
    paths.map(() => 200),
    `what was kept of ${paths.join(', ')}, without PostgreSQL`,
  );
  await server.start();
  await within(BACK, async () => (await forum.get('/readyz')).success === true);
}

interface Breakable extends AsyncDisposable {
  readonly prepared: Prepared;
  readonly server: Pick<OwnServer, 'stop' | 'start'>;
  readonly how: string;
}

/** A cluster of its own where that can be, else a way to the given one that is cut. */
async function shutDownOrCutOff(ground: Ground): Promise<Breakable> {
  if (!ground.long || !canStartPostgres) return along(ground, 'cut off and connected', (line) => line.cut());
  const server = await startPostgres();
  const prepared = await prepare({ ...(await ground.place()), url: server.url });
  return {
    prepared,
    server,
    how: 'shut down at once and started',
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function silenced(ground: Ground): Promise<Breakable> {
  return along(ground, 'unreachable without closing a connection, then reachable again,', (line) => line.freeze());
}

/** A way to the given server, which `stop` makes useless. */
async function along(ground: Ground, how: string, stop: (line: RedisProxy) => void): Promise<Breakable> {
  const { place, ...prepared } = await ground.forums.next();
  const line = await openProxy(place.url!);
  const server = { stop: async () => stop(line), start: async () => line.mend() };
  const reached = { ...prepared, place: { ...place, url: line.url } };
  return { prepared: reached, server, how, [Symbol.asyncDispose]: async () => line.close() };
}
