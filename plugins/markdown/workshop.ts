import { HttpError, InvalidInput } from '#core';
import { Worker } from 'node:worker_threads';
import type { Rules } from './links.ts';
import type { Order, Reply } from './worker.ts';

/** Milliseconds for one step of one text, from when the worker takes it up. 64 KiB of ordinary text take about 20. */
const DEADLINE = 2_000;
/** Orders waiting beyond this many are refused. */
const LONGEST_QUEUE = 100;

const tooSlow = (): InvalidInput => new InvalidInput([{ field: 'content', message: 'is too intricate to be shown; simplify it' }]);
const interrupted = (): HttpError => new HttpError(503, 'Rendering was interrupted; try again', { headers: { 'Retry-After': '1' } });

/** A worker thread for long texts, so that they hold up nobody, and none holds the thread for longer than the deadline. */
export class Workshop {
  readonly #rules: Rules;
  #worker: Worker | undefined;
  #ready: Promise<unknown> = Promise.resolve();
  #last: Promise<unknown> = Promise.resolve();
  #under: { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void } | undefined;
  #waiting = 0;
  #closed = false;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** `deadline` in milliseconds. Rejects with 400 for a text that took too long or grew too much, 503 when too many wait. */
  run(order: Order, deadline = DEADLINE): Promise<string> {
    if (this.#waiting >= LONGEST_QUEUE) throw new HttpError(503, 'Too many long texts at once; try again soon', { headers: { 'Retry-After': '5' } });
    this.#waiting++;
    const result = this.#last.then(() => this.#do(order, deadline)).finally(() => this.#waiting--);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  async #do(order: Order, deadline: number): Promise<string> {
    if (this.#closed) throw interrupted();
    const worker = (this.#worker ??= this.#hire());
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    this.#under = { resolve, reject };
    // A new thread's start is not held against the text.
    await Promise.race([this.#ready, promise.catch(() => undefined)]);
    worker.postMessage(order);
    const timer = setTimeout(() => this.#dismiss(worker, tooSlow()), deadline);
    try {
      const reply = await promise;
      if ('html' in reply) return reply.html;
      throw new InvalidInput([{ field: 'content', message: reply.problem }]);
    } finally {
      clearTimeout(timer);
    }
  }

  #hire(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: this.#rules, resourceLimits: { maxOldGenerationSizeMb: 256 } });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ready = promise;
    worker.on('message', (reply: Reply | 'ready') => (reply === 'ready' ? resolve() : this.#under?.resolve(reply)));
    // Out of memory, most likely: as much the text's fault as being slow.
    worker.on('error', () => this.#dismiss(worker, tooSlow()));
    worker.on('exit', () => this.#dismiss(worker, interrupted()));
    worker.unref();
    return worker;
  }

  /** The order under way fails with `error`; the next one gets a new worker. */
  #dismiss(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#under?.reject(error);
    void worker.terminate();
  }
}
