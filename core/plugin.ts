import type { Command } from './cli/command.ts';
import type { EntityDefinition, MigrationClass } from './data.ts';
import type { Action, Durability, Delivery, Filter, Hook, Listen, Query } from './hooks.ts';
import type { Logger } from './logger.ts';
import type { Awaitable, ExtensionPoint, Services, Tokens } from './ref.ts';
import type { Handler, Permission, RouteDefinition, Surface, SurfaceBehaviour } from './routes.ts';
import type { Static, TObject, TSchema } from './schema.ts';
import type { Extension } from './extensions.ts';

/** Background work of one plugin, kept in the database until it has run. */
export interface JobDefinition<P> extends Durability<P> {
  readonly schema: TSchema;
  run(payload: P, delivery: Delivery): Awaitable<void>;
  /** A cron expression in UTC; one process fires it, with an empty object as payload. */
  readonly cron?: string;
}
export interface Job<P> {
  /** Joins the transaction under way. Resolves to the job's id. */
  add(payload: P, options?: { readonly at?: Date }): Promise<string>;
  /** True when it was still waiting. */
  cancel(id: string): Promise<boolean>;
}

type Maybe = TSchema | undefined;

/** What `setup` is handed besides its services. Everything registered here is undone when the plugin stops. */
export interface PluginHandle<S = unknown> {
  readonly id: string;
  readonly log: Logger;
  /** Aborts when the plugin starts to stop. */
  readonly signal: AbortSignal;
  /** Live values of the plugin's own settings, by full dotted key. Read them when they are needed; do not copy them. */
  readonly settings: S;
  /** Runs after a change of one of the plugin's settings, with the keys that changed. */
  onSettings(run: (keys: readonly string[]) => Awaitable<void>): void;

  readonly on: Listen;
  emit<P>(action: Action<P>, payload: P): Promise<void>;
  filter<V, C>(filter: Filter<V, C>, value: V, context: C): Promise<V>;
  query<I, R>(query: Query<I, R>, input: I): Promise<R | undefined>;

  /** Sets how the plugin's own surface behaves; its routes answer from then on. */
  surface<A, O>(surface: Surface<A, O>, behaviour: SurfaceBehaviour<A, O>): void;
  /** Curried, so that the definition's literal types stay narrow where the handler uses them. */
  route<A, O, P extends Maybe = undefined, Q extends Maybe = undefined, B extends Maybe = undefined, R extends Maybe = undefined, T = undefined>(
    surface: Surface<A, O>, definition: RouteDefinition<A, P, Q, B, R, T>,
  ): (handler: Handler<A, P, Q, B, R, T>) => void;

  /** Adds to anyone's list. Lower `order` comes first. */
  extend<T>(point: ExtensionPoint<T>, value: NoInfer<T>, order?: number): void;
  /** Reads one's own list; the same array until it changes. */
  extensions<T>(point: ExtensionPoint<T>): readonly Extension<T>[];

  /** Runs a part of another plugin that was found in an extension list, under its deadline and quarantine; `undefined` when it failed. */
  attempt<T>(plugin: string, task: string, work: () => Awaitable<T>, deadline?: number): Promise<T | undefined>;

  job<P>(name: string, definition: JobDefinition<P>): Job<P>;
  /** Runs `undo` on stop; last in, first out. */
  defer(undo: () => Awaitable<void>): void;
}

type Provided<P extends Tokens> = keyof P extends never ? void : Services<P>;

export interface PluginDefinition<N extends Tokens, W extends Tokens, P extends Tokens, S extends TObject> {
  /** Kebab-case; equals the folder's name. */
  readonly id: string;
  readonly name?: string;
  readonly version?: string;
  /** One sentence for administrators. */
  readonly description?: string;
  /** Where its files are; set by the loader for plugins it reads from disk. */
  readonly folder?: string;
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
  readonly permissions?: readonly Permission[];
  /** An object schema whose properties are full dotted keys, each with a default. */
  readonly settings?: S;
  readonly entities?: readonly EntityDefinition[];
  /** Run in order, each once, when the plugin is enabled. First-party plugins keep theirs in migrations/<id>/. */
  readonly migrations?: readonly MigrationClass[];
  readonly commands?: readonly Command[];
  setup(services: Services<N> & Partial<Services<W>>, plugin: PluginHandle<Static<S>>): Awaitable<Provided<P>>;
}

// `any` because the kernel holds plugins of unrelated types; `definePlugin` checks each one.
export type Plugin = PluginDefinition<any, any, any, any>;

export function definePlugin<N extends Tokens = {}, W extends Tokens = {}, P extends Tokens = {}, S extends TObject = TObject<{}>>(
  definition: PluginDefinition<N, W, P, S>,
): Plugin {
  return definition;
}
