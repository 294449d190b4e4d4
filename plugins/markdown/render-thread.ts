import { extname } from 'node:path';
import { HttpError, InvalidInput } from 'parley-forum';
import { Worker } from 'node:worker_threads';
import type { UrlRules } from './url-rules.ts';
import type { RenderTask, RenderResult, WorkerMessage } from './worker.ts';

/** Further tasks are refused. */
const MAX_QUEUE_LENGTH = 100;
/** Milliseconds without a task after which the thread ends; the next task starts a new one. */
const IDLE_TIMEOUT = 60_000;
/**
 * The wall-clock limit of a task, as a multiple of its budget of processor time. Tasks never wait, so the rest is time
 * in which a busy machine ran something else.
 */
const CLOCK_FACTOR = 10;
/** Minimum milliseconds between two checks of a task's processor time. */
const LOOK_AGAIN = 10;

const tooSlow = (): InvalidInput =>
  new InvalidInput([{ field: 'content', message: 'is too complex to render; simplify it' }]);
const interrupted = (): HttpError =>
  new HttpError(503, 'Rendering was interrupted; try again', { headers: { 'Retry-After': '1' } });

/** Milliseconds of the worker's processor time left for all steps of one text. */
export interface TimeBudget {
  left: number;
}

/** Milliseconds of processor time that a worker has used; 0 if it has ended. */
async function processorTime(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
  return (user + system) / 1_000;
}

/**
 * A worker thread that renders texts, so that they do not block the main thread, and stops those that exceed their
 * budget. Started on demand.
 */
export class RenderThread {
  readonly #rules: UrlRules;
  readonly #idleTimeout: number;
  #worker: Worker | undefined;
  #ready: Promise<unknown> = Promise.resolve();
  #queue: Promise<unknown> = Promise.resolve();
  #current: { readonly resolve: (reply: RenderResult) => void; readonly reject: (error: Error) => void } | undefined;
  #waiting = 0;
  /** Milliseconds of processor time that the worker had used when it sent its last message. */
  #used = 0;
  #idleTimer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(rules: UrlRules, idleTimeout = IDLE_TIMEOUT) {
    this.#rules = rules;
    this.#idleTimeout = idleTimeout;
  }

  /** Whether the thread is running. */
  get running(): boolean {
    return this.#worker !== undefined;
  }

  /**
   * Deducts the task's time from `budget`. Rejects with 400 if the text took too long or its HTML grew too large, with
   * 503 if too many tasks are queued.
   */
  run(task: RenderTask, budget: TimeBudget): Promise<string> {
    if (this.#waiting >= MAX_QUEUE_LENGTH)
      throw new HttpError(503, 'Too many long texts at once; try again soon', { headers: { 'Retry-After': '5' } });
    this.#waiting++;
    const result = this.#queue.then(() => this.#execute(task, budget)).finally(() => this.#waiting--);
    this.#queue = result.catch(() => undefined);
    return result;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    await this.#worker?.terminate();
  }

  async #execute(task: RenderTask, budget: TimeBudget): Promise<string> {
    if (this.#closed) throw interrupted();
    if (budget.left <= 0) throw tooSlow();
    clearTimeout(this.#idleTimer);
    const worker = (this.#worker ??= this.#startWorker());
    const { promise, resolve, reject } = Promise.withResolvers<RenderResult>();
    this.#current = { resolve, reject };
    // The startup time of a new thread does not count towards the budget.
    await Promise.race([this.#ready, promise.catch(() => undefined)]);
    const before = this.#used;
    worker.postMessage(task);
    let done = false;
    const stop = (): void => void (done || this.#stopWorker(worker, tooSlow()));
    const look = async (): Promise<void> => {
      const left = budget.left - ((await processorTime(worker)) - before);
      if (left <= 0) stop();
      else if (!done) timer = setTimeout(() => void look(), Math.max(LOOK_AGAIN, left));
    };
    let timer = setTimeout(() => void look(), budget.left);
    // If this thread was busy, a reply that has already arrived is handled before the timeout.
    const clock = setTimeout(() => setImmediate(stop), CLOCK_FACTOR * budget.left);
    try {
      const reply = await promise;
      if ('html' in reply) return reply.html;
      throw new InvalidInput([{ field: 'content', message: reply.problem }]);
    } finally {
      done = true;
      clearTimeout(timer);
      clearTimeout(clock);
      budget.left -= this.#used - before;
      if (this.#worker)
        this.#idleTimer = setTimeout(() => this.#stopWorker(worker, interrupted()), this.#idleTimeout).unref();
    }
  }

  #startWorker(): Worker {
    const worker = new Worker(new URL(`./worker${extname(import.meta.filename)}`, import.meta.url), {
      workerData: this.#rules,
      resourceLimits: { maxOldGenerationSizeMb: 256 },
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ready = promise;
    worker.on('message', ({ result, used }: WorkerMessage) => {
      // Messages that a stopped thread had already sent are delivered until it ends; by then another task is running.
      if (this.#worker !== worker) return;
      this.#used = used;
      // Until the worker is ready it keeps the process alive for a program that only awaits a text; afterwards the
      // timers do.
      if (!result) resolve(worker.unref());
      else this.#current?.resolve(result);
    });
    // Most likely out of memory, which is the text's fault as much as being slow.
    worker.on('error', () => this.#stopWorker(worker, tooSlow()));
    worker.on('exit', () => this.#stopWorker(worker, interrupted()));
    return worker;
  }

  /** Rejects the current task with `error`; the next one gets a new worker. */
  #stopWorker(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#current?.reject(error);
    void worker.terminate();
  }
}
