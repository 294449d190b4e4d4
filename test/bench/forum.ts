import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createApp } from '../../core/host/app.ts';
import { readOptions } from '../../core/host/serve.ts';
import { createLogger } from '../../core/host/logger.ts';
import { Accounts } from 'parley-forum/plugins/accounts';
import { discussionCacheTags } from 'parley-forum/plugins/discussions';
import { endWithParent } from './child.ts';
import { populate } from './crowd/population.ts';
import type { Visitor } from './crowd/requests.ts';
import { MEMBER, prepare } from './data.ts';
import { feedCosts } from './feeds.ts';
import { kernelCosts } from './kernel.ts';
import bench from './plugin.ts';
import { searchCosts } from './search.ts';
import { freePort } from './start.ts';

/**
 * The forum under measurement, in a process of its own: the real application with limits raised, not removed. Messages:
 * `{ do: 'prepare', … }` and `{ do: 'populate' }` fill the database, `{ do: 'record' }` and `{ do: 'recorded' }` bracket one request whose
 * statements the write baseline replays, `{ do: 'search' }`, `{ do: 'feeds' }` and `{ do: 'kernel', … }` measure searches, feeds and the
 * kernel, `{ do: 'member' }` tells who may log in, `{ do:
 * 'calm' }` waits until nothing is left of the work that was stored for later, `{ do: 'watch' }` and `{ do: 'watched'
 * }` bracket one request whose longest hold of the event loop is told.
 */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
  /** The first row it returned: later statements may carry values out of it. */
  readonly row: Readonly<Record<string, unknown>> | undefined;
  /** The database's number of the connection it ran on. */
  readonly connection: number;
}

const RAISED = 1_000_000_000;
const LIMITS = [
  'api.rate_limit_user',
  'api.rate_limit_ip',
  'posts.rate_limit',
  'discussions.rate_limit',
  'login.rate_limit',
  'login.attempt_rate_limit',
  'markdown.rate_limit',
  'search.rate_limit',
  'presence.rate_limit',
  'live.streams',
  'pages.rate_limit',
  'uploads.rate_limit',
  'security.report_rate_limit',
  'registration.rate_limit',
];

let recording: Statement[] | undefined;

/** Sees every statement that goes through pg, the ORM's too. */
function watchStatements(): void {
  const query = pg.Client.prototype.query as (...all: unknown[]) => unknown;
  pg.Client.prototype.query = function watched(
    this: { readonly processID: number },
    first: unknown,
    ...rest: unknown[]
  ) {
    const answer = query.call(this, first, ...rest);
    if (!recording) return answer;
    const { text = String(first), values = (rest[0] ?? []) as unknown[] } = (
      typeof first === 'object' ? first : {}
    ) as { text?: string; values?: unknown[] };
    const at =
      recording.push({
        text,
        values: Array.isArray(values) ? values : [],
        row: undefined,
        connection: this.processID,
      }) - 1;
    const kept = recording;
    if (answer instanceof Promise)
      void answer.then(
        (result: { rows?: Record<string, unknown>[] }) => (kept[at] = { ...kept[at]!, row: result.rows?.[0] }),
        () => undefined,
      );
    return answer;
  } as typeof pg.Client.prototype.query;
}

watchStatements();
const dataDir = process.env['DATA_DIR'] ?? (await mkdtemp(join(tmpdir(), 'parley-bench-')));
const options = await readOptions({ ...process.env, DATA_DIR: dataDir, PORT: String(await freePort()) });
const app = await createApp({
  ...options,
  log: createLogger({ level: 'warn', format: 'json' }),
  configuration: {
    ...options.configuration,
    plugins: [...options.configuration.plugins, bench],
    settings: {
      ...options.configuration.settings,
      ...Object.fromEntries(LIMITS.map((key) => [key, RAISED])),
      'security.bcrypt_cost': 10,
    },
  },
});
/** Looks every millisecond whether it is its turn. */
const delays = monitorEventLoopDelay({ resolution: 1 });
/** Milliseconds of the longest stretch in which nothing else had its turn. */
async function held(): Promise<number> {
  await sleep(5);
  delays.disable();
  return delays.max / 1e6;
}

/** What a load before has left for later is no part of what comes next. */
async function calm(): Promise<true> {
  const busy = async (): Promise<boolean> =>
    (await app.jobs.report()).some(
      ({ listener, waiting, running }) => !listener.includes('/job:') && waiting + running > 0,
    );
  while (await busy()) await sleep(100);
  return true;
}

const port = await app.listen();
endWithParent(() => app.close());
/** What each message asks for, by its `do`; the answer is sent back. */
const COMMANDS: Readonly<Record<string, (message: never) => unknown>> = {
  prepare: (message) => prepare(app, message),
  populate: () => populate(app),
  search: () => searchCosts(app),
  feeds: () => feedCosts(app, port),
  member: () => app.service(Accounts).findByIdentifier(MEMBER.username),
  kernel: ({ visitor }: { visitor: Visitor }) => kernelCosts(app, visitor),
  calm: async () => ({ calm: await calm() }),
  watch: () => {
    delays.enable();
    delays.reset();
    return { watching: true };
  },
  watched: async () => ({ held: await held() }),
  record: () => ({ recording: (recording = []) }),
  recorded: () => {
    const statements = recording;
    recording = undefined;
    return { statements };
  },
  forget: async () => ({
    forgotten: await app.cache.purge(
      discussionCacheTags.lists,
      discussionCacheTags.all,
      discussionCacheTags.categories,
    ),
  }),
};
process.on('message', (message: { do: string }) => {
  void (async () => {
    const command = COMMANDS[message.do];
    if (command) process.send?.(await command(message as never));
  })();
});
process.send?.({ port });
