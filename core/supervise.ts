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
  lastError: string | undefined;
}

export type TaskReport = Readonly<Omit<Task, 'guard' | 'inRow'>>;

interface Pending {
  readonly due: number;
  readonly expire: () => unknown;
}

/** How often deadlines are looked at, in milliseconds: one timer for all of them costs less than one each. */
const TICK = 50;

/** Runs plugin code under a deadline, counts what it costs, and sets aside what keeps failing. */
export class Supervisor {
  readonly #log: Logger;
  readonly #tasks = new Map<string, Set<Task>>();
  readonly #pending = new Set<Pending>();
  readonly #folders = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  limits: SupervisionLimits = { deadline: 5_000, failures: 5, slow: 1_000 };

  constructor(log: Logger) {
    this.#log = log;
  }

  /** A new task of a plugin, kept until `forget`. */
  task(plugin: string, name: string, guard = false): Task {
    const task: Task = { plugin, task: name, guard, calls: 0, time: 0, failures: 0, inRow: 0, quarantined: false, lastError: undefined };
    this.#tasks.set(plugin, (this.#tasks.get(plugin) ?? new Set()).add(task));
    return task;
  }

  /** The task of something that is found by name each time, such as a slot's filling; made on first use. */
  named(plugin: string, name: string): Task {
    for (const task of this.#tasks.get(plugin) ?? []) if (task.task === name) return task;
    return this.task(plugin, name);
  }

  /** Stops counting one task, or all of a plugin that stopped. */
  forget(plugin: string, task?: Task): void {
    if (task) this.#tasks.get(plugin)?.delete(task);
    else this.#tasks.delete(plugin);
  }

  /**
   * Calls `work`; returns its value, or a promise when it returned one. Throws (or rejects with) what it threw, or an
   * error naming task and limit when the deadline passed. Synchronous work cannot be cut off, only counted.
   */
  run<T>(task: Task, work: () => T | Promise<T>, deadline: number = this.limits.deadline): T | Promise<T> {
    return this.#call(task, work, deadline, false) as T | Promise<T>;
  }

  /** As `run`, but what is thrown is only logged and counted: for listeners whose failure is nobody else's. */
  settle(task: Task, work: () => unknown): unknown {
    return this.#call(task, work, this.limits.deadline, true);
  }

  report(): readonly TaskReport[] {
    return [...this.#tasks.values()].flatMap((tasks) => [...tasks].map(({ guard: _guard, inRow: _inRow, ...report }) => report));
  }

  /** Lets what was quarantined of a plugin run again. */
  release(plugin: string): void {
    for (const task of this.#tasks.get(plugin) ?? []) Object.assign(task, { quarantined: false, inRow: 0 });
  }

  /** Where a plugin's code lives, so that a stray rejection can be laid at its door. */
  locate(plugin: string, folder: string): void {
    this.#folders.set(plugin, `${folder}/`);
  }

  /** A rejection that nobody awaited: logged with the plugin its stack points to; the process goes on. */
  stray(error: unknown): void {
    const lines = error instanceof Error ? (error.stack ?? '').split('\n') : [];
    const places = lines.flatMap((line) => [...this.#folders].filter(([, folder]) => line.includes(folder)));
    this.#log.error({ plugin: places[0]?.[0] ?? 'unknown', error }, 'a rejected promise was not awaited; await it or catch it where it is made');
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #call(task: Task, work: () => unknown, deadline: number, quiet: boolean): unknown {
    const start = performance.now();
    try {
      const result = work();
      if (result instanceof Promise) return this.#wait(task, result, start, deadline, quiet);
      this.#done(task, start);
      return result;
    } catch (error) {
      this.#failed(task, error, start);
      if (quiet) return undefined;
      throw error;
    }
  }

  #wait(task: Task, result: Promise<unknown>, start: number, deadline: number, quiet: boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void => {
        this.#failed(task, error, start);
        if (quiet) resolve(undefined);
        else reject(error);
      };
      const pending: Pending = { due: start + deadline, expire: () => this.#pending.delete(pending) && fail(new Error(`${task.task} did not finish within ${deadline} ms`)) };
      this.#pending.add(pending);
      this.#timer ??= setInterval(() => this.#tick(), TICK).unref();
      const settled = (then: () => void): void => void (this.#pending.delete(pending) && then());
      result.then((value) => settled(() => (this.#done(task, start), resolve(value))), (error: unknown) => settled(() => fail(error)));
    });
  }

  #tick(): void {
    if (this.#pending.size === 0) return this.close();
    const now = performance.now();
    for (const pending of this.#pending) if (pending.due <= now) pending.expire();
  }

  #done(task: Task, start: number): void {
    const took = performance.now() - start;
    task.calls++;
    task.time += took;
    if (took < this.limits.slow) task.inRow = 0;
    else this.#count(task, `took ${Math.round(took)} ms`);
  }

  #failed(task: Task, error: unknown, start: number): void {
    task.calls++;
    task.time += performance.now() - start;
    // A refusal meant for the caller is what a guard is for; it has not failed.
    if (error instanceof HttpError && error.status < 500) return;
    task.failures++;
    task.lastError = messageOf(error);
    this.#log.error({ plugin: task.plugin, task: task.task, error }, 'plugin code failed');
    this.#count(task, task.lastError);
  }

  #count(task: Task, why: string): void {
    if (++task.inRow < this.limits.failures || task.guard || task.quarantined) return;
    task.quarantined = true;
    task.lastError = why;
    this.#log.error({ plugin: task.plugin, task: task.task, why }, 'quarantined: it is skipped until an administrator releases it or the plugin restarts');
  }
}
