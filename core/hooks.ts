import Emittery from 'emittery';
import type { TSchema } from 'typebox';
import type { Batch } from './data/database.ts';
import { hookRaised } from './diagnostics.ts';
import { chainOf, HttpError, PluginError } from './errors.ts';
import { asPromise, createRef, defineToken, type Awaitable, type Ref, type RefOptions } from './ref.ts';
import { check } from './schema.ts';
import type { Supervisor, Task } from './plugins/supervisor.ts';

/**
 * Announces that something happened. Listeners run in parallel after the commit, and only those that ask for it are
 * awaited; their errors are logged, never thrown.
 */
export interface Action<P> extends Ref<'action', P> {
  /** Schema of the part of the payload that integrators receive; without it the action is internal. */
  readonly public: TSchema | undefined;
}
/** Passes a value through its listeners. They run in order, and each receives the previous one's result. */
export interface Filter<V, C> extends Ref<'filter', (value: V, context: C) => V> {
  /**
   * What to do when a listener throws or hangs: `skip` keeps the value as it was before that listener; `abort` fails
   * with 503, unless the listener threw an `HttpError` of its own.
   */
  readonly failure: 'skip' | 'abort';
}
/** Asks a question. Listeners run in order until one returns something other than `undefined`. */
export interface Query<I, R> extends Ref<'query', (input: I) => R> {}
// `any` because the bus carries hooks of unrelated types; each ref restores its own type.
export type Hook = Action<any> | Filter<any, any> | Query<any, any>;

/** `public` is the schema of what integrators receive. Throws `TypeError` for an id with invalid characters. */
export const defineAction = <P>(id: string, options: RefOptions & { public?: TSchema } = {}): Action<P> =>
  Object.freeze({ ...createRef<'action', P>('action', id, options), public: options.public });
/** `failure` says what happens when a listener fails: see `Filter`. Throws like `defineAction`. */
export const defineFilter = <V, C = void>(
  id: string,
  failure: 'skip' | 'abort' = 'skip',
  options?: RefOptions,
): Filter<V, C> =>
  Object.freeze({ ...createRef<'filter', (value: V, context: C) => V>('filter', id, options), failure });
/** Throws like `defineAction`. */
export const defineQuery = <I, R>(id: string, options?: RefOptions): Query<I, R> => createRef('query', id, options);

export interface ListenOptions {
  /** Lower runs earlier; ties keep the order in which plugins started. Default 0. */
  readonly order?: number;
  /**
   * Actions only: the code that raised the action continues, and its response is sent, only once this listener has
   * finished or hit its deadline. For work that the very next request depends on, such as invalidating a cache. All
   * other listeners run alongside the response. Default false.
   */
  readonly awaited?: boolean;
}

/**
 * How a durable listener's calls are stored, retried and limited. The handler must be idempotent: it runs at least
 * once.
 */
export interface Durability<P> {
  /** Required when a plugin listens to the same action more than once. Part of the stored name, so keep it stable. */
  readonly id?: string;
  /** Seconds before each retry; after the last one the job is kept as failed. Default 5, 300, 1800, 7200. */
  readonly retry?: readonly number[];
  /** Jobs with the same key share the `perKey` limit; default: no key. */
  key?(payload: P): string;
  /**
   * Maximum number of jobs with the same key that run at a time, across all processes. They start in the order in which
   * they are due.
   */
  readonly perKey?: number;
  /** Maximum number that run at a time in this process. Default 4. */
  readonly limit?: number;
  /**
   * The job mostly waits for other servers, so it does not count towards this process's overall job capacity and is not
   * limited by it. Default false.
   */
  readonly external?: boolean;
}

/** One attempt at a durable listener's call or at a job. */
export interface Delivery {
  /** The id under which the action was raised; the same for all attempts. */
  readonly id: string;
  /** Starts at 1. */
  readonly attempt: number;
  /** Aborts when the plugin stops or the lease is lost. */
  readonly signal: AbortSignal;
}

/**
 * The type of the handle's `on`: the payload comes first, and the hook's kind determines the return type. An action
 * listener's result is ignored, but awaited if the listener asks for that.
 */
export interface Listen {
  <P>(
    hook: Action<P>,
    run: (payload: P, delivery: Delivery) => unknown,
    options: ListenOptions & { readonly durable: true | Durability<P> },
  ): void;
  <P>(hook: Action<P>, run: (payload: P) => unknown, options?: ListenOptions): void;
  <V, C>(hook: Filter<V, C>, run: (value: V, context: C) => Awaitable<V>, options?: ListenOptions): void;
  <I, R>(hook: Query<I, R>, run: (input: I) => Awaitable<R | undefined>, options?: ListenOptions): void;
}

/** Gives access to the current transaction and to the durable listeners. */
export interface Outbox {
  /** The batch of the current transaction, if there is one. */
  batch(): Batch | undefined;
  /**
   * Stores jobs for the action's durable listeners, in the batch's transaction or immediately; undefined if there are
   * none.
   */
  store(action: string, payload: unknown, batch: Batch | undefined): Promise<void> | undefined;
}

type Run = (...args: any[]) => unknown;
/** One plugin's listener on a hook. */
export interface Listener {
  readonly task: Task;
  readonly order: number;
  readonly awaited: boolean;
}
interface Link extends Listener {
  readonly run: Run;
}

/** Every hook of the running plugins with its owner, for plugins that offer hooks to integrators. */
export interface Hooks {
  hooks(): readonly { readonly plugin: string; readonly hook: Hook }[];
  /**
   * The part of an action's payload that integrators may receive. Throws for an action without a public schema and for
   * a payload that does not match it.
   */
  publicData(action: Action<any>, payload: unknown): object;
}
export const Hooks = defineToken<Hooks>('Hooks');

export class HookBus implements Hooks {
  readonly #actions = new Emittery<Record<string, unknown>>();
  /** Listeners by hook kind and id, in the order in which they run; those of an action start together. */
  readonly #chains = new Map<string, readonly Link[]>();
  readonly #owners = new Map<string, { readonly plugin: string; readonly hook: Hook }>();
  readonly #supervisor: Supervisor;
  readonly #outbox: Outbox;

  constructor(supervisor: Supervisor, outbox: Outbox = { batch: () => undefined, store: () => undefined }) {
    this.#supervisor = supervisor;
    this.#outbox = outbox;
  }

  /** Makes `plugin` the owner of `hooks`, so that only it may raise them, until the returned function is called. */
  own(plugin: string, hooks: readonly Hook[]): () => void {
    const taken = hooks.find(({ id }) => this.#owners.has(id));
    if (taken)
      throw new PluginError(
        plugin,
        `lists the hook "${taken.id}", which belongs to "${this.#owners.get(taken.id)!.plugin}"; give it another id`,
      );
    for (const hook of hooks) this.#owners.set(hook.id, { plugin, hook });
    return () => hooks.forEach(({ id }) => this.#owners.delete(id));
  }

  /** Returns the hook if `plugin` lists it; throws otherwise. */
  owned<H extends Hook>(plugin: string, hook: H): H {
    const owner = this.#owners.get(hook.id)?.plugin;
    if (owner === plugin) return hook;
    const why = owner ? `, which belongs to "${owner}"` : ' before listing it under `hooks` in plugin.ts';
    throw new PluginError(plugin, `may not raise "${hook.id}"${why}`);
  }

  hooks(): readonly { readonly plugin: string; readonly hook: Hook }[] {
    return [...this.#owners.values()];
  }

  publicData({ id, public: schema }: Action<any>, payload: unknown): object {
    if (!schema) throw new TypeError(`"${id}" has no public schema`);
    const checked = check(schema, payload);
    if (checked.ok) return checked.value as object;
    const problems = checked.problems.map(({ field, message }) => `${field} ${message}`).join(', ');
    throw new Error(
      `"${id}" was raised with a payload that does not match its public schema: ${problems}; correct one of the two`,
    );
  }

  listen(plugin: string, hook: Hook, run: Run, { order = 0, awaited = false }: ListenOptions = {}): () => void {
    const task = this.#supervisor.task(
      plugin,
      `${hook.kind} ${hook.id}`,
      hook.kind === 'filter' && hook.failure === 'abort' ? 'refuse' : 'skip',
    );
    // Emittery awaits whatever a listener returns, so return nothing unless the listener is to be awaited.
    const hear = ({ data }: { readonly data: unknown }): Promise<void> | undefined => {
      const ended = this.#supervisor.attempt(task, () => run(data)) as Promise<void>;
      return awaited ? ended : undefined;
    };
    const leave = this.#chain(hook, { task, order, awaited, run });
    const stop = hook.kind === 'action' ? this.#actions.on(hook.id, hear) : undefined;
    return () => {
      stop?.();
      leave();
      this.#supervisor.forget(plugin, task);
    };
  }

  /**
   * Resolves when every awaited listener has settled or hit its deadline. Inside a transaction it only queues the
   * action.
   */
  emit<P>(hook: Action<P>, payload: P): Promise<void> {
    hookRaised.publish(hook);
    const batch = this.#outbox.batch();
    const stored = this.#outbox.store(hook.id, payload, batch);
    if (this.#actions.listenerCount(hook.id) === 0) return stored ?? Promise.resolve();
    const send = (): Promise<void> => this.#actions.emit(hook.id, payload);
    if (!batch) return stored ? stored.then(send) : send();
    batch.afterCommit.push(send);
    return Promise.resolve();
  }

  async filter<V, C>(hook: Filter<V, C>, start: V, context: C): Promise<V> {
    hookRaised.publish(hook);
    let value = start;
    for (const { task, run } of this.#links(hook)) {
      try {
        const result = this.#supervisor.run(task, () => kept(run(value, context), hook.id));
        const next = result instanceof Promise ? await result : result;
        if (next !== undefined) value = next as V;
      } catch (error) {
        if (hook.failure === 'abort') throw refusal(task, error);
      }
    }
    return value;
  }

  async query<I, R>(hook: Query<I, R>, input: I): Promise<R | undefined> {
    hookRaised.publish(hook);
    for (const { task, run } of this.#links(hook)) {
      const answer = await this.#supervisor.attempt(task, () => run(input));
      if (answer !== undefined) return answer as R;
    }
    return undefined;
  }

  /** Number of listeners, for the leak check and the admin page. */
  count(): number {
    return [...this.#chains.values()].reduce((n, chain) => n + chain.length, 0);
  }

  /** The hook's listeners in the order in which they run, without the durable ones, whose calls are jobs. */
  listeners(hook: Hook): readonly Listener[] {
    return this.#links(hook);
  }

  #links({ kind, id }: Hook): readonly Link[] {
    return this.#chains.get(`${kind} ${id}`) ?? NONE;
  }

  #chain(hook: Hook, link: Link): () => void {
    const set = (links: readonly Link[]): void => void this.#chains.set(`${hook.kind} ${hook.id}`, links);
    set([...this.#links(hook), link].sort((a, b) => a.order - b.order));
    return () => set(this.#links(hook).filter((other) => other !== link));
  }
}

const NONE: readonly Link[] = [];

/**
 * The refusal that a check threw for the caller to see, or else a 503 saying that the check failed; those who can
 * switch the plugin off also get its name.
 */
export function refusal({ plugin, task }: Task, error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const operators = `The plugin "${plugin}" could not check this, so it was refused: ${chainOf(error, plugin)} (${task}). Fix it, or switch it off`;
  return new HttpError(503, 'This cannot be checked right now, so it was not accepted; try again in a minute', {
    headers: { 'Retry-After': '60' },
    operators,
    cause: error,
  });
}

/** A filter that returns `undefined` most likely forgot its `return`: better a clear error than a lost value. */
function kept(returned: unknown, hook: string): unknown {
  const result = asPromise(returned);
  if (result instanceof Promise) return result.then((value) => kept(value, hook));
  if (result === undefined)
    throw new Error(`a listener of the filter "${hook}" returned nothing; return the value, changed or not`);
  return result;
}
