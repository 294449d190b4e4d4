import { mkdirSync } from 'node:fs';
import type { Server } from 'node:http';
import { sep } from 'node:path';
import { Cache } from '../cache.ts';
import type { Database } from '../data/database.ts';
import { ConfigurationError } from '../errors.ts';
import type { Clock, Environment } from '../environment.ts';
import { Extensions } from '../extensions.ts';
import { HookBus } from '../hooks.ts';
import { JobQueue } from '../jobs/queue.ts';
import { Kernel } from '../plugins/kernel.ts';
import type { Logger } from '../logger.ts';
import type { Plugin } from '../plugins/definition.ts';
import { PluginControl } from '../plugins/desired-state.ts';
import type { Token } from '../ref.ts';
import { CallRecorder } from '../http/call-recorder.ts';
import { RequestQueue } from '../http/request-queue.ts';
import { RouteRegistry, type RequestHandler } from '../http/routes.ts';
import { SettingsStore } from '../settings.ts';
import { Supervisor } from '../plugins/supervisor.ts';
import { createExpressApp, type Check } from './express-app.ts';
import { compose } from './composition.ts';
import { openDatabase } from './databases/open.ts';
import { PluginInstaller } from './plugin-installer.ts';
import { logRequests } from '../http/request-log.ts';
import { closeServer, drainServer, listen, type Around } from './server.ts';
import { KERNEL_MIGRATIONS, loadMigrations, loadPlugins } from './loader.ts';
import { PROGRAM, type SiteConfiguration } from './site.ts';

export interface AppOptions {
  /** The site's folder, containing its own plugins/ and themes/ and its npm packages. */
  readonly site: string;
  readonly environment: Environment;
  readonly configuration: SiteConfiguration;
  readonly log: Logger;
  /** Settings for this process only; they override stored values. */
  readonly overrides?: Readonly<Record<string, unknown>> | undefined;
  readonly clock?: Clock;
  /** Used instead of the plugins in `configuration.plugins`. */
  readonly plugins?: readonly Plugin[];
  /** Wraps the handling of each request. */
  readonly around?: Around | undefined;
  /** Called before the first plugin starts. */
  readonly starting?: ((core: Pick<App, 'kernel' | 'log' | 'plugins' | 'supervisor'>) => void) | undefined;
}

/** The whole program in one process, with all resources open and plugins started, but not yet listening. */
export interface App {
  readonly environment: Environment;
  readonly configuration: SiteConfiguration;
  readonly log: Logger;
  readonly data: Database;
  /** Available while its plugin is on. */
  readonly cache: Cache;
  readonly settings: SettingsStore;
  readonly kernel: Kernel;
  readonly plugins: PluginControl;
  /** Installs and removes plugins while the program runs. */
  readonly installer: PluginInstaller;
  readonly jobs: JobQueue;
  readonly routes: RouteRegistry;
  readonly hooks: HookBus;
  readonly extensions: Extensions;
  readonly supervisor: Supervisor;
  /** Recordings of each route's last calls, if responses carry `Server-Timing`. */
  readonly calls: CallRecorder | undefined;
  /** Whether it is listening on a port. */
  readonly serving: boolean;
  /** A service of the kernel or of a running plugin. Throws an error naming the token if nothing provides it. */
  service<T>(token: Token<T>): T;
  /**
   * Opens the port, or takes over a server that has it open; resolves to the port in use. `gate` handles requests
   * before the surfaces do.
   */
  listen(options?: { readonly gate?: RequestHandler | undefined; readonly open?: Server | undefined }): Promise<number>;
  /**
   * Hands over the listening server, with all requests that arrive from then on: `close` then leaves it open, and lets
   * earlier requests finish. Undefined if the app is not listening.
   */
  release(): Server | undefined;
  /**
   * Drains for as long as the environment configures, refuses new connections, lets requests finish, puts jobs back and
   * closes the database. Safe to call twice.
   */
  close(): Promise<void>;
}

export async function createApp({
  site,
  environment,
  configuration,
  log,
  overrides,
  clock = { now: Date.now },
  plugins,
  around = (_req, _res, answer) => answer(),
  starting,
}: AppOptions): Promise<App> {
  await using undo = new AsyncDisposableStack();
  const loading = plugins ?? loadPlugins(site, configuration.plugins, log);
  // Not readable by other users: the folder holds the root secret, uploads and mails.
  mkdirSync(environment.dataDir, { recursive: true, mode: 0o700 });
  const data = await openDatabase({
    ...(environment.databaseUrl && { url: environment.databaseUrl }),
    folder: environment.dataDir,
    log,
  });
  undo.defer(() => data.close());
  if (environment.databaseUrl && !environment.redisUrl && !(await data.claimAlone())) {
    throw new ConfigurationError(
      'Another process is already serving this database. Stop it, or set REDIS_URL for all of them so that they can coordinate.',
    );
  }
  await data.migrate('kernel', await loadMigrations(KERNEL_MIGRATIONS));

  const closing = new AbortController();
  const parts = compose({ site, environment, configuration, overrides, log, clock, data, closing: closing.signal });
  const kernel = parts.get(Kernel);
  const settings = parts.get(SettingsStore);
  const supervisor = parts.get(Supervisor);
  undo.defer(() => supervisor.close());
  const calls = environment.serverTiming ? parts.get(CallRecorder) : undefined;
  undo.defer(() => calls?.close());
  const found = await loading;
  for (const plugin of environment.safeMode ? programFirst(found) : found) kernel.install(plugin);
  const control = parts.get(PluginControl);
  starting?.({ kernel, log, plugins: control, supervisor });
  await settings.load();
  undo.defer(() => kernel.close());
  await control.reconcile();
  nameOldSettings(settings, environment, log);
  const off = control.list().flatMap(({ id, wanted, state }) => (wanted && state !== 'active' ? id : []));
  if (off.length > 0 && !environment.safeMode) log.warn({ plugins: off }, `these plugins stay off: ${off.join(', ')}`);
  nameMissing(control, log);
  const fault = control
    .list()
    .filter(({ required }) => required)
    .map(({ id }) => kernel.failure(id))
    .find((failure) => failure instanceof ConfigurationError);
  if (fault) throw fault;

  const jobs = parts.get(JobQueue);
  const routes = parts.get(RouteRegistry);
  const service = <T>(token: Token<T>): T => kernel.demand(token);
  const queue = new RequestQueue();
  let server: Server | undefined;
  let draining = false;
  const checks = healthChecks(environment, data, kernel);
  const resources = undo.move();
  let closed: Promise<void> | undefined;
  return {
    environment,
    configuration,
    log,
    data,
    settings,
    kernel,
    plugins: control,
    installer: parts.get(PluginInstaller),
    jobs,
    routes,
    hooks: parts.get(HookBus),
    extensions: parts.get(Extensions),
    supervisor,
    calls,
    service,
    get serving() {
      return server !== undefined;
    },
    get cache() {
      return service(Cache);
    },
    async listen({ gate, open } = {}) {
      await jobs.start();
      supervisor.watch();
      const layers: readonly Around[] = [
        ...(environment.logRequests ? [logRequests(log, routes)] : []),
        ...(calls ? [calls.around] : []),
        around,
      ];
      server = await listen(
        createExpressApp({ routes, log, checks, draining: () => draining, queue, gate }),
        routes,
        environment,
        {
          open,
          around: layers.reduceRight(
            (inner, outer) => (req, res, answer) => outer(req, res, () => inner(req, res, answer)),
          ),
        },
      );
      return (server.address() as { port: number }).port;
    },
    release() {
      const released = server;
      server = undefined;
      return released;
    },
    close: () =>
      (closed ??= (async () => {
        draining = true;
        if (server) await drainServer(server, environment.drainSeconds * 1_000);
        closing.abort();
        await (server ? closeServer(server) : queue.drain());
        await jobs.stop();
        await resources.disposeAsync();
      })()),
  };
}

/** Logs ids that the configuration requires in vain. */
function nameMissing({ missing }: PluginControl, log: Logger): void {
  for (const id of missing)
    log.warn({ plugin: id }, `config/forum.ts requires "${id}", which is not installed; correct the id, or remove it`);
}

/** Logs this site's settings that are no longer read or are deprecated. */
function nameOldSettings(settings: SettingsStore, { given }: Environment, log: Logger): void {
  for (const { key, variable } of settings.moved().filter((one) => !given.has(one.variable)))
    log.warn(
      { setting: key, variable },
      `the stored setting ${key} is no longer read: set ${variable} in the environment instead`,
    );
  for (const { key, instead } of settings.deprecated())
    log.warn({ setting: key, instead }, `the setting ${key} is deprecated: ${instead}`);
}

/** The readiness checks. */
const healthChecks = ({ redisUrl }: Environment, data: Database, kernel: Kernel): Readonly<Record<string, Check>> => ({
  database: { needed: true, ask: async () => ((await data.readOnly()) ? 'read-only' : 'ok') },
  // docs/reliability.md describes what does not work without Redis; guests and callers with a token are still served.
  ...(redisUrl && {
    redis: {
      needed: false,
      ask: async () =>
        kernel
          .service(Cache)!
          .redis!.ping()
          .then(() => 'ok'),
    },
  }),
});

/**
 * If two plugins provide the same service, the first one wins: in safe mode, the services that the admin panel needs
 * come from the program.
 */
const programFirst = (plugins: readonly Plugin[]): readonly Plugin[] =>
  plugins.toSorted((a, b) => Number(isOfSite(a)) - Number(isOfSite(b)));
const isOfSite = ({ folder }: Plugin): boolean => folder === undefined || !folder.startsWith(PROGRAM + sep);
