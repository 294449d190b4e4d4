import { randomUUID } from 'node:crypto';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { App, AppOptions } from '../../host/app.ts';
import { Cache } from '../../cache.ts';
import { defineCommand, type Console } from '../command.ts';
import { counters } from '../../data/counters.ts';
import { sql } from '../../data/database.ts';
import type { Environment } from '../../environment.ts';
import { chainOf, ConfigurationError, didYouMean, messageOf } from '../../errors.ts';
import { RUN } from '../../host/site.ts';
import { Type } from '../../schema.ts';
import type { SettingInfo } from '../../settings.ts';
import { Program } from '../program.ts';

/** One line of the report. A `note` is worth knowing but not a problem. */
interface Finding {
  readonly state: 'good' | 'bad' | 'note';
  readonly text: string;
}
const SIGNS = { good: '✓', bad: '✗', note: '·' } as const;

const good = (text: string): Finding => ({ state: 'good', text });
const bad = (text: string): Finding => ({ state: 'bad', text });
const note = (text: string): Finding => ({ state: 'note', text });
const print = (console: Pick<Console, 'print'>, findings: readonly Finding[]): void =>
  findings.forEach(({ state, text }) => console.print(`${SIGNS[state]} ${text}`));

/**
 * Jobs overdue by more than this, in milliseconds, count as a backlog: a running server picks up a job within a second.
 */
const LATE = 60_000;

/** How many stored counts of each counter are compared with what they count. */
const SAMPLE = 50;

/** Checks everything that may be wrong and suggests remedies. Exit code 1 if there is a problem. */
export const doctor = defineCommand({
  name: 'doctor',
  summary: 'Checks environment, database, Redis, data directory, plugins, settings and jobs.',
  options: Type.Object({}),
  needs: { app: Program },
  async run({ app }, _options, console) {
    const asked = await Promise.all([
      folder(app.environment),
      database(app),
      redis(app),
      jobs(app),
      numbers(app),
      settings(app),
    ]);
    const findings = [...environment(app.environment), ...asked.flat(), ...plugins(app)];
    print(console, findings);
    const problems = findings.filter(({ state }) => state === 'bad').length;
    if (problems > 0) throw new ConfigurationError(problems === 1 ? '1 problem found.' : `${problems} problems found.`);
    console.print('No problem found.');
  },
});

/** Prints the findings that are still available when the program could not be opened at all. */
export function unopened(options: AppOptions, error: unknown, console: Pick<Console, 'print'>): void {
  print(console, [...environment(options.environment), bad(`could not be opened: ${chainOf(error)}`)]);
}

function environment({ baseUrl, dataDir, secretKey, production, safeMode, version }: Environment): Finding[] {
  return [
    good(`Parley ${version} on Node ${process.versions.node}, data in ${dataDir}`),
    ...(safeMode ? [note('SAFE_MODE=1: only the required plugins run')] : []),
    production && !baseUrl.startsWith('https://')
      ? note(`BASE_URL is ${baseUrl}; sessions are safer over https`)
      : good(`the site’s address is ${baseUrl}`),
    good(
      secretKey === undefined
        ? 'the root secret is kept in the data directory; include it in backups'
        : 'the root secret comes from SECRET_KEY',
    ),
  ];
}

async function folder({ dataDir }: Environment): Promise<Finding[]> {
  const file = join(dataDir, `.doctor-${randomUUID()}`);
  try {
    await writeFile(file, '');
    await rm(file);
    const { mode } = await stat(dataDir);
    const open =
      (mode & 0o077) === 0
        ? []
        : [
            note(
              `other users of this machine can look into the data directory; unless one of them is to serve its folder public: chmod 700 ${dataDir}`,
            ),
          ];
    return [good('the data directory can be written'), ...open];
  } catch (error) {
    return [
      bad(`the data directory cannot be written (${messageOf(error)}); give it to the user that runs the server`),
    ];
  }
}

async function database({ data, kernel }: App): Promise<Finding[]> {
  const server = await data.one(sql<{ version: string }>`select current_setting('server_version') as version`);
  const rows = await data.all(sql<{ plugin: string; name: string }>`select plugin, name from migration`);
  const applied = new Set(rows.map(({ plugin, name }) => `${plugin} ${name}`));
  const pending = kernel
    .active()
    .flatMap((id) =>
      (kernel.graph.get(id).migrations ?? [])
        .filter(({ name }) => !applied.has(`${id} ${name}`))
        .map(({ name }) => `${id}: ${name}`),
    );
  return [
    good(`PostgreSQL ${server?.version} answers${data.embedded ? ' (embedded)' : ''}`),
    pending.length === 0
      ? good('every migration has run')
      : bad(`migrations wait: ${pending.join(', ')}; run: ${RUN} migrate`),
  ];
}

async function redis({ kernel }: App): Promise<Finding[]> {
  const client = kernel.service(Cache)?.redis;
  if (!client) return [note('no Redis: one process only')];
  return client.ping().then(
    () => [good('Redis answers')],
    (error: unknown) => [bad(`Redis does not answer: ${messageOf(error)}`)],
  );
}

function plugins({ plugins: control, supervisor }: App): Finding[] {
  const all = control.list();
  const troubled = all.filter(({ problem }) => problem !== undefined);
  const off = all.filter(({ wanted }) => !wanted).map(({ id }) => id);
  return [
    good(`${all.filter(({ state }) => state === 'active').length} of ${all.length} plugins run`),
    ...(off.length > 0 ? [note(`switched off: ${off.join(', ')}`)] : []),
    ...troubled.map(({ id, problem, state }) =>
      state === 'failed' ? bad(`plugin "${id}" failed: ${problem}`) : bad(`plugin "${id}" ${problem}`),
    ),
    ...supervisor
      .report()
      .filter(({ quarantined }) => quarantined)
      .map(({ plugin, task, lastError }) => bad(`"${task}" of plugin "${plugin}" is set aside: ${lastError}`)),
    ...supervisor
      .report()
      .filter(({ refusing }) => refusing)
      .map(({ plugin, task, lastError }) =>
        bad(
          `"${task}" of plugin "${plugin}" refuses everything: ${lastError}; mend it, or run: ${RUN} plugin disable ${plugin}`,
        ),
      ),
    ...all.flatMap(({ id, blocks }) =>
      blocks
        ? [
            note(
              `plugin "${id}" kept the whole server waiting ${blocks.count}×, ${blocks.longest} ms at the longest, the last time in ${blocks.task}`,
            ),
          ]
        : [],
    ),
  ];
}

/** Checks only the newest counts of each counter, which is cheap. */
async function numbers({ extensions }: App): Promise<Finding[]> {
  const wrong: string[] = [];
  for (const { value: counter } of extensions.read(counters)) {
    const lines = await counter.check(await counter.keys({ limit: SAMPLE, descending: true }));
    if (lines.length > 0) wrong.push(`${counter.name} (${lines[0]})`);
  }
  return [
    wrong.length === 0
      ? good('kept numbers are what they count, as far as a sample tells')
      : bad(`kept numbers differ from what they count: ${wrong.join('; ')}; run: ${RUN} recount`),
  ];
}

/** A secret has no value to compare; that one is set is worth reporting. */
const differs = ({ schema, value, default: fallback }: SettingInfo): boolean =>
  (schema as { 'x-group'?: string })['x-group'] !== 'hidden' &&
  (value === undefined || JSON.stringify(value) !== JSON.stringify(fallback));

/**
 * Keys in config/forum.ts that have no effect; the keys of a failed plugin are not listed, as they apply again once it
 * runs.
 */
function strangeSettings({ settings: store, plugins: control }: App): Finding[] {
  const failed = new Set(control.list().flatMap(({ id, state }) => (state === 'failed' ? [id] : [])));
  const known = store.list().map(({ key }) => key);
  return store
    .unknown()
    .filter((key) => !failed.has(key.split('.')[0]!))
    .map((key) =>
      note(
        `config/forum.ts sets ${key}, which is a setting of no plugin here; ${didYouMean(key, known, 'take it out, or add its plugin')}`,
      ),
    );
}

async function settings(app: App): Promise<Finding[]> {
  const {
    settings: store,
    environment: { given },
  } = app;
  const moved = store.moved().filter(({ variable }) => !given.has(variable));
  const wrong = await store.problems();
  const own = store
    .list()
    .filter((setting) => setting.stored && differs(setting))
    .map(({ key }) => key)
    .sort();
  return [
    ...moved.map(({ key, variable }) =>
      bad(`the stored setting ${key} is not read any more; set ${variable} in the environment in its place`),
    ),
    ...store.deprecated().map(({ key, instead }) => note(`the setting ${key} is about to leave: ${instead}`)),
    ...strangeSettings(app),
    ...wrong.map(({ field, message }) => bad(`the setting ${field} cannot be used: ${message}`)),
    own.length === 0
      ? good('every setting is as config/forum.ts has it')
      : note(`the database decides, not config/forum.ts: ${own.join(', ')}`),
  ];
}

async function jobs({ jobs: queue }: App): Promise<Finding[]> {
  const reports = await queue.report();
  const waiting = reports.reduce((sum, report) => sum + report.waiting, 0);
  const late = reports.filter(({ oldest }) => oldest !== null && oldest.getTime() < Date.now() - LATE);
  return [
    ...reports
      .filter(({ failed }) => failed > 0)
      .map(({ listener, failed, error }) => bad(`${failed} of "${listener}" failed for good, last: ${error}`)),
    ...late.map(({ listener, waiting: count, oldest }) =>
      bad(`${count} of "${listener}" wait since ${oldest!.toISOString()}; start the server, or look at its log`),
    ),
    ...(late.length === 0 ? [good(`${waiting} ${waiting === 1 ? 'job waits' : 'jobs wait'}, none is late`)] : []),
  ];
}
