import { mkdirSync } from 'node:fs';
import type { Server } from 'node:http';
import { Cache } from '../cache.ts';
import { operated } from '../cli/command.ts';
import { Data, type Database } from '../data/database.ts';
import { ConfigurationError } from '../errors.ts';
import { Clock, Environment } from '../environment.ts';
import { Extensions } from '../extensions.ts';
import { createCluster, Cluster } from '../cluster.ts';
import { HookBus, Hooks } from '../hooks.ts';
import { JobQueue, Jobs } from '../jobs/queue.ts';
import { Kernel } from '../plugins/kernel.ts';
import type { Logger } from '../logger.ts';
import type { Plugin } from '../plugins/definition.ts';
import { PluginControl, Plugins } from '../plugins/desired-state.ts';
import { filesChanged, pluginChanged } from '../plugins/actions.ts';
import type { Token } from '../ref.ts';
import { Http } from '../http/http.ts';
import { CallRecorder } from '../http/call-recorder.ts';
import { RouteRegistry, Routes, type RequestHandler } from '../http/routes.ts';
import { Type } from '../schema.ts';
import { Secrets } from '../secrets.ts';
import { Settings, SettingsStore } from '../settings.ts';
import { Supervisor } from '../plugins/supervisor.ts';
import { createExpressApp } from './express-app.ts';
import { openDatabase } from './databases/open.ts';
import { PluginInstaller } from './plugin-installer.ts';
import { closeServer, drainServer, listen, type Around } from './server.ts';
import { KERNEL_MIGRATIONS, loadMigrations, loadPlugins } from './loader.ts';
import type { SiteConfiguration } from './site.ts';

/** The kernel's own settings. */
export const kernelSettings = Type.Object({
  'hooks.deadline': Type.Integer({
    default: 5_000,
    minimum: 100,
    title: 'Deadline of a listener',
    description: 'Milliseconds after which a plugin’s listener is no longer waited for.',
    'x-group': 'plugins',
  }),
  'hooks.failures': Type.Integer({
    default: 5,
    minimum: 1,
    title: 'Failures before quarantine',
    description: 'Failures or slow runs in a row after which a listener is skipped.',
    'x-group': 'plugins',
  }),
  'hooks.setup': Type.Integer({
    default: 30_000,
    minimum: 1_000,
    title: 'Deadline of a start',
    description: 'Milliseconds after which a plugin that does not finish starting is given up.',
    'x-group': 'plugins',
  }),
  'hooks.slow': Type.Integer({
    default: 1_000,
    minimum: 10,
    title: 'Slow listener',
    description: 'Milliseconds above which a run counts as slow.',
    'x-group': 'plugins',
  }),
  'kernel.installed_at': Type.String({
    default: '',
    title: 'Installed at',
    description: 'When this site was installed; empty before.',
    'x-group': 'hidden',
  }),
});

export interface AppOptions {
  /** The site's folder: its own plugins/ and themes/ and what npm installed lie in it. */
  readonly site: string;
  readonly environment: Environment;
  readonly configuration: SiteConfiguration;
  readonly log: Logger;
  readonly clock?: Clock;
  /** In place of what `configuration.plugins` names. */
  readonly plugins?: readonly Plugin[];
  /** Stands around each request. */
  readonly around?: Around | undefined;
  /** Called before the first plugin starts. */
  readonly starting?: ((core: Pick<App, 'kernel' | 'log' | 'plugins' | 'supervisor'>) => void) | undefined;
}

/** The whole program in one process: everything opened, plugins started, not listening yet. */
export interface App {
  readonly environment: Environment;
  readonly configuration: SiteConfiguration;
  readonly log: Logger;
  readonly data: Database;
  /** While its plugin is on. */
  readonly cache: Cache;
  readonly settings: SettingsStore;
  readonly kernel: Kernel;
  readonly plugins: PluginControl;
  /** Plugins that come and go while the program runs. */
  readonly installer: PluginInstaller;
  readonly jobs: JobQueue;
  readonly routes: RouteRegistry;
  readonly hooks: HookBus;
  readonly extensions: Extensions;
  readonly supervisor: Supervisor;
  /** What the last calls of each route did, where answers say what they took. */
  readonly calls: CallRecorder | undefined;
  /** Whether it answers on a port. */
  readonly serving: boolean;
  /** A service of the kernel or of a running plugin. Throws, naming it, when nobody provides it. */
  service<T>(token: Token<T>): T;
  /**
   * Opens the port, or takes over a server that has it open; resolves to the one in use. `gate` stands in front of the
   * surfaces.
   */
  listen(options?: { readonly gate?: RequestHandler | undefined; readonly open?: Server | undefined }): Promise<number>;
  /** Gives the port away, with what comes in on it: `close` then leaves it open. Undefined when there is none. */
  release(): Server | undefined;
  /**
   * Drains for as long as the environment says, refuses new connections, lets requests finish, puts jobs back, closes
   * the data. Safe to call twice.
   */
  close(): Promise<void>;
}

export async function createApp({
  site,
  environment,
  configuration,
  log,
  clock = { now: Date.now },
  plugins,
  around = (_req, _res, answer) => answer(),
  starting,
}: AppOptions): Promise<App> {
  await using undo = new AsyncDisposableStack();
  const loading = plugins ?? loadPlugins(site, configuration.plugins, log);
  // What lies in it is nobody else's: the root secret, uploads, mails.
  mkdirSync(environment.dataDir, { recursive: true, mode: 0o700 });
  const data = await openDatabase({
    ...(environment.databaseUrl && { url: environment.databaseUrl }),
    folder: environment.dataDir,
    log,
  });
  undo.defer(() => data.close());
  if (environment.databaseUrl && !environment.redisUrl && !(await data.claimAlone())) {
    throw new ConfigurationError(
      'Another process serves this database already. Stop it, or set REDIS_URL for all of them so that they can agree.',
    );
  }
  await data.migrate('kernel', await loadMigrations(KERNEL_MIGRATIONS));

  const cluster = createCluster(log);
  const settings = new SettingsStore({
    data,
    secrets: () => service(Secrets),
    cluster,
    configured: configuration.settings,
  });
  settings.define('kernel', kernelSettings);
  const supervisor = new Supervisor(log);
  undo.defer(() => supervisor.close());
  supervisor.load = () => data.underWay;
  const jobs = new JobQueue({ data, supervisor, log, cluster });
  const hooks = new HookBus(supervisor, {
    batch: () => data.batch(),
    store: (action, payload, batch) => jobs.store(action, payload, batch),
  });
  hooks.own('kernel', [pluginChanged, filesChanged, operated]);
  const extensions = new Extensions();
  const routes = new RouteRegistry();
  const closing = new AbortController();
  routes.closing = closing.signal;
  routes.failed = ({ error, req, surface, path }) =>
    log.error(
      { error, request: kernel.service(Http)?.idOf(req), surface, method: req.method, path },
      'a request failed',
    );
  const calls = environment.serverTiming ? new CallRecorder() : undefined;
  undo.defer(() => calls?.close());
  routes.stretch = (route, handle) => {
    const { plugin, method, path } = route;
    const watched = () => supervisor.stretch(plugin, `${method} ${path}`, handle);
    return calls ? calls.handle(route, watched) : watched();
  };

  const services = new Map<Token<any>, unknown>([
    [Data, data],
    [Cluster, cluster],
    [Settings, settings],
    [Routes, routes],
    [Hooks, hooks],
    [Environment, environment],
    [Clock, clock],
    [Jobs, jobs],
    [Plugins, undefined],
  ]);
  const kernel = new Kernel({ log, supervisor, hooks, routes, extensions, settings, jobs, data, services });
  // Before any plugin starts: some read a secret setting then, and that asks for a service.
  const service = <T>(token: Token<T>): T => {
    const found = kernel.service(token);
    if (found === undefined)
      throw new ConfigurationError(`Nothing that runs provides "${token.id}"; is its plugin switched on?`);
    return found;
  };
  for (const plugin of await loading) kernel.install(plugin);
  const control = new PluginControl({
    kernel,
    data,
    jobs,
    settings,
    cluster,
    supervisor,
    log,
    required: configuration.required,
    safeMode: environment.safeMode,
  });
  kernel.provide(Plugins, control);
  const installer = new PluginInstaller({ site, kernel, plugins: control, cluster, log });
  starting?.({ kernel, log, plugins: control, supervisor });

  const live = settings.live(kernelSettings);
  const apply = (): void => {
    supervisor.limits = {
      deadline: live['hooks.deadline'],
      failures: live['hooks.failures'],
      slow: live['hooks.slow'],
      setup: live['hooks.setup'],
    };
  };
  settings.watch('kernel', apply);
  await settings.load();
  apply();
  for (const { key, variable } of settings.moved().filter((one) => !environment.given.has(one.variable))) {
    log.warn(
      { setting: key, variable },
      `the stored setting ${key} is not read any more: set ${variable} in the environment in its place`,
    );
  }
  undo.defer(() => kernel.close());
  await control.reconcile();
  const fault = control
    .list()
    .filter(({ required }) => required)
    .map(({ id }) => kernel.failure(id))
    .find((failure) => failure instanceof ConfigurationError);
  if (fault) throw fault;

  let server: Server | undefined;
  let draining = false;
  const checks = {
    database: { needed: true, ask: async () => ((await data.readOnly()) ? 'read-only' : 'ok') },
    // What is lost without it is told in docs/reliability.md; guests and callers with a token are served on.
    ...(environment.redisUrl && {
      redis: {
        needed: false,
        ask: async () =>
          kernel
            .service(Cache)!
            .redis!.ping()
            .then(() => 'ok'),
      },
    }),
  };
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
    installer,
    jobs,
    routes,
    hooks,
    extensions,
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
      server = await listen(
        createExpressApp({ routes, log, checks, draining: () => draining, gate }),
        routes,
        environment,
        { open, around: calls ? (req, res, answer) => calls.around(req, res, () => around(req, res, answer)) : around },
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
        if (server) await closeServer(server);
        await jobs.stop();
        await resources.disposeAsync();
      })()),
  };
}
