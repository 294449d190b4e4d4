import { createApp, type App } from '../../core/host/app.ts';
import { counters, differences } from '../../core/data/counters.ts';
import { sql } from '../../core/data/database.ts';
import type { Clock, Environment } from '../../core/environment.ts';
import { readConfiguration, SITE, type SiteConfiguration } from '../../core/host/site.ts';
import type { Logger } from '../../core/logger.ts';
import type { Plugin } from '../../core/plugins/definition.ts';
import { keepAssets, lendAssets } from './assets.ts';
import { createClient, type Client } from './client.ts';
import { makeTestPlace, onServer } from './database.ts';
import { migrated } from './migrated.ts';
import { countStatements } from './statements.ts';

export { createClient, type Answer, type Client } from './client.ts';
export { leastOf } from './statements.ts';

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly [field: string]: unknown;
}

/** A clock that stands still until a test advances it. */
export interface TestClock extends Clock {
  advance(milliseconds: number): void;
}

export interface TestForum extends AsyncDisposable {
  /** The process under test: `service(Token)` returns any service, and `plugins` switches plugins on and off. */
  readonly app: App;
  /** `http://127.0.0.1:port` */
  readonly url: string;
  /** Stands still until a test calls `advance`. */
  readonly clock: TestClock;
  /** All log lines, in order. */
  readonly lines: readonly LogLine[];
  /** Creates a visitor with their own cookies. */
  client(headers?: Readonly<Record<string, string>>): Client;
  /** How many SQL statements `work` and its requests ran. Starts once earlier background work has finished. */
  statements(work: () => Promise<unknown>): Promise<number>;
  /** Like `statements`, but including all statements run in the background meanwhile. */
  allStatements(work: () => Promise<unknown>): Promise<number>;
  /** Resolves when the background work caused so far has finished. */
  calm(): Promise<void>;
  /**
   * Runs a job with a `cron` expression immediately, as at its scheduled time, and resolves when it has finished; the
   * job `tidy` of the plugin `boats` is `boats/job:tidy`. Throws if it has not finished within 20 seconds.
   */
  runSchedule(job: string): Promise<void>;
}

export interface TestForumOptions {
  /** Replaces the configured plugins: for tests of the kernel. */
  readonly plugins?: readonly Plugin[];
  /** Added to the configured plugins: plugins, or folders of packages. */
  readonly also?: readonly (string | Plugin)[];
  /** Ids of required plugins. */
  readonly required?: readonly string[];
  /** Settings that override the lenient ones for tests, by full key. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Overrides values of the environment. */
  readonly environment?: Partial<Environment>;
  /** Use real time instead of a clock that stands still. */
  readonly realClock?: boolean;
  /**
   * An API response that differs from the description of its route does not fail the test file: for tests of exactly
   * that.
   */
  readonly differing?: boolean;
}

/** All stored counts that differ from what they count, one line each. */
export async function miscounted({ app }: Pick<TestForum, 'app'>): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { value: counter } of app.extensions.read(counters)) {
    for await (const { lines } of differences(counter)) found.push(...lines.map((line) => `${counter.name}: ${line}`));
  }
  return found;
}

const configuration = await readConfiguration(SITE);

/**
 * Lenient limits, so that a test meets only the limits it is about. The lowest bcrypt cost keeps tests fast, and no
 * files are written in the background.
 */
const TEST_SETTINGS = {
  'site.name': 'Test forum',
  'email.mx_validation': false,
  'api.rate_limit_user': 100_000,
  'api.rate_limit_ip': 100_000,
  'posts.rate_limit': 100_000,
  'discussions.rate_limit': 100_000,
  'messages.rate_limit': 100_000,
  'messages.conversation_rate_limit': 100_000,
  'login.attempt_rate_limit': 100_000,
  'registration.rate_limit': 100_000,
  'pages.part_deadline': 5_000,
  'pages.rate_limit': 100_000,
  'markdown.rate_limit': 100_000,
  'sitemap.files': false,
};

/**
 * Starts the configured plugins (or `plugins`) on a fresh database, listening on a free port. Must be disposed: `await
 * using`.
 */
export async function startForum(options: TestForumOptions = {}): Promise<TestForum> {
  // A plugin with a folder was loaded from disk, so it has tables and browser files.
  const real = options.plugins?.some(({ folder }) => folder !== undefined) ?? true;
  const place = await makeTestPlace(real ? migrated() : undefined);
  if (real) await lendAssets(place.folder);
  const lines: LogLine[] = [];
  const clock = options.realClock ? realClock() : stoppedClock();
  const environment: Environment = {
    host: '127.0.0.1',
    port: 0,
    baseUrl: 'http://forum.test',
    siteDir: SITE,
    dataDir: place.folder,
    databaseUrl: place.url,
    redisUrl: onServer ? process.env['TEST_REDIS_URL'] : undefined,
    secretKey: 'x'.repeat(32),
    smtpUrl: undefined,
    mailFrom: undefined,
    trustedProxies: [],
    allowedHosts: [],
    previewHosts: [],
    identityProviderHosts: [],
    pushHosts: [],
    allowedPorts: [80, 443],
    given: new Set(),
    safeMode: false,
    logRequests: false,
    serverTiming: false,
    quickHashes: 8,
    production: false,
    development: false,
    drainSeconds: 0,
    requestSeconds: 30,
    maxConnections: 5_000,
    version: '0.0.0-test',
    ...options.environment,
  };
  const used: SiteConfiguration = {
    plugins: [...configuration.plugins, ...(options.also ?? [])],
    required: options.required ?? (options.plugins ? [] : configuration.required),
    settings: options.plugins
      ? { ...options.settings }
      : { ...configuration.settings, ...TEST_SETTINGS, ...options.settings },
  };
  const app = await createApp({
    site: SITE,
    environment,
    configuration: used,
    log: keepLines(lines),
    clock,
    ...(options.plugins && { plugins: options.plugins }),
  }).catch(async (error: unknown) => {
    await place.remove();
    throw error;
  });
  const url = `http://127.0.0.1:${await app.listen()}`;
  return {
    app,
    url,
    clock,
    lines,
    client: (headers) => createClient(url, { ...(headers && { headers }), failed: () => explainFailure(lines) }),
    calm: () => calm(app),
    runSchedule: (job) => runSchedule(app, job),
    statements: (work) => calm(app).then(() => countStatements(work)),
    async allStatements(work) {
      await calm(app);
      const before = app.data.statements;
      await work();
      return app.data.statements - before;
    },
    async [Symbol.asyncDispose]() {
      await app.close();
      if (real) await keepAssets(place.folder);
      await place.remove();
      if (!options.differing) expectDescribed(lines);
    },
  };
}

/** Fails the test file if an API response did not match the API's own description. */
function expectDescribed(lines: readonly LogLine[]): void {
  const found = lines.filter(({ message }) => message === 'a response differs from the description of its route');
  const differences = new Set(
    found.map(({ method, path, problems }) => `${String(method)} ${String(path)}: ${JSON.stringify(problems)}`),
  );
  if (differences.size > 0)
    throw new Error(`answers of the API differ from its description:\n${[...differences].join('\n')}`);
}

/** If a test fails after a server error, prints the errors that the server logged. */
async function explainFailure(lines: readonly LogLine[]): Promise<void> {
  if (process.env['VITEST'] === undefined) return;
  const { onTestFailed } = await import('vitest');
  const errors = lines.filter(({ level }) => level === 'error');
  try {
    onTestFailed(() => errors.forEach(({ message, error, ...rest }) => console.error(message, rest, error)));
  } catch {
    // The request does not belong to a single test.
  }
}

function keepLines(lines: LogLine[], fields: object = {}): Logger {
  const at = (level: LogLine['level']) => (more: object, message: string) =>
    void lines.push({ ...fields, ...more, level, message });
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (more) => keepLines(lines, { ...fields, ...more }),
  };
}

function stoppedClock(): TestClock {
  let now = Date.parse('2026-01-15T12:00:00Z');
  return { now: () => now, advance: (milliseconds) => void (now += milliseconds) };
}

function realClock(): TestClock {
  let ahead = 0;
  return { now: () => Date.now() + ahead, advance: (milliseconds) => void (ahead += milliseconds) };
}

/** Timeout of a scheduled job, and the interval at which its end is polled, in milliseconds. */
const [SCHEDULE_TIMEOUT, LOOK] = [20_000, 10];

async function runSchedule({ data, jobs }: App, job: string): Promise<void> {
  const due = await data.all(
    sql`update job set run_at = now() where listener = ${job} and cron is not null and owner is null returning id`,
  );
  if (due.length === 0) throw new Error(`"${job}" is no job with a cron expression, or it runs just now`);
  await jobs.retry(job);
  const deadline = Date.now() + SCHEDULE_TIMEOUT;
  const begunOrDue = sql`select 1 from job where listener = ${job} and cron is not null and (owner is not null or run_at <= now())`;
  while (await data.one(begunOrDue)) {
    if (Date.now() > deadline) throw new Error(`"${job}" has not ended after ${SCHEDULE_TIMEOUT / 1_000} s`);
    await new Promise((resolve) => setTimeout(resolve, LOOK));
  }
}

/**
 * Milliseconds without a statement after which background work counts as finished unless jobs are left, and the longest
 * time to wait for that.
 */
const [CALM, TIMEOUT] = [40, 3_000];
/** On a busy machine, more time than that may pass between two statements of a job. */
const DUE = sql`select 1 from job where failed_at is null and (owner is not null or run_at <= now()) limit 1`;

async function calm({ data }: App): Promise<void> {
  const deadline = Date.now() + TIMEOUT;
  let seen: number;
  do {
    seen = data.statements;
    await new Promise((resolve) => setTimeout(resolve, CALM));
  } while ((data.statements !== seen || (await data.one(DUE)) !== undefined) && Date.now() < deadline);
}
