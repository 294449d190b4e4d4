import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from './errors.ts';
import type { Delivery, Durability } from './hooks.ts';
import type { ClaimedJob, JobStore, Opening, Outcome } from './job-store.ts';
import type { Logger } from './logger.ts';
import type { Supervisor, Task } from './supervise.ts';

/** How many run at a time in one process, all listeners together. */
const CAPACITY = 16;
/** Seconds before each further attempt, where a listener does not say. */
const RETRY = [5, 300, 1_800, 7_200];
/** Milliseconds that aborted work has to end by itself before it is put back. */
const GRACE = 2_000;

/** Somebody whose work is kept in the database under `name`. */
export interface Listener {
  readonly name: string;
  readonly plugin: string;
  // `any` because the queue carries payloads of unrelated types; hooks and jobs give each its type back.
  readonly run: (payload: any, delivery: Delivery) => unknown;
  readonly durability: Durability<any>;
  readonly task: Task;
}

interface Running {
  readonly job: ClaimedJob;
  readonly listener: Listener;
  readonly controller: AbortController;
  ended: Promise<void>;
}

/** What this process has taken and is running, and what ended but is not written down yet. */
export class Worker {
  readonly #store: JobStore;
  readonly #supervisor: Supervisor;
  readonly #log: Logger;
  readonly #onEnd: () => void;
  readonly #running = new Set<Running>();
  #outcomes: Outcome[] = [];
  #settling: Promise<void> = Promise.resolve();

  /** `onEnd` is called when there is something to `settle`, and room for more. */
  constructor(store: JobStore, supervisor: Supervisor, log: Logger, onEnd: () => void) {
    this.#store = store;
    this.#supervisor = supervisor;
    this.#log = log;
    this.#onEnd = onEnd;
  }

  get room(): number {
    return CAPACITY - this.#running.size;
  }

  opening({ name, durability: { limit = 4, perKey } }: Listener): Opening {
    const running = [...this.#running].filter(({ job }) => job.listener === name).length;
    return { listener: name, free: Math.max(0, limit - running), perKey };
  }

  begin(job: ClaimedJob, listener: Listener | undefined): void {
    // Its plugin stopped while the row was being taken.
    if (!listener) return void this.#outcomes.push({ job, end: 'back' });
    const controller = new AbortController();
    const running: Running = { job, listener, controller, ended: Promise.resolve() };
    this.#running.add(running);
    const delivery: Delivery = { id: job.id, attempt: job.attempt, signal: controller.signal };
    const run = async (): Promise<unknown> => this.#supervisor.run(listener.task, async () => listener.run(job.payload, delivery), Infinity);
    running.ended = run().then(
      () => this.#end(running, { job, end: 'done' }),
      (error: unknown) => this.#end(running, failure(running, error)),
    );
  }

  /** Aborts what runs (of one listener, or all), gives it 2 s to end by itself and puts back what did not. */
  async stop(listener?: Listener): Promise<void> {
    const ending = [...this.#running].filter((running) => !listener || running.listener === listener);
    if (ending.length === 0) return;
    for (const { controller } of ending) controller.abort(new Error('its plugin stops'));
    const limit = new AbortController();
    const over = delay(GRACE, undefined, { signal: limit.signal }).catch(() => undefined);
    await Promise.race([Promise.all(ending.map(({ ended }) => ended)), over]);
    limit.abort();
    for (const running of ending) this.#end(running, { job: running.job, end: 'back' });
  }

  /** Writes down what has ended when it is called. What cannot be written is kept for the next call. */
  settle(): Promise<void> {
    this.#settling = this.#settling.catch(() => undefined).then(() => this.#write());
    return this.#settling;
  }

  async #write(): Promise<void> {
    if (this.#outcomes.length === 0) return;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    try {
      await this.#store.settle(outcomes);
    } catch (error) {
      this.#outcomes.unshift(...outcomes);
      throw error;
    }
  }

  /** Begins the leases of running work anew, and aborts what another process has taken meanwhile. */
  async renew(): Promise<void> {
    const held = [...this.#running];
    if (held.length === 0) return;
    try {
      const kept = await this.#store.renew(held.map(({ job }) => job));
      const mine = new Set(kept.map(({ id, listener }) => `${id} ${listener}`));
      const lost = held.filter(({ job }) => !mine.has(`${job.id} ${job.listener}`));
      for (const running of lost) if (this.#running.delete(running)) running.controller.abort(new Error('another process has taken this work'));
    } catch (error) {
      this.#log.warn({ error: messageOf(error) }, 'the leases of running work could not be renewed');
    }
  }

  #end(running: Running, outcome: Outcome): void {
    // Given up before: its row was put back, or is another process's.
    if (!this.#running.delete(running)) return;
    this.#outcomes.push(outcome);
    this.#onEnd();
  }
}

function failure({ job, listener, controller }: Running, thrown: unknown): Outcome {
  if (controller.signal.aborted) return { job, end: 'back' };
  const error = messageOf(thrown);
  const wait = (listener.durability.retry ?? RETRY)[job.attempt - 1];
  return wait === undefined ? { job, end: 'failed', error } : { job, end: 'again', delay: wait, error };
}
