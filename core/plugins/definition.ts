import type { Command } from '../cli/command.ts';
import type { EntityDefinition, MigrationClass } from '../data/database.ts';
import { PluginError } from '../errors.ts';
import type { Action, Durability, Delivery, Filter, Hook, Listen, Query } from '../hooks.ts';
import type { Logger } from '../logger.ts';
import type { Awaitable, ExtensionPoint, Services, Tokens } from '../ref.ts';
import type {
  ContextOf,
  Handler,
  Permission,
  RouteAccess,
  RouteDefinition,
  Surface,
  SurfaceBehaviour,
  SurfaceContext,
} from '../http/routes.ts';
import type { Static, TObject, TSchema } from '../schema.ts';
import type { Extension } from '../extensions.ts';
import type { SettingsCheck } from '../settings.ts';

/** A kind of background job of one plugin; each job is stored in the database until it has run. */
export interface JobDefinition<P> extends Durability<P> {
  /** Schema of the payload, which is validated when a job is added. */
  readonly schema: TSchema;
  /** Does the work, possibly more than once; if it throws, the job is retried as `retry` says. */
  run(payload: P, delivery: JobDelivery<P>): unknown;
  /** A cron expression in UTC. One process runs the job at each occurrence, with an empty object as payload. */
  readonly cron?: string;
}
/** One attempt at a job. */
export interface JobDelivery<P> extends Delivery {
  /**
   * Once this attempt has succeeded, runs the same job again with the remaining work as its payload, immediately or
   * `after` so many seconds. Joins the current transaction, so work done in it is not repeated, wherever the process
   * stops.
   */
  continueWith(rest: P, options?: { readonly after?: number }): Promise<void>;
}
/** The handle of a job defined by `plugin.job`: adds and cancels jobs, and pauses their keys. */
export interface Job<P> {
  /**
   * Adds a job in the current transaction and resolves to its id. With `once`, resolves to the id of an existing job
   * with the same key instead, if one is waiting or running, or was added in the same transaction; two concurrent
   * transactions may still add one each. `at` is real time by the database's clock; moving the clock in tests does not
   * affect it. With `id`, reschedules a job that was added before: if it is waiting, or is running and will continue
   * later, it becomes due at `at` if that is earlier, and while it runs nothing else changes; if it failed for good, it
   * starts over; if it no longer exists, it is added again.
   */
  add(payload: P, options?: { readonly at?: Date; readonly once?: boolean; readonly id?: string }): Promise<string>;
  /** Resolves to true if the job was still waiting. */
  cancel(id: string): Promise<boolean>;
  /** Cancels all waiting jobs with this key, and lifts its pause. Joins the current transaction. */
  cancelKey(key: string): Promise<void>;
  /**
   * Starts no jobs with this key for so many seconds, in any process, and after that only one at a time until `resume`:
   * for receivers that are temporarily down. Needs `perKey`. Joins the current transaction.
   */
  pause(key: string, seconds: number): Promise<void>;
  /** Lifts a pause: `perKey` jobs with this key may run at a time again. Joins the current transaction. */
  resume(key: string): Promise<void>;
}

/** Lets a plugin copy another plugin's data; that other plugin provides it for `PluginHandle.backfill`. */
export interface Backfill {
  /** The current position in the history of the data, as text that is opaque to everyone but its owner. */
  checkpoint(): Promise<string>;
  /**
   * Passes on one batch of the data written since a checkpoint, or of all data, in the current transaction. Resolves to
   * the position after which the next batch starts; undefined if this was the last one.
   */
  run(since: string | undefined, after: string | undefined): Promise<string | undefined>;
}

type Maybe = TSchema | undefined;

/** Passed to `setup` along with the services. Everything registered through it is undone when the plugin stops. */
export interface PluginHandle<S = unknown> {
  /** The plugin's id. */
  readonly id: string;
  /** Adds the plugin's id to every line. */
  readonly log: Logger;
  /** Aborts when the plugin starts to stop. */
  readonly signal: AbortSignal;
  /**
   * Live values of the plugin's own settings, by full dotted key. Read them when you need them instead of copying them.
   */
  readonly settings: S;
  /** Calls `run` after the plugin's own settings have changed, with the keys that did. */
  onSettings(run: (keys: readonly string[]) => Awaitable<void>): void;
  /**
   * Checks values of the plugin's own settings before they are stored, and the current values for `doctor`. Values with
   * problems are rejected.
   */
  checkSettings(run: SettingsCheck): void;

  /** Listens to any plugin's action, filter or query. `options` are `ListenOptions` and, for actions, `durable`. */
  readonly on: Listen;
  /**
   * Listens durably to every action that `accepts` returns true for, of running plugins and of those that start later;
   * `accepts` is asked again whenever a plugin starts. Once accepted, an action is listened to for as long as this
   * plugin runs, since jobs may be stored for an action whose plugin is off. `run` receives the action as it was last
   * defined.
   */
  onAny(
    accepts: (action: Action<any>) => boolean,
    run: (payload: any, delivery: Delivery, action: Action<any>) => unknown,
    options: { readonly durable: true | Durability<any> },
  ): void;
  /** Raises one of the plugin's own actions: inside a transaction after the commit, or not at all if it rolls back. */
  emit<P>(action: Action<P>, payload: P): Promise<void>;
  /** Passes a value through one of the plugin's own filters; resolves to the result of the last listener. */
  filter<V, C>(filter: Filter<V, C>, value: V, context: C): Promise<V>;
  /** Asks one of the plugin's own queries; resolves to undefined if no listener answers. */
  query<I, R>(query: Query<I, R>, input: I): Promise<R | undefined>;

  /** Sets the behaviour of the plugin's own surface, whose routes respond from then on. */
  surface<C extends SurfaceContext, O, Opt extends object, Own extends C>(
    surface: Surface<C, O, Opt>,
    behaviour: SurfaceBehaviour<C, O, Opt, Own>,
  ): void;
  /** Curried, so that the handler sees the definition's narrow literal types. */
  route<
    C extends SurfaceContext,
    O,
    P extends Maybe = undefined,
    Q extends Maybe = undefined,
    B extends Maybe = undefined,
    R extends Maybe = undefined,
    T = undefined,
    Opt extends object = {},
    const Can extends RouteAccess = RouteAccess,
  >(
    surface: Surface<C, O, Opt>,
    definition: RouteDefinition<C, P, Q, B, R, T, NoInfer<Opt>, Can>,
  ): (handler: Handler<ContextOf<C, Can>, P, Q, B, R, T>) => void;

  /** Adds to any plugin's list. Lower `order` comes first. */
  extend<T>(point: ExtensionPoint<T>, value: NoInfer<T>, order?: number): void;
  /** Reads one of the plugin's own lists; returns the same array until the list changes. */
  extensions<T>(point: ExtensionPoint<T>): readonly Extension<T>[];

  /**
   * Runs another plugin's code that was found in an extension list, under that plugin's deadline and quarantine;
   * resolves to `undefined` if it fails.
   */
  attempt<T>(plugin: string, task: string, work: () => Awaitable<T>, deadline?: number): Promise<T | undefined>;
  /**
   * The same for what the caller cannot do without, such as a listener in its transaction: rejects if it fails or takes
   * too long, and is never quarantined.
   */
  run<T>(plugin: string, task: string, work: () => Awaitable<T>): Promise<T | undefined>;
  /** Like `attempt`, for a function that must be synchronous; `undefined` if it fails or returns a promise. */
  attemptSync<T>(plugin: string, task: string, work: () => T): T | undefined;

  /** Defines a background job of the plugin; it runs in any process, at least once for each `add`. */
  job<P>(name: string, definition: JobDefinition<P>): Job<P>;
  /**
   * To be called in `setup`: runs a job named `catch-up` that passes on what was written while the plugin was off, and
   * what may have been missed when its process died; an interrupted batch is passed on again. With `initial`, the first
   * run passes on everything. One per plugin.
   */
  backfill(backfill: Backfill, options?: { readonly initial?: boolean }): Promise<void>;
  /** Runs `undo` when the plugin stops; last in, first out. */
  defer(undo: () => Awaitable<void>): void;
}

type Provided<P extends Tokens> = keyof P extends never ? void : Services<P>;

export interface PluginDefinition<N extends Tokens, W extends Tokens, P extends Tokens, S extends TObject> {
  /** In kebab case; must equal the folder's name. */
  readonly id: string;
  /** Shown to administrators; defaults to the id. */
  readonly name?: string;
  /** The semantic version of the plugin's contract; for a package, the package's version. */
  readonly version?: string;
  /** One sentence, shown to administrators. */
  readonly description?: string;
  /** The plugin's folder; set by the loader for plugins that it reads from disk. */
  readonly folder?: string;
  /** The npm package that contains the plugin; set by the loader. */
  readonly package?: string;
  /** The plugin protects accounts or their data: administrators are told when it is switched off. */
  readonly defends?: boolean;
  /**
   * Why the plugin cannot be used; set by the loader for plugins that failed to load, so that they are listed with the
   * reason.
   */
  readonly fault?: unknown;
  /**
   * Versions of other plugins' contracts that this one supports, as semver ranges by plugin id, such as `^1.2.0`. The
   * plugin does not start with any other version. A package declares them in its package.json, under `parley.plugins`
   * or as peer dependencies.
   */
  readonly requires?: Readonly<Record<string, string>>;
  /** Services this plugin cannot run without. */
  readonly needs?: N;
  /** Services it uses if they are available. The plugin is restarted when one appears or goes away. */
  readonly wants?: W;
  /** Services it provides; `setup` must return exactly these. */
  readonly provides?: P;
  /** Hooks that the plugin owns: only it may raise them. */
  readonly hooks?: readonly Hook[];
  /** Lists that the plugin owns: only it may read them. */
  readonly extensionPoints?: readonly ExtensionPoint<any>[];
  /**
   * Permissions that are checked elsewhere than by the `can` of the plugin's routes; administrators see all of them.
   */
  readonly permissions?: readonly Permission[];
  /** An object schema whose properties are full dotted keys, each with a default. */
  readonly settings?: S;
  /**
   * Settings of earlier versions, each with the environment variable that replaces it. Stored values are ignored;
   * startup and `doctor` report them.
   */
  readonly movedSettings?: Readonly<Record<string, string>>;
  /** Mappings of the plugin's own tables, for `data.transaction`. */
  readonly entities?: readonly EntityDefinition[];
  /** Run in order, each once, when the plugin is enabled. Built-in plugins keep theirs in migrations/<id>/. */
  readonly migrations?: readonly MigrationClass[];
  /** Commands of `parley` that are available while the plugin is configured. */
  readonly commands?: readonly Command[];
  /**
   * Starts the plugin with the services of `needs` and those of `wants` that are available; returns the services of
   * `provides`. If it throws, the plugin does not start.
   */
  setup(services: Services<N> & Partial<Services<W>>, plugin: PluginHandle<Static<S>>): Awaitable<Provided<P>>;
}

/**
 * A plugin as exported by its `plugin.ts`. `any` because the kernel holds plugins of unrelated types; `definePlugin`
 * type-checks each one.
 */
export type Plugin = PluginDefinition<any, any, any, any>;

/** Returns what is malformed about a definition; undefined if it can be combined with others. */
export function faultOf(plugin: Plugin): PluginError | undefined {
  const broken = (['provides', 'needs', 'wants', 'hooks', 'extensionPoints', 'permissions'] as const).find((list) =>
    Object.values((plugin[list] ?? {}) as object).some(
      (ref: { readonly id?: unknown } | undefined) => typeof ref?.id !== 'string',
    ),
  );
  if (broken)
    return new PluginError(
      plugin.id,
      `lists something undefined under \`${broken}\`; a circular import may be the cause`,
    );
  const isCommand = (one: Partial<Command> | undefined): boolean =>
    typeof one?.name === 'string' && typeof one.run === 'function';
  if (plugin.commands && !(Array.isArray(plugin.commands) && plugin.commands.every(isCommand)))
    return new PluginError(plugin.id, 'lists something under `commands` that `defineCommand` did not return');
  if (plugin.settings !== undefined && typeof plugin.settings.properties !== 'object')
    return new PluginError(plugin.id, 'has `settings` that are not a `Type.Object`');
  return undefined;
}

/** A stand-in for a plugin that cannot be used: it is listed as failed, with the reason. */
export const unusable = (
  { id, name, version, description, folder, migrations }: Omit<Plugin, 'setup'>,
  fault: unknown,
): Plugin => ({
  id,
  fault,
  setup: () => Promise.reject(fault),
  ...(name !== undefined && { name }),
  ...(version !== undefined && { version }),
  ...(description !== undefined && { description }),
  ...(folder !== undefined && { folder }),
  ...(migrations && { migrations }),
});

/**
 * Defines a plugin: what it is, what it needs, and what it sets up. Returns the definition unchanged, type-checked
 * against its services and settings; an invalid id or version is reported when the plugin is loaded.
 */
export function definePlugin<
  N extends Tokens = {},
  W extends Tokens = {},
  P extends Tokens = {},
  S extends TObject = TObject<{}>,
>(definition: PluginDefinition<N, W, P, S>): Plugin {
  return definition;
}
