import { AsyncLocalStorage } from 'node:async_hooks';
import { taskEnded, type TaskMessage } from '../diagnostics.ts';
import { HttpError, messageOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { asPromise, type Awaitable } from '../ref.ts';

/** The limits beyond which one plugin's listener, slot or job is cut off or quarantined. */
export interface SupervisionLimits {
  /** Milliseconds an asynchronous call may take. */
  readonly deadline: number;
  /** Failures in a row after which a task is quarantined. */
  readonly failures: number;
  /** Milliseconds above which a call counts as slow; `failures` slow calls in a row also lead to quarantine. */
  readonly slow: number;
  /** Milliseconds a plugin's `setup` may take. */
  readonly setup: number;
}

/**
 * What callers experience once a task has failed too often in a row: they continue without it (`skip`), get an error
 * immediately (`refuse`, for checks, because skipping one would let through what it is meant to stop), or notice no
 * change (`retry`, for work that is retried anyway).
 */
export type FailurePolicy = 'skip' | 'refuse' | 'retry';

/**
 * A supervised unit of plugin code: a listener, the content of a slot, a job. Counters are plain fields because every
 * hot path updates them.
 */
export interface Task {
  readonly plugin: string;
  readonly task: string;
  readonly policy: FailurePolicy;
  calls: number;
  /** Milliseconds, summed over all calls. */
  time: number;
  /** Milliseconds of the last call. */
  last: number;
  failures: number;
  inRow: number;
  quarantined: boolean;
  /** When a quarantined task may be tried again, in milliseconds of `performance.now`. */
  retryAt: number;
  lastError: string | undefined;
  /** The plugin has stopped: the task is no longer called, and calls still running are not counted. */
  ended: boolean;
}

export interface TaskReport extends Readonly<
  Pick<Task, 'plugin' | 'task' | 'calls' | 'time' | 'last' | 'failures' | 'quarantined' | 'lastError'>
> {
  /** The last calls of a check failed, so everything that it checks is refused. */
  readonly refusing: boolean;
}

/** How often a plugin blocked the event loop, and for how long at most, in milliseconds. */
export interface BlockReport {
  readonly count: number;
  readonly longest: number;
  /** The task that blocked it most recently. */
  readonly task: string;
}

/** A call in progress: it fails when the clock reaches `due`, and is abandoned when `last` is reached. */
interface Pending {
  readonly task: Task;
  readonly due: number;
  readonly last: number;
  readonly expire: (counts: boolean) => void;
}

/** Milliseconds between deadline checks: one shared timer costs less than one per call. */
const TICK = 50;
/**
 * Milliseconds after which a quarantined task is tried once more: a task that was slow only because the database was
 * should not be skipped for good.
 */
const RETRY = { skip: 60_000, refuse: 2_000, retry: 0 } as const;
/**
 * Milliseconds past its deadline that a call may still take while the process is busy. It is abandoned after that,
 * without counting as a failure.
 */
const GRACE_PERIOD = 5_000;
/** Milliseconds of a blocked event loop that count as a block, because every request notices. */
const BLOCK = 50;
/** Milliseconds between two log lines about blocks by the same plugin, or about errors from what it left behind. */
const REMIND = 60_000;

const DEFAULT_LIMITS: SupervisionLimits = { deadline: 5_000, failures: 5, slow: 1_000, setup: 30_000 };

export interface SupervisorOptions {
  /** The number of statements that the database is working on. */
  load?(): number;
  /** Read on every call, so they may change. */
  readonly limits?: SupervisionLimits;
}

/** Runs plugin code with a deadline, measures what it costs, and quarantines tasks that keep failing. */
export class Supervisor {
  readonly #log: Logger;
  readonly #tasks = new Map<string, Set<Task>>();
  readonly #ended = new Set<string>();
  readonly #pending = new Set<Pending>();
  /** Tasks whose call ended when the next tick was already overdue. */
  readonly #overdue = new Set<Task>();
  readonly #blocks = new Map<string, { count: number; longest: number; task: string; reportedAt: number }>();
  /** For errors from what stopped plugins left behind: how many occurred since the last report, and when that was. */
  readonly #left = new Map<string, { readonly times: number; readonly reportedAt: number }>();
  /** The id of the plugin whose code runs, inherited by everything that it starts. */
  readonly #running = new AsyncLocalStorage<string>();
  #timer: NodeJS.Timeout | undefined;
  #watching = false;
  /**
   * Milliseconds counted by the timer. It stands still while the event loop is blocked, which is not held against any
   * plugin.
   */
  #lived = 0;
  /**
   * Milliseconds that plugin code had to itself, by which deadlines are measured. It advances only while the event loop
   * is idle, so that heavy traffic makes no plugin late, and more slowly the more statements are running, because they
   * share the database.
   */
  #clock = 0;
  /**
   * State at the last tick: the event loop's idle milliseconds, the time, and the milliseconds of blocks attributed to
   * a plugin since.
   */
  #seen = { idle: 0, at: 0, blocked: 0 };
  readonly limits: SupervisionLimits;
  readonly #load: () => number;

  constructor(log: Logger, { load = () => 0, limits = DEFAULT_LIMITS }: SupervisorOptions = {}) {
    this.#log = log;
    this.#load = load;
    this.limits = limits;
  }

  /** The plugin whose code runs, or that started what runs: a timer, a connection, an unawaited promise. */
  get current(): string | undefined {
    return this.#running.getStore();
  }

  /** Runs `work` on behalf of a plugin, so that `current` names it. */
  within<T>(plugin: string, work: () => T): T {
    return this.#running.run(plugin, work);
  }

  /** A plugin starts: its tasks are recorded from here on. */
  begin(plugin: string): void {
    this.#ended.delete(plugin);
  }

  /** Creates a task of a plugin, kept until `forget`. */
  task(plugin: string, name: string, policy: FailurePolicy = 'skip'): Task {
    const ended = this.#ended.has(plugin);
    const task: Task = {
      plugin,
      task: name,
      policy,
      calls: 0,
      time: 0,
      last: 0,
      failures: 0,
      inRow: 0,
      quarantined: false,
      retryAt: 0,
      lastError: undefined,
      ended,
    };
    if (!ended) this.#tasks.set(plugin, (this.#tasks.get(plugin) ?? new Set()).add(task));
    return task;
  }

  /** The task of something looked up by name each time, such as the content of a slot; created on first use. */
  named(plugin: string, name: string, policy: FailurePolicy = 'skip'): Task {
    return [...(this.#tasks.get(plugin) ?? [])].find(({ task }) => task === name) ?? this.task(plugin, name, policy);
  }

  /** Ends one task, or all tasks of a plugin that stopped. */
  forget(plugin: string, task?: Task): void {
    const tasks = this.#tasks.get(plugin);
    for (const one of task ? [task] : (tasks ?? [])) {
      one.ended = true;
      tasks?.delete(one);
    }
    if (task) return;
    this.#tasks.delete(plugin);
    this.#blocks.delete(plugin);
    this.#ended.add(plugin);
  }

  /**
   * Counts an error thrown by something that a stopped plugin left behind. Returns the number of errors since the last
   * report; undefined if it is too soon to report again.
   */
  left(plugin: string): number | undefined {
    const now = performance.now();
    const { times, reportedAt } = this.#left.get(plugin) ?? { times: 0, reportedAt: -Infinity };
    const due = now - reportedAt >= REMIND;
    this.#left.set(plugin, due ? { times: 0, reportedAt: now } : { times: times + 1, reportedAt });
    return due ? times + 1 : undefined;
  }

  /** Resolves when no call of the plugin with a deadline is in progress, or after the common deadline. */
  async idle(plugin: string): Promise<void> {
    const busy = (): boolean => [...this.#pending].some(({ task, due }) => task.plugin === plugin && due !== Infinity);
    for (const end = performance.now() + this.limits.deadline; busy() && performance.now() < end;)
      await new Promise((resolve) => setTimeout(resolve, 5));
  }

  /**
   * Returns or throws what `work` does, synchronously or as a promise, which rejects with an error naming the task and
   * the limit when the deadline passes. Synchronous work cannot be cut off, only counted. Returns `undefined` for a
   * task that is quarantined or has ended; a quarantined task with the policy `refuse` throws instead.
   */
  run<T>(task: Task, work: () => T | Promise<T>, deadline: number = this.limits.deadline): T | Promise<T> | undefined {
    const start = performance.now();
    if (task.ended) return undefined;
    if (task.quarantined && start < task.retryAt) {
      if (task.policy === 'refuse')
        throw new Error(`${task.task} failed ${task.inRow} times in a row, most recently: ${task.lastError}`);
      return undefined;
    }
    task.retryAt = start + RETRY[task.policy]; // A single call tries it again; concurrent ones still skip it.
    try {
      const result = asPromise(this.within(task.plugin, work));
      const stretch = performance.now() - start;
      if (stretch >= BLOCK) this.#blocked(task.plugin, task.task, stretch);
      return result instanceof Promise
        ? this.#wait(task, result, start, stretch, deadline)
        : this.#done(task, result, stretch, stretch);
    } catch (error) {
      const stretch = performance.now() - start;
      if (stretch >= BLOCK) this.#blocked(task.plugin, task.task, stretch);
      throw this.#failed(task, error, start);
    }
  }

  /**
   * Like `run`, for callers that continue without the task: errors are logged and counted, and resolve to `undefined`.
   */
  attempt<T>(task: Task, work: () => T | Promise<T>, deadline?: number): Promise<T | undefined> {
    return Promise.try(() => this.run(task, work, deadline)).catch(() => undefined);
  }

  /** Like `attempt`, for work that must be synchronous; a promise counts as a failure. */
  attemptSync<T>(task: Task, work: () => T): T | undefined {
    const now = (): T => {
      const result = work();
      if (!(result instanceof Promise)) return result;
      result.catch(() => undefined);
      throw new TypeError(`${task.task} returned a promise, but must be synchronous`);
    };
    try {
      return this.run(task, now) as T | undefined;
    } catch {
      return undefined;
    }
  }

  /** Returns what `work` returns; records the plugin if that blocked the event loop. */
  stretch<T>(plugin: string, what: string, work: () => T): T {
    const start = performance.now();
    try {
      return this.within(plugin, work);
    } finally {
      const stretch = performance.now() - start;
      if (stretch >= BLOCK) this.#blocked(plugin, what, stretch);
    }
  }

  report(): readonly TaskReport[] {
    return [...this.#tasks.values()].flatMap((tasks) =>
      [...tasks].map(({ plugin, task, policy, calls, time, last, failures, inRow, quarantined, lastError }) => ({
        plugin,
        task,
        calls,
        time,
        last,
        failures,
        quarantined: quarantined && policy === 'skip',
        refusing: policy === 'refuse' && inRow > 0,
        lastError,
      })),
    );
  }

  /** Undefined if the plugin never blocked the event loop. */
  blocks(plugin: string): BlockReport | undefined {
    const found = this.#blocks.get(plugin);
    return found && { count: found.count, longest: found.longest, task: found.task };
  }

  /** Counts a failure that could not be reported to any caller, such as a rejected promise that was not awaited. */
  note(plugin: string, name: string, error: unknown): void {
    const task = this.named(plugin, name);
    task.failures++;
    task.lastError = messageOf(error);
  }

  /** Lifts the quarantine of a plugin's tasks. */
  release(plugin: string): void {
    for (const task of this.#tasks.get(plugin) ?? []) Object.assign(task, { quarantined: false, inRow: 0 });
  }

  /** Detects blocks of the event loop from here on, even those caused by work that nobody awaits. */
  watch(): void {
    this.#watching = true;
    this.#start();
  }

  close(): void {
    this.#watching = false;
    this.#pause();
  }

  #wait<T>(task: Task, result: Promise<T>, start: number, stretch: number, deadline: number): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#start();
      const from = this.#clock;
      const end = (): boolean => {
        if (performance.now() - this.#seen.at >= TICK + BLOCK) this.#overdue.add(task);
        return this.#pending.delete(pending);
      };
      const expire = (counts: boolean): void => {
        const error = new Error(`${task.task} did not finish within ${deadline} ms`);
        if (end()) reject(counts ? this.#failed(task, error, start) : error);
      };
      const due = from + Math.max(0, deadline - stretch) + TICK;
      const pending: Pending = { task, due, last: this.#lived + deadline + GRACE_PERIOD, expire };
      this.#pending.add(pending);
      result.then(
        (value) =>
          void (end() && resolve(this.#done(task, value, performance.now() - start, stretch + this.#clock - from))),
        (error: unknown) => void (end() && reject(this.#failed(task, error, start))),
      );
    });
  }

  #start(): void {
    if (this.#timer) return;
    this.#seen = { idle: performance.nodeTiming.idleTime, at: performance.now(), blocked: 0 };
    this.#timer = setInterval(() => this.#tick(), TICK).unref();
  }

  #pause(): void {
    this.#overdue.clear();
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    if (this.#pending.size === 0 && !this.#watching) return this.#pause();
    const seen = { idle: performance.nodeTiming.idleTime, at: performance.now(), blocked: 0 };
    const late = seen.at - this.#seen.at - TICK;
    const idle = seen.idle - this.#seen.idle;
    // Busy the whole time without a known cause: blame the plugin that was active then, if there was only one.
    if (late >= BLOCK && idle < TICK && this.#seen.blocked < late / 2) this.#unexplained(late);
    this.#overdue.clear();
    this.#seen = seen;
    this.#lived += TICK;
    this.#clock += Math.min(idle, TICK) / Math.max(1, this.#load());
    for (const { due, last, expire } of this.#pending)
      if (due <= this.#clock || last <= this.#lived) expire(due <= this.#clock);
  }

  #unexplained(late: number): void {
    const [first, ...others] = new Map(
      [...[...this.#pending].map(({ task }) => task), ...this.#overdue].map((task) => [task.plugin, task]),
    ).values();
    if (first && others.length === 0) this.#blocked(first.plugin, first.task, late);
  }

  #blocked(plugin: string, task: string, took: number): void {
    const longest = Math.round(took);
    const before = this.#blocks.get(plugin) ?? { count: 0, longest: 0, task, reportedAt: -Infinity };
    const now = performance.now();
    const due = now - before.reportedAt >= REMIND;
    this.#seen.blocked += took;
    this.#blocks.set(plugin, {
      count: before.count + 1,
      longest: Math.max(before.longest, longest),
      task,
      reportedAt: due ? now : before.reportedAt,
    });
    if (due)
      this.#log.warn(
        { plugin, task, milliseconds: longest },
        'blocked the whole process; move long work to a worker or split it up',
      );
  }

  #done<T>(task: Task, value: T, took: number, own: number): T {
    this.#record(task, took);
    if (own >= this.limits.slow && task.policy === 'skip') this.#count(task, `took ${Math.round(took)} ms`);
    else [task.inRow, task.quarantined] = [0, false];
    return value;
  }

  #record(task: Task, took: number): void {
    task.calls++;
    task.time += took;
    task.last = took;
    if (!taskEnded.hasSubscribers) return;
    const message: TaskMessage = { plugin: task.plugin, task: task.task, milliseconds: took };
    taskEnded.publish(message);
  }

  #failed(task: Task, error: unknown, start: number): unknown {
    if (task.ended) return error;
    this.#record(task, performance.now() - start);
    // Refusing is what a check is for, so an error meant for the caller is not a failure.
    if (error instanceof HttpError && error.status < 500) {
      if (task.policy === 'refuse') [task.inRow, task.quarantined] = [0, false];
      return error;
    }
    task.failures++;
    this.#log.error({ plugin: task.plugin, task: task.task, error }, 'plugin code failed');
    this.#count(task, (task.lastError = messageOf(error)));
    return error;
  }

  #count(task: Task, why: string): void {
    if (++task.inRow < this.limits.failures || task.policy === 'retry' || task.quarantined) return;
    Object.assign(task, { quarantined: true, lastError: why });
    this.#log.error({ plugin: task.plugin, task: task.task, why }, QUARANTINED[task.policy]);
  }
}

const QUARANTINED = {
  skip: 'quarantined: it is skipped, except for one attempt per minute, until it succeeds, an administrator releases it or the plugin restarts',
  refuse:
    'rejects everything it checks, except for one attempt every two seconds, until it succeeds or the plugin is switched off',
} as const;

/**
 * Rejects, naming `what`, if `work` has not finished within so many milliseconds. `work` is not aborted; its later
 * outcome is ignored.
 */
export async function inTime<T>(work: () => Awaitable<T>, milliseconds: number, what: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`${what} did not finish within ${milliseconds} ms`)), milliseconds);
  try {
    return await Promise.race([Promise.try(work), promise]);
  } finally {
    clearTimeout(timer);
  }
}
