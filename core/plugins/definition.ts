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

/** Background work of one plugin, kept in the database until it has run. */
export interface JobDefinition<P> extends Durability<P> {
  /** Of the payload; checked when it is added. */
  readonly schema: TSchema;
  /** Does the work, perhaps more than once; what it throws makes it run again later, as `retry` says. */
  run(payload: P, delivery: JobDelivery<P>): unknown;
  /** A cron expression in UTC; one process fires it, with an empty object as payload. */
  readonly cron?: string;
}
/** One attempt at a job. */
export interface JobDelivery<P> extends Delivery {
  /**
   * When this attempt has ended well, the same job runs once more, with what is left to do, at once or `after` so many
   * seconds. Joins the transaction under way: what was done in it is not done again, wherever the process stops.
   */
  continueWith(rest: P, options?: { readonly after?: number }): Promise<void>;
}
/** A job that `plugin.job` defined: adds it, cancels it, spares what it works for. */
export interface Job<P> {
  /**
   * Joins the transaction under way. Resolves to the job's id. `once`: to that of one with the same key, where one
   * waits or runs already, or the same transaction added one; two transactions at once may add one each. `at` is real time by the database's clock: the clock that tests move does not move it. `id`:
   * of a job that was added before; where that waits, or runs and goes on later, it is due at `at` if that is earlier,
   * where it failed for good it begins anew, where it is gone it is added again, and where it runs nothing else changes.
   */
  add(payload: P, options?: { readonly at?: Date; readonly once?: boolean; readonly id?: string }): Promise<string>;
  /** True when it was still waiting. */
  cancel(id: string): Promise<boolean>;
  /** Cancels what waits under a key, and takes back its pause. Joins the transaction under way. */
  cancelKey(key: string): Promise<void>;
  /**
   * Begins nothing more under a key for so many seconds, in any process, and from then on one at a time, until `resume`:
   * for what is down for now. Needs `perKey`. Joins the transaction under way.
   */
  pause(key: string, seconds: number): Promise<void>;
  /** Takes back a pause: as many of the key run at a time as `perKey` says. Joins the transaction under way. */
  resume(key: string): Promise<void>;
}

/** What a plugin copies from another one's data, as that one offers it for `PluginHandle.backfill`. */
export interface Backfill {
  /** Where the history of the data is now, as text that only its owner reads. */
  checkpoint(): Promise<string>;
  /**
   * Passes on one batch of what was written since a checkpoint, or of everything, in the transaction under way. Resolves
   * to the place after which the next batch begins; undefined when this was the last.
   */
  run(since: string | undefined, after: string | undefined): Promise<string | undefined>;
}

type Maybe = TSchema | undefined;

/** What `setup` is handed besides its services. Everything registered here is undone when the plugin stops. */
export interface PluginHandle<S = unknown> {
  /** The plugin's own. */
  readonly id: string;
  /** Writes lines that carry the plugin's id. */
  readonly log: Logger;
  /** Aborts when the plugin starts to stop. */
  readonly signal: AbortSignal;
  /** Live values of the plugin's own settings, by full dotted key. Read them when they are needed; do not copy them. */
  readonly settings: S;
  /** Runs after a change of one of the plugin's settings, with the keys that changed. */
  onSettings(run: (keys: readonly string[]) => Awaitable<void>): void;
  /**
   * Looks at values of the plugin's own settings before they are stored, and for `doctor` at those in force; what it
   * finds refuses them.
   */
  checkSettings(run: SettingsCheck): void;

  /**
   * Listens to anyone's hook: to what happened, to a value on its way, or to a question. `options` are of type
   * `ListenOptions`, for actions with `durable` as well.
   */
  readonly on: Listen;
  /**
   * Listens durably to every action that `accepts` takes, of the plugins that run and of those that start later; it is
   * asked again whenever a plugin starts. An action that was taken once is listened to for as long as this plugin runs,
   * since work may be stored for one whose plugin is off. `run` gets the action as it was last defined.
   */
  onAny(
    accepts: (action: Action<any>) => boolean,
    run: (payload: any, delivery: Delivery, action: Action<any>) => unknown,
    options: { readonly durable: true | Durability<any> },
  ): void;
  /** Raises one's own action: within a transaction after its commit, or never if that rolls back. */
  emit<P>(action: Action<P>, payload: P): Promise<void>;
  /** Passes a value through one's own filter; resolves to what the last listener made of it. */
  filter<V, C>(filter: Filter<V, C>, value: V, context: C): Promise<V>;
  /** Asks one's own query; undefined when no listener has an answer. */
  query<I, R>(query: Query<I, R>, input: I): Promise<R | undefined>;

  /** Sets how the plugin's own surface behaves; its routes answer from then on. */
  surface<C extends SurfaceContext, O, Opt extends object, Own extends C>(
    surface: Surface<C, O, Opt>,
    behaviour: SurfaceBehaviour<C, O, Opt, Own>,
  ): void;
  /** Curried, so that the definition's literal types stay narrow where the handler uses them. */
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

  /** Adds to anyone's list. Lower `order` comes first. */
  extend<T>(point: ExtensionPoint<T>, value: NoInfer<T>, order?: number): void;
  /** Reads one's own list; the same array until it changes. */
  extensions<T>(point: ExtensionPoint<T>): readonly Extension<T>[];

  /**
   * Runs a part of another plugin that was found in an extension list, under its deadline and quarantine; `undefined`
   * when it failed.
   */
  attempt<T>(plugin: string, task: string, work: () => Awaitable<T>, deadline?: number): Promise<T | undefined>;

  /** Defines background work of one's own; it runs in any process, at least once for each `add`. */
  job<P>(name: string, definition: JobDefinition<P>): Job<P>;
  /**
   * For `setup`: passes on, in a job of the plugin named `catch-up`, what was written while it was off, and what may have
   * been missed when its process died; the batch that was interrupted is passed on again. `initial`: the first time,
   * everything. One for each plugin.
   */
  backfill(backfill: Backfill, options?: { readonly initial?: boolean }): Promise<void>;
  /** Runs `undo` on stop; last in, first out. */
  defer(undo: () => Awaitable<void>): void;
}

type Provided<P extends Tokens> = keyof P extends never ? void : Services<P>;

export interface PluginDefinition<N extends Tokens, W extends Tokens, P extends Tokens, S extends TObject> {
  /** Kebab-case; equals the folder's name. */
  readonly id: string;
  /** For administrators; default: the id. */
  readonly name?: string;
  /** The version of its contract, as semantic versioning counts; of a package, the package's own. */
  readonly version?: string;
  /** One sentence for administrators. */
  readonly description?: string;
  /** Where its files are; set by the loader for plugins it reads from disk. */
  readonly folder?: string;
  /** The npm package it came in; set by the loader. */
  readonly package?: string;
  /** It defends accounts or what is known of them: administrators are told when it is switched off. */
  readonly defends?: boolean;
  /** Why it cannot be used; set by the loader for plugins that could not be read, so that they are known and say so. */
  readonly fault?: unknown;
  /**
   * Versions of other plugins' contracts that it was made for, as ranges by their ids, such as `^1.2.0`. With any other
   * version it does not start. A package names them in its package.json, under `parley.plugins` or as its peers.
   */
  readonly requires?: Readonly<Record<string, string>>;
  /** Services this plugin cannot run without. */
  readonly needs?: N;
  /** Services it uses when they are there. It is restarted when one comes or goes. */
  readonly wants?: W;
  /** Services it hands out; `setup` must return exactly these. */
  readonly provides?: P;
  /** Hooks it owns: only it may raise them. */
  readonly hooks?: readonly Hook[];
  /** Lists it owns: only it may read them. */
  readonly extensionPoints?: readonly ExtensionPoint<any>[];
  /** Permissions that are asked for elsewhere than in the `can` of its routes; administrators see all. */
  readonly permissions?: readonly Permission[];
  /** An object schema whose properties are full dotted keys, each with a default. */
  readonly settings?: S;
  /**
   * Settings of earlier versions, by the environment variable in their place. What is stored of them is not read; start
   * and `doctor` say so.
   */
  readonly movedSettings?: Readonly<Record<string, string>>;
  /** What it maps of its own tables, for `data.transaction`. */
  readonly entities?: readonly EntityDefinition[];
  /** Run in order, each once, when the plugin is enabled. First-party plugins keep theirs in migrations/<id>/. */
  readonly migrations?: readonly MigrationClass[];
  /** Commands of `parley` that are there while the plugin is configured. */
  readonly commands?: readonly Command[];
  /**
   * Starts the plugin with the services of `needs` and, as far as they are there, of `wants`; what it returns are the
   * services of `provides`. What it throws keeps the plugin from starting.
   */
  setup(services: Services<N> & Partial<Services<W>>, plugin: PluginHandle<Static<S>>): Awaitable<Provided<P>>;
}

/**
 * A plugin as its `plugin.ts` exports it. `any` because the kernel holds plugins of unrelated types; `definePlugin`
 * checks each one.
 */
export type Plugin = PluginDefinition<any, any, any, any>;

/** What is wrong with the shape of a definition; undefined for one that can be put together with others. */
export function faultOf(plugin: Plugin): PluginError | undefined {
  const broken = (['provides', 'needs', 'wants', 'hooks', 'extensionPoints', 'permissions'] as const).find((list) =>
    Object.values((plugin[list] ?? {}) as object).some(
      (ref: { readonly id?: unknown } | undefined) => typeof ref?.id !== 'string',
    ),
  );
  if (broken)
    return new PluginError(
      plugin.id,
      `lists something undefined under \`${broken}\`; two modules that import each other may be why`,
    );
  const isCommand = (one: Partial<Command> | undefined): boolean =>
    typeof one?.name === 'string' && typeof one.run === 'function';
  if (plugin.commands && !(Array.isArray(plugin.commands) && plugin.commands.every(isCommand)))
    return new PluginError(plugin.id, 'lists something under `commands` that `defineCommand` did not make');
  if (plugin.settings !== undefined && typeof plugin.settings.properties !== 'object')
    return new PluginError(plugin.id, 'has `settings` that are not a `Type.Object`');
  return undefined;
}

/** What is left of a plugin that cannot be used: it is listed, and failed with its reason. */
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
 * A plugin: what it is, what it needs, and what it sets up. Returns the definition as it was given, checked against the
 * types of its services and settings; what is wrong with its id or version is found when it is loaded.
 */
export function definePlugin<
  N extends Tokens = {},
  W extends Tokens = {},
  P extends Tokens = {},
  S extends TObject = TObject<{}>,
>(definition: PluginDefinition<N, W, P, S>): Plugin {
  return definition;
}
