import { extname } from 'node:path';
import { HttpError, InvalidInput } from 'parley-forum';
import { Worker } from 'node:worker_threads';
import type { UrlRules } from './url-rules.ts';
import type { RenderTask, RenderResult, WorkerMessage } from './worker.ts';

/** Tasks waiting beyond this many are refused. */
const MAX_QUEUE_LENGTH = 100;
/** Milliseconds without a task after which the thread ends; the next task starts another. */
const IDLE_TIMEOUT = 60_000;
/**
 * A task may take this many times its budget by the clock. It computes and waits for nothing, so the rest is time in which
 * a busy machine ran something else.
 */
const CLOCK_FACTOR = 10;
/** Milliseconds at least between two looks at how much processor time a task has used. */
const LOOK_AGAIN = 10;

const tooSlow = (): InvalidInput =>
  new InvalidInput([{ field: 'content', message: 'is too intricate to be shown; simplify it' }]);
const interrupted = (): HttpError =>
  new HttpError(503, 'Rendering was interrupted; try again', { headers: { 'Retry-After': '1' } });

/** Milliseconds of the worker's processor time that all steps of one text may still take. */
export interface TimeBudget {
  left: number;
}

/** Milliseconds of processor time that a worker has used; none of one that has ended. */
async function processorTime(worker: Worker): Promise<number> {
  const { user, system } = await worker.cpuUsage().catch(() => ({ user: 0, system: 0 }));
  return (user + system) / 1_000;
}

/**
 * A worker thread for texts, so that they do not block the main thread, and none blocks this one beyond its budget.
 * Started when it is needed.
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

  /** Whether the thread runs. */
  get running(): boolean {
    return this.#worker !== undefined;
  }

  /**
   * Takes from `budget` what the task took. Rejects with 400 for a text that took too long or grew too much, 503 when
   * too many wait.
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
    // A new thread's start is not held against the text.
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
    // A reply that came while this thread was busy is read before its time counts as over.
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
      // What a stopped thread had already sent is delivered until it has ended; by then another text is under way.
      if (this.#worker !== worker) return;
      this.#used = used;
      // Until then a program that waits for a text alone must not end; from then on the text's time keeps it.
      if (!result) resolve(worker.unref());
      else this.#current?.resolve(result);
    });
    // Out of memory, most likely: as much the text's fault as being slow.
    worker.on('error', () => this.#stopWorker(worker, tooSlow()));
    worker.on('exit', () => this.#stopWorker(worker, interrupted()));
    return worker;
  }

  /** The current task fails with `error`; the next one gets a new worker. */
  #stopWorker(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#current?.reject(error);
    void worker.terminate();
  }
}
