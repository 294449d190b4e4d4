import { extname } from 'node:path';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { HttpError } from 'parley-forum';
import type { HashResult, HashTask } from './hash-worker.ts';

/** Leaves one processor for everything else; more than four threads would only help during a flood of logins. */
const THREADS = Math.max(1, Math.min(4, availableParallelism() - 1));
/** Maximum number of tasks queued per thread: about eight seconds of work at the default cost. */
const QUEUE_PER_THREAD = 32;

interface QueuedTask {
  readonly task: HashTask;
  readonly resolve: (value: string | boolean) => void;
  readonly reject: (error: Error) => void;
}

const overloaded = (): HttpError =>
  new HttpError(503, 'Too many people are logging in at once; try again in a few seconds', {
    headers: { 'Retry-After': '10' },
  });
const interrupted = (): HttpError =>
  new HttpError(503, 'Checking the password was interrupted; try again', { headers: { 'Retry-After': '1' } });

/** Runs bcrypt on worker threads, so that a rush of logins slows down nothing but logins. */
export class PasswordHasher {
  readonly #threads: number;
  readonly #queue: QueuedTask[] = [];
  readonly #idle: Worker[] = [];
  readonly #busy = new Map<Worker, QueuedTask>();
  #closed = false;

  constructor(threads = THREADS) {
    this.#threads = threads;
  }

  /** Rejects with 503 if too many tasks are queued. */
  hash(password: string, cost: number): Promise<string> {
    return this.#run({ password, cost }) as Promise<string>;
  }

  /** Rejects with 503 if too many tasks are queued. */
  compare(password: string, hash: string): Promise<boolean> {
    return this.#run({ password, hash }) as Promise<boolean>;
  }

  /** Rejects queued and running tasks with 503. */
  readonly close = async (): Promise<void> => {
    this.#closed = true;
    for (const { reject } of [...this.#queue.splice(0), ...this.#busy.values()]) reject(interrupted());
    const workers = [...this.#idle.splice(0), ...this.#busy.keys()];
    this.#busy.clear();
    await Promise.all(workers.map((worker) => worker.terminate()));
  };

  #run(task: HashTask): Promise<string | boolean> {
    if (this.#closed) return Promise.reject(interrupted());
    if (this.#queue.length >= this.#threads * QUEUE_PER_THREAD) return Promise.reject(overloaded());
    return new Promise((resolve, reject) => {
      this.#queue.push({ task, resolve, reject });
      this.#next();
    });
  }

  #next(): void {
    if (this.#queue.length === 0) return;
    const worker = this.#idle.pop() ?? (this.#busy.size < this.#threads ? this.#start() : undefined);
    if (!worker) return;
    const queued = this.#queue.shift()!;
    this.#busy.set(worker, queued);
    // A command on the shell must not exit before its password is hashed; an idle thread does not keep the process
    // alive.
    worker.ref();
    worker.postMessage(queued.task);
  }

  #start(): Worker {
    const worker = new Worker(new URL(`./hash-worker${extname(import.meta.filename)}`, import.meta.url));
    worker.on('message', (result: HashResult) => {
      const queued = this.#busy.get(worker);
      if (!queued) return;
      this.#busy.delete(worker);
      this.#idle.push(worker);
      worker.unref();
      if ('value' in result) queued.resolve(result.value);
      else queued.reject(new Error(result.error));
      this.#next();
    });
    worker.on('error', () => this.#workerLost(worker));
    worker.on('exit', () => this.#workerLost(worker));
    return worker;
  }

  /** Rejects the task of a lost worker; the next task gets a new one. */
  #workerLost(worker: Worker): void {
    this.#busy.get(worker)?.reject(interrupted());
    this.#busy.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
    if (!this.#closed) this.#next();
  }
}
