import { PluginError } from './errors.ts';
import type { Extensions } from './extensions.ts';
import type { Durability, Hook, HookBus, ListenOptions } from './hooks.ts';
import type { JobQueue } from './jobs.ts';
import type { Logger } from './logger.ts';
import type { Plugin, PluginHandle } from './plugin.ts';
import type { Mount, RouteRegistry } from './routes.ts';
import { Type } from './schema.ts';
import type { SettingsStore } from './settings.ts';
import type { Supervisor } from './supervise.ts';

/** What the kernel is made of; one of each per process. */
export interface Parts {
  readonly log: Logger;
  readonly supervisor: Supervisor;
  readonly hooks: HookBus;
  readonly routes: RouteRegistry;
  readonly extensions: Extensions;
  readonly settings: SettingsStore;
  readonly jobs: JobQueue;
}

/** Where one running plugin's registrations go, and what undoes them. */
export interface Scope {
  readonly undo: AsyncDisposableStack;
  readonly abort: AbortController;
  readonly mount: Mount;
}

/** The handle is the only way to register anything, so whatever a plugin registers is undone with its scope. */
export function createHandle(plugin: Plugin, { undo, abort, mount }: Scope, { log, hooks, extensions, settings, jobs, supervisor }: Parts): PluginHandle {
  const { id } = plugin;
  const points = new Set(plugin.extensionPoints?.map((point) => point.id));
  const listen = (hook: Hook, run: (...args: any[]) => unknown, { durable, ...options }: ListenOptions & { durable?: true | Durability<any> } = {}): void => {
    if (durable && hook.kind !== 'action') throw new PluginError(id, `listens durably to the ${hook.kind} "${hook.id}"; only actions can be kept for later`);
    undo.defer(durable ? jobs.listen(id, hook.id, run, durable === true ? {} : durable) : hooks.listen(id, hook, run, options));
  };
  return {
    id,
    log: log.child({ plugin: id }),
    signal: abort.signal,
    settings: settings.live(plugin.settings ?? Type.Object({})),
    onSettings: (run) => undo.defer(settings.watch(id, run)),
    on: listen,
    emit: (action, payload) => hooks.emit(hooks.owned(id, action), payload),
    filter: (filter, value, context) => hooks.filter(hooks.owned(id, filter), value, context),
    query: (query, input) => hooks.query(hooks.owned(id, query), input),
    surface: (surface, behaviour) => void mount.surfaces.push({ surface, behaviour }),
    route: (surface, definition) => (handler) =>
      void mount.entries.push({ info: { status: 200, options: {}, ...definition, plugin: id, surface }, handler, mount }),
    extend: (point, value, order) => undo.defer(extensions.add(id, point, value, order)),
    extensions: (point) => {
      if (!points.has(point.id)) throw new PluginError(id, `reads the list "${point.id}" without listing it under \`extensionPoints\` in plugin.ts`);
      return extensions.read(point);
    },
    attempt: (other, name, work, deadline) => supervisor.attempt(supervisor.named(other, name), work, deadline),
    job: (name, definition) => {
      const { job, stop } = jobs.define(id, name, definition);
      undo.defer(stop);
      return job;
    },
    defer: (run) => undo.defer(run),
  };
}
