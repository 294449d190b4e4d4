import { AsyncResource } from 'node:async_hooks';
import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { RequestHandler, Response } from './routes.ts';

/** Requests under way at once while the event loop is busy. Figures: docs/decisions/0027-request-queue.md. */
const AT_ONCE = 8;
/** Milliseconds. */
const LONG = 250;
/** Milliseconds between two looks at the event loop while requests wait. */
const LOOK = 5;
/** The part of the time between two looks that a busy event loop works. */
const BUSY = 0.8;

/**
 * Lets requests begin in the order they came, a few at once while the event loop is busy: what is under way lives in
 * memory until it is answered, and each garbage collection copies all of it again. Where the loop has time to spare,
 * because requests wait for the database for instance, more begin.
 */
export class RequestQueue {
  /** Not answered to the end yet. */
  readonly #open = new Set<Response>();
  /** When each began, in milliseconds of the process. */
  readonly #begun = new Map<Response, number>();
  readonly #waiting = new Map<Response, () => void>();
  readonly #long: number;
  #timer: NodeJS.Timeout | undefined;
  #seen: EventLoopUtilization = performance.eventLoopUtilization();

  /**
   * Who sends or takes slowly does not count as under way, nor, after `long` milliseconds, who waits for something else.
   */
  constructor({ long = LONG } = {}) {
    this.#long = long;
  }

  /** Whose connection is closed while it waits does not begin at all. */
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

  /** Resolves when all are answered; after `grace` milliseconds the connections of the others are closed. */
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
      // Of many that are closed at once each says so in its turn.
      if (!res.req.socket.destroyed) this.#begin(res, next);
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#seen);
    this.#seen = now;
    // Those that are under way wait for something else than the processor.
    if (utilization < BUSY) this.#begun.clear();
    this.#beginNext();
  }
}
