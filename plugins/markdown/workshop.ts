import { extname } from 'node:path';
import { HttpError, InvalidInput } from 'parley-forum';
import { Worker } from 'node:worker_threads';
import type { Rules } from './links.ts';
import type { Order, Reply } from './worker.ts';

/** Orders waiting beyond this many are refused. */
const LONGEST_QUEUE = 100;
/** Milliseconds without an order after which the thread ends; the next order starts another. */
const IDLE = 60_000;

const tooSlow = (): InvalidInput =>
  new InvalidInput([{ field: 'content', message: 'is too intricate to be shown; simplify it' }]);
const interrupted = (): HttpError =>
  new HttpError(503, 'Rendering was interrupted; try again', { headers: { 'Retry-After': '1' } });

/** Milliseconds that all steps of one text may still take. */
export interface Time {
  left: number;
}

/**
 * A worker thread for texts, so that they hold up nobody else, and none holds the thread for longer than its time.
 * Started when it is needed.
 */
export class Workshop {
  readonly #rules: Rules;
  readonly #idle: number;
  #worker: Worker | undefined;
  #ready: Promise<unknown> = Promise.resolve();
  #last: Promise<unknown> = Promise.resolve();
  #under: { readonly resolve: (reply: Reply) => void; readonly reject: (error: Error) => void } | undefined;
  #waiting = 0;
  #rest: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(rules: Rules, idle = IDLE) {
    this.#rules = rules;
    this.#idle = idle;
  }

  /** Whether there is a thread. */
  get busy(): boolean {
    return this.#worker !== undefined;
  }

  /**
   * Takes from `time` what the order took. Rejects with 400 for a text that took too long or grew too much, 503 when
   * too many wait.
   */
  run(order: Order, time: Time): Promise<string> {
    if (this.#waiting >= LONGEST_QUEUE)
      throw new HttpError(503, 'Too many long texts at once; try again soon', { headers: { 'Retry-After': '5' } });
    this.#waiting++;
    const result = this.#last.then(() => this.#do(order, time)).finally(() => this.#waiting--);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#rest);
    await this.#worker?.terminate();
  }

  async #do(order: Order, time: Time): Promise<string> {
    if (this.#closed) throw interrupted();
    if (time.left <= 0) throw tooSlow();
    clearTimeout(this.#rest);
    const worker = (this.#worker ??= this.#hire());
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    this.#under = { resolve, reject };
    // A new thread's start is not held against the text.
    await Promise.race([this.#ready, promise.catch(() => undefined)]);
    const begun = performance.now();
    worker.postMessage(order);
    let done = false;
    // A reply that came while this thread was busy is read before its time counts as over.
    const timer = setTimeout(() => setImmediate(() => void (done || this.#dismiss(worker, tooSlow()))), time.left);
    try {
      const reply = await promise;
      if ('html' in reply) return reply.html;
      throw new InvalidInput([{ field: 'content', message: reply.problem }]);
    } finally {
      done = true;
      clearTimeout(timer);
      time.left -= performance.now() - begun;
      if (this.#worker) this.#rest = setTimeout(() => this.#dismiss(worker, interrupted()), this.#idle).unref();
    }
  }

  #hire(): Worker {
    const worker = new Worker(new URL(`./worker${extname(import.meta.filename)}`, import.meta.url), {
      workerData: this.#rules,
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ready = promise;
    worker.on('message', (reply: Reply | 'ready') => {
      // Until then a program that waits for a text alone must not end; from then on the text's time keeps it.
      if (reply === 'ready') resolve(worker.unref());
      // What a dismissed thread had already sent is delivered until it has ended; by then another text is under way.
      else if (this.#worker === worker) this.#under?.resolve(reply);
    });
    // Out of memory, most likely: as much the text's fault as being slow.
    worker.on('error', () => this.#dismiss(worker, tooSlow()));
    worker.on('exit', () => this.#dismiss(worker, interrupted()));
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
