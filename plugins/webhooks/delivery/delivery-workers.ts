import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, type Clock, type Data, type Job, type Logger } from 'parley-forum';
import type { Attempts } from './delivery-attempts.ts';
import { Gathering } from './batcher.ts';
import { record, type Outcome } from './delivery-results.ts';
import type { Attempt, Held, Queue } from './delivery-queue.ts';
import type { Webhooks } from '../webhook-store.ts';

/** Requests to one webhook at a time; one, as long as none of them arrives. */
const WIDTH = 4;
/** Milliseconds between two that did not arrive: an address that is dead costs the others next to nothing. */
const PAUSE = 250;
/**
 * Milliseconds for which a job waits for its lane, so that quick ones need no second job and slow ones keep no other
 * work from running.
 */
const PATIENCE = 1_000;

export interface LaneParts {
  readonly data: Data;
  readonly clock: Clock;
  readonly queue: Queue;
  readonly attempts: Attempts;
  readonly webhooks: Webhooks;
  readonly job: Job<{ readonly webhook: string }>;
  readonly log: Logger;
  /** Aborts when nothing may be sent any more. */
  readonly signal: AbortSignal;
}
/** Sends what is due for one webhook. */
interface Lane {
  /** Resolves to when the webhook is to be looked at again, where another process is at it. */
  readonly end: Promise<Date | undefined>;
  /** Until when this process has the webhook to itself. */
  until: Date;
  /** For when the last job was stored that looks after the lane, should this process die. */
  watched: number;
}

/** A lane for each webhook that has something to send, whatever the others' addresses do. */
export class Lanes {
  readonly #parts: LaneParts;
  readonly #running = new Map<string, Lane>();

  constructor(parts: LaneParts) {
    this.#parts = parts;
  }

  /** What the job does: sees to it that the lane runs, and that it would be looked after. */
  async run(webhookId: string): Promise<void> {
    const joined = this.#running.get(webhookId);
    const lane = joined ?? this.#begin(webhookId);
    const limit = new AbortController();
    const patience = sleep(PATIENCE, undefined, { signal: limit.signal }).then(
      () => lane.until,
      () => undefined,
    );
    const again = await Promise.race([lane.end, patience]).finally(() => limit.abort());
    if (again) return this.#watch(webhookId, lane, again);
    // It may have let go of its webhook before what woke this job was there.
    if (joined) await this.run(webhookId);
  }

  /** Resolves when all lanes have ended, which they do soon after the signal. */
  async end(): Promise<void> {
    await Promise.allSettled([...this.#running.values()].map(({ end }) => end));
    await this.#parts.queue.leave();
  }

  async #watch(webhookId: string, lane: Lane, at: Date): Promise<void> {
    if (lane.watched > Date.now()) return;
    lane.watched = at.getTime();
    await this.#parts.job.add({ webhook: webhookId }, { at });
  }

  #begin(webhookId: string): Lane {
    const { promise, resolve, reject } = Promise.withResolvers<Date | undefined>();
    const lane: Lane = { end: promise, until: new Date(), watched: 0 };
    this.#running.set(webhookId, lane);
    const over = (): boolean => this.#running.delete(webhookId);
    this.#drive(webhookId, lane).finally(over).then(resolve, reject);
    // A job that no longer waits is not told; the one that looks after the lane begins another.
    promise.catch((error: unknown) =>
      this.#parts.log.warn({ webhook: webhookId, error: messageOf(error) }, 'sending to a webhook was interrupted'),
    );
    return lane;
  }

  async #drive(webhookId: string, lane: Lane): Promise<Date | undefined> {
    const { queue, signal } = this.#parts;
    const recording = new Gathering<Outcome>((outcomes) => this.#record(webhookId, outcomes));
    for (let width = WIDTH; ;) {
      signal.throwIfAborted();
      const held = await queue.hold(webhookId, width);
      const elsewhere = held ? undefined : await queue.heldElsewhere(webhookId);
      if (elsewhere) return elsewhere;
      if (held) lane.until = held.until;
      const arrived = held === undefined || held.due.length === 0 || (await this.#round(held, recording));
      if ((held?.due.length ?? 0) < width && (await queue.release(webhookId, held?.added))) return undefined;
      width = arrived ? WIDTH : 1;
      if (!arrived) await sleep(PAUSE, undefined, { signal });
    }
  }

  /** Whether anything arrived. What is under way has ended when this does, whatever goes wrong. */
  async #round(held: Held, recording: Gathering<Outcome>): Promise<boolean> {
    const ended = await Promise.allSettled(held.due.map((attempt) => this.#attempt(held, attempt, recording)));
    const failure = ended.find(({ status }) => status === 'rejected');
    if (failure) throw (failure as PromiseRejectedResult).reason;
    return ended.some((attempt) => attempt.status === 'fulfilled' && attempt.value);
  }

  async #attempt(held: Held, attempt: Attempt, recording: Gathering<Outcome>): Promise<boolean> {
    const outcome = await this.#parts.attempts.make(held, attempt, this.#parts.signal);
    await recording.add(outcome);
    return outcome.status === 'delivered';
  }

  async #record(webhookId: string, outcomes: readonly Outcome[]): Promise<void> {
    const { webhooks } = this.#parts;
    const failingSince = await record(this.#parts, webhookId, outcomes);
    if (outcomes.some(({ status }) => status === 'disabled')) await webhooks.disable(webhookId, 'gone');
    else if (failingSince) await webhooks.disableFailing(webhookId, failingSince);
  }
}
