import { HttpError, messageOf } from './errors.ts';
import type { Logger } from './logger.ts';

/** Limits of one plugin's listener, slot or job before it is cut off or set aside. */
export interface SupervisionLimits {
  /** Milliseconds an asynchronous call may take. */
  readonly deadline: number;
  /** Failures in a row after which a task is quarantined. */
  readonly failures: number;
  /** Milliseconds above which a call counts as slow; `failures` slow calls in a row quarantine too. */
  readonly slow: number;
}

/** One supervised thing: a listener, a slot's filling, a job. Counters are plain fields because they are on every hot path. */
export interface Task {
  readonly plugin: string;
  readonly task: string;
  /** A guard is never set aside: skipping it would let through what it refuses. */
  readonly guard: boolean;
  calls: number;
  /** Milliseconds, summed over all calls. */
  time: number;
  failures: number;
  inRow: number;
  quarantined: boolean;
  /** From when on one that is quarantined may try again, in milliseconds of the process. */
  again: number;
  lastError: string | undefined;
}

export type TaskReport = Readonly<Omit<Task, 'guard' | 'inRow' | 'again'>>;

/** How often deadlines are looked at, in milliseconds: one timer for all of them costs less than one each. */
const TICK = 50;
/** Milliseconds after which what is quarantined is tried once more: what was slow because the database was shall not stay away for good. */
const RETRY = 60_000;

/** Runs plugin code under a deadline, counts what it costs, and sets aside what keeps failing. */
export class Supervisor {
  readonly #log: Logger;
  readonly #tasks = new Map<string, Set<Task>>();
  /** What to do with calls that have not ended by when they must have, in milliseconds of `#lived`. */
  readonly #pending = new Map<() => void, number>();
  #timer: NodeJS.Timeout | undefined;
  /** Milliseconds that the timer has counted, which deadlines go by: it counts none while the process is kept from running, which is no plugin's fault. */
  #lived = 0;
  limits: SupervisionLimits = { deadline: 5_000, failures: 5, slow: 1_000 };

  constructor(log: Logger) {
    this.#log = log;
  }

  /** A new task of a plugin, kept until `forget`. */
  task(plugin: string, name: string, guard = false): Task {
    const task: Task = { plugin, task: name, guard, calls: 0, time: 0, failures: 0, inRow: 0, quarantined: false, again: 0, lastError: undefined };
    this.#tasks.set(plugin, (this.#tasks.get(plugin) ?? new Set()).add(task));
    return task;
  }

  /** The task of something that is found by name each time, such as a slot's filling; made on first use. */
  named(plugin: string, name: string): Task {
    return [...(this.#tasks.get(plugin) ?? [])].find(({ task }) => task === name) ?? this.task(plugin, name);
  }

  /** Stops counting one task, or all of a plugin that stopped. */
  forget(plugin: string, task?: Task): void {
    void (task ? this.#tasks.get(plugin)?.delete(task) : this.#tasks.delete(plugin));
  }

  /**
   * Returns what `work` returns, or throws what it throws, at once or as a promise, which rejects with an error naming task and limit
   * when the deadline passed. Synchronous work cannot be cut off, only counted. `undefined` for a task that is set aside.
   */
  run<T>(task: Task, work: () => T | Promise<T>, deadline: number = this.limits.deadline): T | Promise<T> | undefined {
    const start = performance.now();
    if (task.quarantined && start < task.again) return undefined;
    task.again = start + RETRY; // One call tries; the others go on without it.
    try {
      const result = work();
      return result instanceof Promise ? this.#wait(task, result, start, deadline) : this.#done(task, result, start);
    } catch (error) {
      throw this.#failed(task, error, start);
    }
  }

  /** As `run`, for whoever goes on without the task: what it throws is logged and counted, and `undefined`. */
  attempt<T>(task: Task, work: () => T | Promise<T>, deadline?: number): Promise<T | undefined> {
    return Promise.try(() => this.run(task, work, deadline)).catch(() => undefined);
  }

  report(): readonly TaskReport[] {
    return [...this.#tasks.values()].flatMap((tasks) => [...tasks].map(({ guard: _guard, inRow: _inRow, again: _again, ...report }) => report));
  }

  /** Lets what was quarantined of a plugin run again. */
  release(plugin: string): void {
    for (const task of this.#tasks.get(plugin) ?? []) Object.assign(task, { quarantined: false, inRow: 0 });
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #wait<T>(task: Task, result: Promise<T>, start: number, deadline: number): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => void (this.#pending.delete(expire) && reject(this.#failed(task, error, start)));
      const expire = (): void => fail(new Error(`${task.task} did not finish within ${deadline} ms`));
      this.#timer ??= setInterval(() => this.#tick(), TICK).unref();
      this.#pending.set(expire, this.#lived + deadline + TICK);
      result.then((value) => void (this.#pending.delete(expire) && resolve(this.#done(task, value, start))), fail);
    });
  }

  #tick(): void {
    if (this.#pending.size === 0) return this.close();
    this.#lived += TICK;
    for (const [expire, due] of this.#pending) if (due <= this.#lived) expire();
  }

  #done<T>(task: Task, value: T, start: number): T {
    const took = performance.now() - start;
    task.calls++;
    task.time += took;
    if (took >= this.limits.slow) this.#count(task, `took ${Math.round(took)} ms`);
    else [task.inRow, task.quarantined] = [0, false];
    return value;
  }

  #failed(task: Task, error: unknown, start: number): unknown {
    task.calls++;
    task.time += performance.now() - start;
    // A refusal meant for the caller is what a guard is for; it has not failed.
    if (error instanceof HttpError && error.status < 500) return error;
    task.failures++;
    this.#log.error({ plugin: task.plugin, task: task.task, error }, 'plugin code failed');
    this.#count(task, (task.lastError = messageOf(error)));
    return error;
  }

  #count(task: Task, why: string): void {
    if (++task.inRow < this.limits.failures || task.guard || task.quarantined) return;
    Object.assign(task, { quarantined: true, lastError: why });
    this.#log.error({ plugin: task.plugin, task: task.task, why }, 'quarantined: it is skipped, but for one try a minute, until it works, an administrator releases it or the plugin restarts');
  }
}
