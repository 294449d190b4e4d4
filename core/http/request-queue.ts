import { AsyncResource } from 'node:async_hooks';
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestHandler, Response } from './routes.ts';

/** Maximum number of active requests while the event loop is busy. Figures: docs/decisions/0027-request-queue.md. */
const AT_ONCE = 8;
/** Milliseconds after which a request no longer counts as active. */
const LONG = 250;
/** Milliseconds between two samples of the event loop's utilization while requests are queued. */
const LOOK = 5;
/** Utilization from which the event loop counts as busy. */
const BUSY = 0.8;

/**
 * Starts requests in order of arrival, and only a few at once while the event loop is busy: an active request stays in
 * memory until its response is sent, and each garbage collection copies all of it again. When the event loop has time
 * to spare, for instance because requests wait for the database, more are started.
 */
export class RequestQueue {
  /** Responses that are not finished yet. */
  readonly #open = new Set<Response>();
  /** When each active request started, on the clock of `performance.now`. */
  readonly #begun = new Map<Response, number>();
  readonly #waiting = new Map<Response, () => void>();
  readonly #long: number;
  #timer: NodeJS.Timeout | undefined;
  #seen: EventLoopUtilization = performance.eventLoopUtilization();

  /**
   * Slow senders and readers do not count as active requests, nor do requests that have run for more than `long`
   * milliseconds.
   */
  constructor({ long = LONG } = {}) {
    this.#long = long;
  }

  /** A request whose connection closes while it is queued is dropped. */
  readonly middleware: RequestHandler = (_req, res, next) => {
    this.#open.add(res);
    res.once('close', () => {
      this.#open.delete(res);
      this.#waiting.delete(res);
      this.#begun.delete(res);
      this.#beginNext();
    });
    if (this.#waiting.size === 0 && this.#hasRoom()) return this.#begin(res, next);
    this.#waiting.set(res, AsyncResource.bind(next));
    if (this.#timer) return;
    this.#seen = performance.eventLoopUtilization();
    this.#timer = setInterval(() => this.#look(), LOOK);
  };

  /** Resolves when all responses are finished; after `grace` milliseconds the remaining connections are closed. */
  async drain(grace = 5_000): Promise<void> {
    for (const until = performance.now() + grace; this.#open.size > 0 && performance.now() < until;) await delay(LOOK);
    for (const res of this.#open) res.destroy();
  }

  #begin(res: Response, next: () => void): void {
    this.#begun.set(res, performance.now());
    next();
  }

  #hasRoom(): boolean {
    const now = performance.now();
    for (const [res, since] of this.#begun)
      if (res.headersSent || !res.req.complete || now - since > this.#long) this.#begun.delete(res);
    return this.#begun.size < AT_ONCE;
  }

  #beginNext(): void {
    for (const [res, next] of this.#waiting) {
      if (!this.#hasRoom()) return;
      this.#waiting.delete(res);
      // When many connections close at once, their `close` events arrive one by one.
      if (!res.req.socket.destroyed) this.#begin(res, next);
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#seen);
    this.#seen = now;
    // The active requests are waiting for something other than the CPU.
    if (utilization < BUSY) this.#begun.clear();
    this.#beginNext();
  }
}
