import { randomUUID } from 'node:crypto';
import { rm, stat, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import type { App, AppOptions } from '../../host/app.ts';
import { Cache } from '../../cache.ts';
import { defineCommand, type Console } from '../command.ts';
import { counters } from '../../data/counters.ts';
import { sql } from '../../data/database.ts';
import type { Environment } from '../../environment.ts';
import { chainOf, ConfigurationError, didYouMean, messageOf } from '../../errors.ts';
import { KERNEL_MIGRATIONS, loadMigrations } from '../../host/loader.ts';
import { PROGRAM, RUN } from '../../host/site.ts';
import { fileChecks } from '../../plugins/file-checks.ts';
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
    const findings = [...environment(app.environment), ...asked.flat(), ...plugins(app), ...files(app)];
    print(console, findings);
    const problems = findings.filter(({ state }) => state === 'bad').length;
    if (problems > 0) throw new ConfigurationError(problems === 1 ? '1 problem found.' : `${problems} problems found.`);
    console.print('No problem found.');
  },
});

/** Prints the findings that are still available when the program could not be opened at all. */
export function unopened(options: AppOptions, error: unknown, console: Pick<Console, 'print'>): void {
  print(console, [...environment(options.environment), bad(`the site could not be opened: ${chainOf(error)}`)]);
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
        ? 'the root secret is stored in the data directory; include it in backups'
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
              `other users of this machine can access the data directory; unless one of them has to serve its folder "public", run: chmod 700 ${dataDir}`,
            ),
          ];
    return [good('the data directory is writable'), ...open];
  } catch (error) {
    return [
      bad(`the data directory is not writable (${messageOf(error)}); make the user that runs the server its owner`),
    ];
  }
}

async function database({ data, kernel }: App): Promise<Finding[]> {
  const server = await data.one(sql<{ version: string }>`select current_setting('server_version') as version`);
  const rows = await data.all(sql<{ plugin: string; name: string }>`select plugin, name from migration`);
  const ran = new Set(rows.map(({ plugin, name }) => `${plugin}: ${name}`));
  const own = await loadMigrations(KERNEL_MIGRATIONS);
  const known = new Map([
    ['kernel', own.map(({ name }) => `kernel: ${name}`)],
    ...kernel
      .active()
      .map((id) => [id, (kernel.graph.get(id).migrations ?? []).map(({ name }) => `${id}: ${name}`)] as const),
  ]);
  const pending = [...known.values()].flat().filter((migration) => !ran.has(migration));
  const later = rows
    .map(({ plugin, name }) => ({ plugin, migration: `${plugin}: ${name}` }))
    .filter(({ plugin, migration }) => known.get(plugin)?.includes(migration) === false)
    .map(({ migration }) => migration);
  return [
    good(`PostgreSQL ${server?.version} responds${data.embedded ? ' (embedded)' : ''}`),
    ...(pending.length === 0 && later.length === 0 ? [good('all migrations have run')] : []),
    ...(pending.length === 0 ? [] : [bad(`pending migrations: ${pending.join(', ')}; run: ${RUN} migrate`)]),
    ...(later.length === 0
      ? []
      : [
          bad(
            `migrations of a later version have run: ${later.sort().join(', ')}; install that version again, or restore a backup from before it`,
          ),
        ]),
  ];
}

async function redis({ kernel }: App): Promise<Finding[]> {
  const client = kernel.service(Cache)?.redis;
  if (!client) return [note('no Redis: only one process can run')];
  return client.ping().then(
    () => [good('Redis responds')],
    (error: unknown) => [bad(`Redis does not respond: ${messageOf(error)}`)],
  );
}

/** What is wrong with the files of plugins that do not belong to the program, whose own files its tests check. */
function files({ kernel, extensions }: App): Finding[] {
  const checks = extensions.read(fileChecks);
  return kernel.active().flatMap((id) => {
    const { folder } = kernel.graph.get(id);
    if (folder === undefined || folder.startsWith(PROGRAM + sep)) return [];
    return checks
      .flatMap(({ value: check }) => check({ id, folder }))
      .map((problem) => bad(`plugin "${id}" has a file that cannot be used: ${problem}`));
  });
}

function plugins({ plugins: control, supervisor }: App): Finding[] {
  const all = control.list();
  const troubled = all.filter(({ problem }) => problem !== undefined);
  const off = all.filter(({ wanted }) => !wanted).map(({ id }) => id);
  return [
    good(`${all.filter(({ state }) => state === 'active').length} of ${all.length} plugins are running`),
    ...(off.length > 0 ? [note(`switched off: ${off.join(', ')}`)] : []),
    ...control.missing.map((id) =>
      bad(
        `config/forum.ts requires "${id}", which is not installed; ${didYouMean(
          id,
          all.map((plugin) => plugin.id),
          'remove it, or add its plugin',
        )}`,
      ),
    ),
    ...troubled.map(({ id, problem, state }) =>
      state === 'failed' ? bad(`plugin "${id}" failed: ${problem}`) : bad(`plugin "${id}" ${problem}`),
    ),
    ...supervisor
      .report()
      .filter(({ quarantined }) => quarantined)
      .map(({ plugin, task, lastError }) => bad(`"${task}" of plugin "${plugin}" is quarantined: ${lastError}`)),
    ...supervisor
      .report()
      .filter(({ refusing }) => refusing)
      .map(({ plugin, task, lastError }) =>
        bad(
          `"${task}" of plugin "${plugin}" rejects everything: ${lastError}; fix it, or run: ${RUN} plugin disable ${plugin}`,
        ),
      ),
    ...all.flatMap(({ id, blocks }) =>
      blocks
        ? [
            note(
              `plugin "${id}" blocked the whole server ${blocks.count}×, for up to ${blocks.longest} ms, most recently in ${blocks.task}`,
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
      ? good('stored counts are correct, judging by a sample')
      : bad(`stored counts are wrong: ${wrong.join('; ')}; run: ${RUN} recount`),
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
        `config/forum.ts sets ${key}, which is not a setting of any installed plugin; ${didYouMean(key, known, 'remove it, or add its plugin')}`,
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
      bad(`the stored setting ${key} is no longer read; set ${variable} in the environment instead`),
    ),
    ...store.deprecated().map(({ key, instead }) => note(`the setting ${key} is deprecated: ${instead}`)),
    ...strangeSettings(app),
    ...wrong.map(({ field, message }) => bad(`the setting ${field} is invalid: ${message}`)),
    own.length === 0
      ? good('no setting in the database overrides config/forum.ts')
      : note(`settings in the database override config/forum.ts: ${own.join(', ')}`),
  ];
}

async function jobs({ jobs: queue }: App): Promise<Finding[]> {
  const reports = await queue.report();
  const waiting = reports.reduce((sum, report) => sum + report.waiting, 0);
  const late = reports.filter(({ oldest }) => oldest !== null && oldest.getTime() < Date.now() - LATE);
  return [
    ...reports
      .filter(({ failed }) => failed > 0)
      .map(({ listener, failed, error }) =>
        bad(`${failed} of "${listener}" failed permanently, most recently: ${error}`),
      ),
    ...late.map(({ listener, waiting: count, oldest }) =>
      bad(`${count} of "${listener}" waiting since ${oldest!.toISOString()}; start the server, or check its log`),
    ),
    ...(late.length === 0 ? [good(`${waiting} ${waiting === 1 ? 'job' : 'jobs'} waiting, none overdue`)] : []),
  ];
}
