import Emittery from 'emittery';
import type { TSchema } from 'typebox';
import type { Batch } from './data/database.ts';
import { hookRaised } from './diagnostics.ts';
import { chainOf, HttpError, PluginError } from './errors.ts';
import { asPromise, createRef, defineToken, type Awaitable, type Ref, type RefOptions } from './ref.ts';
import { check } from './schema.ts';
import type { Supervisor, Task } from './plugins/supervisor.ts';

/**
 * Something happened. Listeners run in parallel after the commit, and only those that ask for it are waited for; what
 * they throw is logged, never raised.
 */
export interface Action<P> extends Ref<'action', P> {
  /** What integrators may receive of the payload; without it the action stays inside. */
  readonly public: TSchema | undefined;
}
/** A value on its way through. Listeners run in order, each gets the last one's result. */
export interface Filter<V, C> extends Ref<'filter', (value: V, context: C) => V> {
  /**
   * What a listener that throws or hangs does: `skip` keeps the value it was given, `abort` refuses with 503, unless it
   * threw a refusal of its own.
   */
  readonly failure: 'skip' | 'abort';
}
/** A question. Listeners run in order until one answers something other than `undefined`. */
export interface Query<I, R> extends Ref<'query', (input: I) => R> {}
// `any` because the bus carries hooks of unrelated types; refs give each its type back.
export type Hook = Action<any> | Filter<any, any> | Query<any, any>;

/** `public` is the schema of what integrators receive. Throws `TypeError` for an id with characters that ids may not have. */
export const defineAction = <P>(id: string, options: RefOptions & { public?: TSchema } = {}): Action<P> =>
  Object.freeze({ ...createRef<'action', P>('action', id, options), public: options.public });
/** `failure` says what happens where a listener fails: see `Filter`. Throws as `defineAction` does. */
export const defineFilter = <V, C = void>(
  id: string,
  failure: 'skip' | 'abort' = 'skip',
  options?: RefOptions,
): Filter<V, C> =>
  Object.freeze({ ...createRef<'filter', (value: V, context: C) => V>('filter', id, options), failure });
/** Throws as `defineAction` does. */
export const defineQuery = <I, R>(id: string, options?: RefOptions): Query<I, R> => createRef('query', id, options);

export interface ListenOptions {
  /** Lower runs earlier; equal keeps the order in which plugins started. Default 0. */
  readonly order?: number;
  /**
   * Of an action: whoever raised it goes on, and answers, only when this listener has ended or met its deadline. For
   * what the very next request must find done, such as dropping what a cache holds. Everything else runs beside the
   * answer. Default false.
   */
  readonly awaited?: boolean;
}

/**
 * How a durable listener's work is kept, retried and limited. Its handler must be idempotent: it runs at least once.
 */
export interface Durability<P> {
  /** Needed when one plugin listens to one action more than once; part of the stored name, so keep it stable. */
  readonly id?: string;
  /** Seconds before each further attempt; after the last the work is kept as failed. Default 5, 300, 1800, 7200. */
  readonly retry?: readonly number[];
  /** Works of equal key share `perKey`; default: no key. */
  key?(payload: P): string;
  /** How many of one key run at a time, over all processes. They begin in the order in which they are due. */
  readonly perKey?: number;
  /** How many run at a time in this process. Default 4. */
  readonly limit?: number;
  /**
   * It waits for other servers more than it works: what runs of it takes no room from other work of this process, nor
   * the other way round. Default false.
   */
  readonly external?: boolean;
}

/** One attempt at durable work. */
export interface Delivery {
  /** Stable over attempts: the id under which the action was raised. */
  readonly id: string;
  /** 1 for the first. */
  readonly attempt: number;
  /** Aborts when the plugin stops or the lease was lost. */
  readonly signal: AbortSignal;
}

/**
 * How the handle's `on` is typed: a payload comes first, what must be returned depends on the hook's kind. What a
 * listener to an action returns is awaited where it says so, and not looked at.
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

/** Where the transaction under way and the durable listeners are known. */
export interface Outbox {
  /** The transaction's, if one is under way. */
  batch(): Batch | undefined;
  /**
   * Keeps the work of the action's durable listeners, in the batch's transaction or at once; undefined when there is
   * none.
   */
  store(action: string, payload: unknown, batch: Batch | undefined): Promise<void> | undefined;
}

type Run = (...args: any[]) => unknown;
/** One plugin's listener to a hook. */
export interface Listener {
  readonly task: Task;
  readonly order: number;
  readonly awaited: boolean;
}
interface Link extends Listener {
  readonly run: Run;
}

/** Every hook of the running plugins with its owner, for whoever offers them to integrators. */
export interface Hooks {
  hooks(): readonly { readonly plugin: string; readonly hook: Hook }[];
  /**
   * What integrators may receive of an action's payload. Throws for an action without a public schema, and for a
   * payload that does not fit it.
   */
  publicData(action: Action<any>, payload: unknown): object;
}
export const Hooks = defineToken<Hooks>('Hooks');

export class HookBus implements Hooks {
  readonly #actions = new Emittery<Record<string, unknown>>();
  /** By kind and id, in the order in which they run; those of actions begin together. */
  readonly #chains = new Map<string, readonly Link[]>();
  readonly #owners = new Map<string, { readonly plugin: string; readonly hook: Hook }>();
  readonly #supervisor: Supervisor;
  readonly #outbox: Outbox;

  constructor(supervisor: Supervisor, outbox: Outbox = { batch: () => undefined, store: () => undefined }) {
    this.#supervisor = supervisor;
    this.#outbox = outbox;
  }

  /** Makes `plugin` the owner of `hooks`: only it may raise them. Undone when it stops. */
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

  /** The hook, if `plugin` lists it; throws otherwise. */
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
      `"${id}" was raised with a payload that does not fit its public schema: ${problems}; correct one of the two`,
    );
  }

  listen(plugin: string, hook: Hook, run: Run, { order = 0, awaited = false }: ListenOptions = {}): () => void {
    const task = this.#supervisor.task(
      plugin,
      `${hook.kind} ${hook.id}`,
      hook.kind === 'filter' && hook.failure === 'abort' ? 'refuse' : 'skip',
    );
    // What a listener returns is waited for, so whoever is not to be awaited returns nothing.
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
   * Resolves when every listener that is to be awaited has settled or met its deadline. Inside a transaction it only
   * queues.
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

  /** For the leak check and the admin page. */
  count(): number {
    return [...this.#chains.values()].reduce((n, chain) => n + chain.length, 0);
  }

  /** Who listens, but for those whose calls are jobs, in the order in which they run. */
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
 * What a check threw for the caller to see, or that it cannot check at all, which names the plugin to those who can
 * switch it off.
 */
export function refusal({ plugin, task }: Task, error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  const operators = `The plugin "${plugin}" could not check this, so it was refused: ${chainOf(error, plugin)} (${task}). Mend it, or switch it off`;
  return new HttpError(503, 'This cannot be checked at the moment, so it was not accepted; try again in a minute', {
    headers: { 'Retry-After': '60' },
    operators,
    cause: error,
  });
}

/** `undefined` from a filter is a forgotten `return`: better a named error than a vanished value. */
function kept(returned: unknown, hook: string): unknown {
  const result = asPromise(returned);
  if (result instanceof Promise) return result.then((value) => kept(value, hook));
  if (result === undefined)
    throw new Error(`a listener of the filter "${hook}" returned nothing; return the value, changed or not`);
  return result;
}
