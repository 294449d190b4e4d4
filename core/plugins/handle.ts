import { messageOf, PluginError } from '../errors.ts';
import type { Extensions } from '../extensions.ts';
import {
  refusal,
  type Action,
  type Delivery,
  type Durability,
  type Hook,
  type HookBus,
  type ListenOptions,
} from '../hooks.ts';
import type { Deprecations } from './deprecations.ts';
import type { JobQueue } from '../jobs/queue.ts';
import type { Logger } from '../logger.ts';
import type { Plugin, PluginHandle } from './definition.ts';
import type { Awaitable, Ref } from '../ref.ts';
import { readAddress } from '../http/path-matcher.ts';
import type { Mount, Permission, RouteInfo, RouteRegistry } from '../http/routes.ts';
import { Type } from '../schema.ts';
import type { SettingsCheck, SettingsStore } from '../settings.ts';
import type { Container } from './container.ts';
import { pluginChanged } from './actions.ts';
import { inTime, type FailurePolicy, type Supervisor, type Task } from './supervisor.ts';

/** The kernel's components; one of each per process. */
export interface KernelDeps {
  readonly log: Logger;
  readonly supervisor: Supervisor;
  readonly hooks: HookBus;
  readonly routes: RouteRegistry;
  readonly extensions: Extensions;
  readonly settings: SettingsStore;
  readonly jobs: JobQueue;
}

/** One plugin's registrations while it runs, and how to undo them. */
export interface Scope {
  /** The plugin's own container: the services that it provides and needs. */
  readonly container: Container;
  readonly undo: AsyncDisposableStack;
  /**
   * Entry points through which other plugins call this one. They are removed first, and calls in progress finish,
   * before the plugin releases its resources.
   */
  readonly offers: DisposableStack;
  /**
   * Contributions to other plugins' lists made during setup. They become visible once the plugin has started, because
   * what belongs to them, such as its views, is available only then. Undefined from then on.
   */
  additions: Array<() => void> | undefined;
  readonly abort: AbortController;
  readonly mount: Mount;
}

/** The values that a route's `can` may have besides a permission. */
const WORDS = ['member', 'public'] satisfies readonly RouteInfo<any>['can'][];
const isAccess = (can: unknown): boolean =>
  WORDS.includes(can as never) || (can as Partial<Permission> | undefined)?.kind === 'permission';

/** Plugins can register things only through the handle, so everything they register is undone with their scope. */
export function createHandle(
  plugin: Plugin,
  scope: Scope,
  deprecations: Deprecations,
  { log, hooks, extensions, settings, jobs, supervisor }: KernelDeps,
): PluginHandle {
  const { id } = plugin;
  const { undo, offers, abort, mount } = scope;
  const points = new Set(plugin.extensionPoints?.map((point) => point.id));
  /** Plugins without types, and circular imports, can pass values that the compiler never checked. */
  const expectRef = (ref: Ref<string, any> | undefined, kinds: readonly string[], does: string): void => {
    if (!kinds.includes(ref?.kind ?? ''))
      throw new PluginError(
        id,
        `${does} ${ref === undefined ? 'something undefined' : `"${ref.id ?? String(ref)}"`}, which is not ${/^[aeiou]/.test(kinds[0]!) ? 'an' : 'a'} ${kinds.join(' or ')}; import it by its name from the contract that exports it`,
      );
  };
  const listen = (
    hook: Hook,
    run: (...args: any[]) => unknown,
    { durable, ...options }: ListenOptions & { durable?: true | Durability<any> } = {},
  ): void => {
    if (durable && hook.kind !== 'action')
      throw new PluginError(
        id,
        `listens durably to the ${hook.kind} "${hook.id}"; only actions can have durable listeners`,
      );
    if (options.awaited && (durable || hook.kind !== 'action'))
      throw new PluginError(
        id,
        `wants to be awaited by the ${hook.kind} "${hook.id}"; only listeners of actions that are not durable can be`,
      );
    running();
    if (durable) undo.defer(jobs.listen(id, hook.id, run, durable === true ? {} : durable));
    else offers.defer(hooks.listen(id, hook, run, options));
  };
  /** A setup that continues after its deadline must not register anything. */
  const running = (): void => {
    if (undo.disposed) throw new PluginError(id, 'has stopped, so it can no longer register anything');
  };
  /** A task that ends with the plugin. */
  const supervised = (name: string, policy: FailurePolicy): Task => {
    running();
    const task = supervisor.task(id, name, policy);
    undo.defer(() => supervisor.forget(id, task));
    return task;
  };
  const end = (run: () => Awaitable<void>): Promise<void> =>
    inTime(run, supervisor.limits.deadline, 'a cleanup function');
  return {
    id,
    log: log.child({ plugin: id }),
    signal: abort.signal,
    settings: settings.live(plugin.settings ?? Type.Object({})),
    onSettings: (run) => {
      const task = supervised('onSettings', 'retry');
      undo.defer(settings.watch(id, async (keys) => void (await supervisor.attempt(task, () => run(keys)))));
    },
    checkSettings: (run) => {
      const task = supervised('checkSettings', 'refuse');
      const check: SettingsCheck = async (values) => {
        try {
          return (await supervisor.run(task, () => run(values))) ?? [];
        } catch (error) {
          throw refusal(task, error);
        }
      };
      undo.defer(settings.guard(id, check));
    },
    on: (hook: Hook, run: (...args: any[]) => unknown, options?: object) => {
      expectRef(hook, ['action', 'filter', 'query'], 'listens to');
      if (typeof run !== 'function') throw new PluginError(id, `listens to "${hook.id}" without a function to run`);
      deprecations.used(id, hook);
      listen(hook, run, options);
    },
    onAny: (accepts, run, options) => {
      const accepted = new Map<string, Action<unknown>>();
      const review = (): void => {
        for (const { hook } of hooks.hooks()) {
          if (hook.kind !== 'action' || !accepts(hook)) continue;
          const isNew = !accepted.has(hook.id);
          accepted.set(hook.id, hook);
          if (isNew)
            listen(hook, (payload, delivery: Delivery) => run(payload, delivery, accepted.get(hook.id)!), options);
        }
      };
      review();
      listen(pluginChanged, review);
    },
    emit: (action, payload) => hooks.emit(hooks.owned(id, action), payload),
    filter: (filter, value, context) => hooks.filter(hooks.owned(id, filter), value, context),
    query: (query, input) => hooks.query(hooks.owned(id, query), input),
    surface: (surface, behaviour) => void mount.surfaces.push({ surface, behaviour }),
    route: (surface, definition) => {
      expectRef(surface, ['surface'], 'adds a route to');
      if (!isAccess(definition.can))
        throw new PluginError(
          id,
          `does not declare who may call ${definition.method.toUpperCase()} ${definition.path}; its \`can\` must be a permission, or ${WORDS.map((word) => `"${word}"`).join(' or ')}`,
        );
      const unknown = Object.keys(definition.options ?? {}).find((option) => !(option in surface.options));
      if (unknown !== undefined)
        throw new PluginError(
          id,
          `gives ${definition.method.toUpperCase()} ${definition.path} the option "${unknown}"; routes of "${surface.id}" have: ${Object.keys(surface.options).join(', ') || 'none'}`,
        );
      deprecations.used(id, surface);
      const deprecatedOptions: Readonly<Record<string, string | undefined>> = surface.deprecatedOptions;
      for (const option of Object.keys(definition.options ?? {}))
        deprecations.used(id, {
          kind: 'route option',
          id: `${surface.id}.${option}`,
          deprecated: deprecatedOptions[option],
        });
      return (handler) =>
        void mount.entries.push({
          info: { status: 200, options: {}, ...definition, plugin: id, surface },
          address: readAddress(definition.method, definition.path),
          handler,
          mount,
        });
    },
    extend: (point, value, order) => {
      expectRef(point, ['extension point'], 'adds to');
      running();
      deprecations.used(id, point);
      if (point.about) deprecations.used(id, point.about(value));
      const add = (): void => offers.defer(extensions.add(id, point, value, order));
      if (scope.additions) scope.additions.push(add);
      else add();
    },
    extensions: (point) => {
      if (!points.has(point.id))
        throw new PluginError(
          id,
          `reads the list "${point.id}" without listing it under \`extensionPoints\` in plugin.ts`,
        );
      return extensions.read(point);
    },
    attempt: (other, name, work, deadline) => supervisor.attempt(supervisor.named(other, name), work, deadline),
    run: async (other, name, work) => supervisor.run(supervisor.named(other, name, 'retry'), work),
    attemptSync: (other, name, work) => supervisor.attemptSync(supervisor.named(other, name), work),
    job: (name, definition) => {
      running();
      const { job, stop } = jobs.define(id, name, definition);
      undo.defer(stop);
      return job;
    },
    backfill: async (backfill, { initial } = {}) => {
      running();
      const missed = jobs.backfill(id, backfill, initial);
      undo.defer(() => missed.stop());
      await missed.start();
    },
    defer: (run) => {
      if (!undo.disposed) return undo.defer(() => end(run));
      end(run).catch((error: unknown) =>
        log.error(
          { plugin: id, error: messageOf(error) },
          'something opened after the plugin had stopped could not be closed',
        ),
      );
    },
  };
}
