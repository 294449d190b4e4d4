import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp, type App } from '../../../core/host/app.ts';
import { catalogue } from '../../../core/cli/catalogue.ts';
import type { Command } from '../../../core/cli/command.ts';
import type { Hook } from '../../../core/hooks.ts';
import { createLogger } from '../../../core/host/logger.ts';
import type { Plugin } from '../../../core/plugins/definition.ts';
import type { ExtensionPoint } from '../../../core/ref.ts';
import type { RouteInfo } from '../../../core/http/routes.ts';
import type { SettingInfo } from '../../../core/settings.ts';
import { signals } from '../../../plugins/ports/live.ts';
import { slotFillings } from '../../../plugins/web/api.ts';
import { readEnvironment } from '../../environment.ts';
import configuration from '../../forum.ts';

/** What a running server with this configuration knows about itself. */
export interface Collected {
  readonly plugins: readonly Plugin[];
  /** Including the kernel's own. */
  readonly hooks: ReadonlyArray<{ readonly plugin: string; readonly hook: Hook }>;
  readonly settings: readonly SettingInfo[];
  readonly routes: readonly RouteInfo[];
  readonly commands: ReadonlyArray<{ readonly command: Command; readonly owner: string }>;
  /** Listening plugins sorted by id, by `kind id` of the hook; `durable id` for durable listeners. */
  readonly listeners: ReadonlyMap<string, readonly string[]>;
  /** Plugins that added to an extension point, by its id. */
  readonly contributors: ReadonlyMap<string, readonly string[]>;
  /** Kinds of messages on the live stream, by name. */
  readonly signals: ReadonlyArray<{ readonly plugin: string; readonly name: string; readonly description: string }>;
  /** Plugins that fill a slot, by its id. */
  readonly fillings: ReadonlyMap<string, readonly string[]>;
}

/**
 * Starts every configured plugin of `root` on a temporary embedded database, collects the information, and stops.
 * Throws if a plugin does not start.
 */
export async function collect(root: string): Promise<Collected> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-reference-'));
  const environment = readEnvironment({ DATA_DIR: folder, SECRET_KEY: 'the reference needs no secret of its own' });
  try {
    const app = await createApp({
      site: root,
      environment,
      configuration,
      log: createLogger({ level: 'silent', format: 'json' }),
    });
    try {
      refuseBroken(app);
      return look(app);
    } finally {
      await app.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

function refuseBroken(app: App): void {
  const installed = app.plugins.list();
  const missing = configuration.plugins
    .filter((id) => installed.every((plugin) => plugin.id !== id))
    .map((id) => `${id} could not be loaded`);
  const broken = installed
    .filter(({ state }) => state !== 'active')
    .map(({ id, state, problem }) => `${id} is ${state}: ${problem ?? 'no reason known'}`);
  if (missing.length + broken.length > 0)
    throw new Error(`the reference requires every plugin to run, but ${[...missing, ...broken].join('; ')}`);
}

function look(app: App): Collected {
  const plugins = app.kernel.graph.all().toSorted((a, b) => compare(a.id, b.id));
  const points = plugins.flatMap((plugin) => (plugin.extensionPoints ?? []) as readonly ExtensionPoint<unknown>[]);
  return {
    plugins,
    hooks: app.hooks.hooks().toSorted((a, b) => compare(a.hook.id, b.hook.id)),
    settings: app.settings.list().toSorted((a, b) => compare(a.key, b.key)),
    routes: app.routes.list(),
    commands: catalogue(plugins),
    listeners: grouped(app.supervisor.report().map(({ plugin, task }) => [task, plugin])),
    contributors: grouped(
      points.flatMap((point) => app.extensions.read(point).map(({ plugin }) => [point.id, plugin] as const)),
    ),
    signals: app.extensions
      .read(signals)
      .map(({ plugin, value: { name, description } }) => ({ plugin, name, description }))
      .toSorted((a, b) => compare(a.name, b.name)),
    fillings: grouped(app.extensions.read(slotFillings).map(({ plugin, value }) => [value.slot.id, plugin])),
  };
}

/** By code unit, so that the order is the same on every machine. */
export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function grouped(pairs: ReadonlyArray<readonly [key: string, plugin: string]>): ReadonlyMap<string, readonly string[]> {
  const groups = Map.groupBy(pairs, ([key]) => key);
  return new Map(
    [...groups].map(([key, members]) => [key, [...new Set(members.map(([, plugin]) => plugin))].sort(compare)]),
  );
}
