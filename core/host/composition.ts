import { operated } from '../cli/command.ts';
import { Cluster, createCluster } from '../cluster.ts';
import { Data, type Database } from '../data/database.ts';
import { Clock, Environment } from '../environment.ts';
import { Extensions } from '../extensions.ts';
import { HookBus, Hooks } from '../hooks.ts';
import { CallRecorder } from '../http/call-recorder.ts';
import { Http } from '../http/http.ts';
import { RouteRegistry, Routes, type RouteInfo } from '../http/routes.ts';
import { JobQueue, Jobs } from '../jobs/queue.ts';
import type { Logger } from '../logger.ts';
import { filesChanged, pluginChanged } from '../plugins/actions.ts';
import { Container, type PartId } from '../plugins/container.ts';
import { PluginControl, Plugins } from '../plugins/desired-state.ts';
import { Kernel } from '../plugins/kernel.ts';
import { kernelSettings, supervisionLimits } from '../plugins/kernel-settings.ts';
import { Supervisor } from '../plugins/supervisor.ts';
import type { Token } from '../ref.ts';
import { Secrets } from '../secrets.ts';
import { Settings, SettingsStore } from '../settings.ts';
import { PluginInstaller } from './plugin-installer.ts';
import type { SiteConfiguration } from './site.ts';

/** Everything needed to build the kernel. */
export interface CompositionOptions {
  /** The site's folder. */
  readonly site: string;
  readonly environment: Environment;
  readonly configuration: SiteConfiguration;
  /** Settings for this process only. */
  readonly overrides: Readonly<Record<string, unknown>> | undefined;
  readonly log: Logger;
  readonly clock: Clock;
  /** An open database that has the kernel's tables. */
  readonly data: Database;
  /** Aborts when the server starts to shut down. */
  readonly closing: AbortSignal;
}

/** Builds the kernel's components; the services that it offers to plugins are registered under their tokens' ids. */
export function compose(options: CompositionOptions): Container {
  const { site, environment, configuration, overrides, log, clock, data, closing } = options;
  const parts = new Container();
  const get = <T>(part: PartId<T>): T => parts.get(part);
  /** Tokens of the kernel's services that plugins may need. */
  const offered: Token<any>[] = [];
  const offer = <T>(token: Token<T>, make: () => T): void => {
    offered.push(token);
    parts.define(token.id, make);
  };

  parts.define(
    Supervisor,
    () => new Supervisor(log, { load: () => data.underWay, limits: supervisionLimits(get(SettingsStore)) }),
  );
  parts.define(SettingsStore, () => {
    const deps = { data, secrets: () => get(Kernel).demand(Secrets), cluster: get<Cluster>(Cluster.id) };
    const settings = new SettingsStore({ ...deps, configured: configuration.settings, overrides });
    settings.define('kernel', kernelSettings);
    return settings;
  });
  parts.define(
    JobQueue,
    () => new JobQueue({ data, supervisor: get(Supervisor), log, cluster: get<Cluster>(Cluster.id) }),
  );
  parts.define(HookBus, () => {
    const jobs = get(JobQueue);
    const hooks = new HookBus(get(Supervisor), {
      batch: () => data.batch(),
      store: (action, payload, batch) => jobs.store(action, payload, batch),
    });
    hooks.own('kernel', [pluginChanged, filesChanged, operated]);
    return hooks;
  });
  parts.define(Extensions, () => new Extensions());
  parts.define(CallRecorder, () => new CallRecorder());
  parts.define(RouteRegistry, () => {
    const supervisor = get(Supervisor);
    const calls = environment.serverTiming ? get(CallRecorder) : undefined;
    return new RouteRegistry({
      closing,
      service: (token) => get(Kernel).service(token),
      failed: ({ error, req, surface, path }) => {
        const request = get(Kernel).service(Http)?.requestId(req);
        log.error({ error, request, surface, method: req.method, path }, 'a request failed');
      },
      unchecked: ({ plugin, method, surface, path }, field) =>
        log.warn(
          { plugin, surface: surface.id, method: method.toUpperCase(), path, field },
          `the database could not parse "${field}" of a request, which was answered with an error; reject such values in the schema of the route, as { format: 'uuid' } does, or check isId before the statement`,
        ),
      stretch: <T>(route: RouteInfo<any>, handle: () => T): T => {
        const watched = (): T => supervisor.stretch(route.plugin, `${route.method} ${route.path}`, handle);
        return calls ? calls.handle(route, watched) : watched();
      },
    });
  });
  parts.define(Kernel, () => {
    const [supervisor, hooks, routes, extensions] = [
      get(Supervisor),
      get(HookBus),
      get(RouteRegistry),
      get(Extensions),
    ];
    const [settings, jobs] = [get(SettingsStore), get(JobQueue)];
    return new Kernel({ log, supervisor, hooks, routes, extensions, settings, jobs, data, container: parts, offered });
  });
  parts.define(PluginControl, () => {
    const [kernel, jobs, settings, supervisor] = [get(Kernel), get(JobQueue), get(SettingsStore), get(Supervisor)];
    const { required } = configuration;
    const { safeMode } = environment;
    return new PluginControl({
      kernel,
      data,
      jobs,
      settings,
      cluster: get<Cluster>(Cluster.id),
      supervisor,
      log,
      required,
      safeMode,
    });
  });
  parts.define(PluginInstaller, () => {
    const [kernel, plugins, cluster] = [get(Kernel), get(PluginControl), get<Cluster>(Cluster.id)];
    return new PluginInstaller({ site, kernel, plugins, cluster, extensions: get(Extensions), log });
  });

  offer(Data, () => data);
  offer(Cluster, () => createCluster(log));
  offer(Settings, () => get(SettingsStore));
  offer(Routes, () => get(RouteRegistry));
  offer(Hooks, () => get(HookBus));
  offer(Environment, () => environment);
  offer(Clock, () => clock);
  offer(Jobs, () => get(JobQueue));
  offer(Plugins, () => get(PluginControl));
  return parts;
}
