import { HttpError, InvalidInput } from '#core';
import { Worker } from 'node:worker_threads';
import type { Rules } from './links.ts';
import type { Order, Reply } from './worker.ts';

/** Milliseconds for one step of one text, from when the worker takes it up. 64 KiB of ordinary text take about 20. */
const DEADLINE = 2_000;
/** Orders waiting beyond this many are refused. */
const LONGEST_QUEUE = 100;

const tooSlow = (): InvalidInput => new InvalidInput([{ field: 'content', message: 'is too intricate to be shown; simplify it' }]);

/** A worker thread for long texts, so that they hold up nobody, and none holds the thread for longer than the deadline. */
export class Workshop {
  readonly #rules: Rules;
  #worker: Worker | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #closed = false;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  /** Rejects with 400 for a text that took too long or grew too much, 503 when too many wait. */
  run(order: Order): Promise<string> {
    if (this.#waiting >= LONGEST_QUEUE) throw new HttpError(503, 'Too many long texts at once; try again soon', { headers: { 'Retry-After': '5' } });
    this.#waiting++;
    const result = this.#last.then(() => this.#do(order)).finally(() => this.#waiting--);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  #do(order: Order): Promise<string> {
    if (this.#closed) throw new HttpError(503, 'The site is changing its settings; try again', { headers: { 'Retry-After': '1' } });
    const worker = (this.#worker ??= this.#hire());
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const stop = (error: Error): void => {
      if (this.#worker === worker) this.#worker = undefined;
      void worker.terminate();
      reject(error);
    };
    const timer = setTimeout(() => stop(tooSlow()), DEADLINE);
    const ended = (): void => reject(new HttpError(503, 'Rendering was interrupted; try again', { headers: { 'Retry-After': '1' } }));
    worker.once('error', stop);
    worker.once('exit', ended);
    worker.once('message', (reply: Reply) => {
      if ('html' in reply) resolve(reply.html);
      else reject(new InvalidInput([{ field: 'content', message: reply.problem }]));
    });
    worker.postMessage(order);
    return promise.finally(() => {
      clearTimeout(timer);
      worker.removeAllListeners();
    });
  }

  #hire(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData: this.#rules, resourceLimits: { maxOldGenerationSizeMb: 256 } });
    worker.unref();
    return worker;
  }
}
