import { setTimeout as sleep } from 'node:timers/promises';
import { Batcher, messageOf, type Clock, type Data, type Job, type Logger } from 'parley-forum';
import type { DeliveryAttempts } from './delivery-attempts.ts';
import { saveResults, type DeliveryResult } from './delivery-results.ts';
import type { Attempt, Lease, DeliveryQueue } from './delivery-queue.ts';
import type { WebhookStore } from '../webhook-store.ts';

/** Concurrent requests to one webhook; one, as long as none of them succeeds. */
const CONCURRENCY = 4;
/** Milliseconds between failed batches: a dead receiver costs the others next to nothing. */
const FAILURE_PAUSE = 250;
/**
 * Milliseconds for which a job waits for its worker, so that quick ones need no second job and slow ones do not block
 * other jobs.
 */
const JOB_WAIT = 1_000;

export interface DeliveryWorkersDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly queue: DeliveryQueue;
  readonly attempts: DeliveryAttempts;
  readonly webhooks: WebhookStore;
  readonly job: Job<{ readonly webhook: string }>;
  readonly log: Logger;
  /** Aborts when the plugin stops. */
  readonly signal: AbortSignal;
}
/** Sends what is due for one webhook. */
interface DeliveryWorker {
  /** Resolves to when to try again, where another process holds the lease. */
  readonly done: Promise<Date | undefined>;
  /** Until when this process holds the webhook's lease. */
  leasedUntil: Date;
  /** When the stored job runs that takes over if this process dies. */
  recoveryJobAt: number;
}

/** One worker for each webhook with due deliveries, independent of the others. */
export class DeliveryWorkers {
  readonly #deps: DeliveryWorkersDeps;
  readonly #workers = new Map<string, DeliveryWorker>();

  constructor(deps: DeliveryWorkersDeps) {
    this.#deps = deps;
  }

  /** Runs the job: starts or joins the webhook's worker, and schedules recovery for a slow one. */
  async run(webhookId: string): Promise<void> {
    const running = this.#workers.get(webhookId);
    const worker = running ?? this.#startWorker(webhookId);
    const limit = new AbortController();
    const jobWait = sleep(JOB_WAIT, undefined, { signal: limit.signal }).then(
      () => worker.leasedUntil,
      () => undefined,
    );
    const again = await Promise.race([worker.done, jobWait]).finally(() => limit.abort());
    if (again) return this.#scheduleRecovery(webhookId, worker, again);
    // It may have released its lease before the delivery behind this job was stored.
    if (running) await this.run(webhookId);
  }

  /** Resolves when all workers have ended, soon after the signal aborts. */
  async stop(): Promise<void> {
    await Promise.allSettled([...this.#workers.values()].map(({ done: end }) => end));
    await this.#deps.queue.releaseAllLeases();
  }

  async #scheduleRecovery(webhookId: string, worker: DeliveryWorker, at: Date): Promise<void> {
    if (worker.recoveryJobAt > Date.now()) return;
    worker.recoveryJobAt = at.getTime();
    await this.#deps.job.add({ webhook: webhookId }, { at });
  }

  #startWorker(webhookId: string): DeliveryWorker {
    const { promise, resolve, reject } = Promise.withResolvers<Date | undefined>();
    const worker: DeliveryWorker = { done: promise, leasedUntil: new Date(), recoveryJobAt: 0 };
    this.#workers.set(webhookId, worker);
    const over = (): boolean => this.#workers.delete(webhookId);
    this.#work(webhookId, worker).finally(over).then(resolve, reject);
    // A job that no longer waits does not see the error; the recovery job starts another worker.
    promise.catch((error: unknown) =>
      this.#deps.log.warn({ webhook: webhookId, error: messageOf(error) }, 'sending to a webhook was interrupted'),
    );
    return worker;
  }

  async #work(webhookId: string, worker: DeliveryWorker): Promise<Date | undefined> {
    const { queue, signal } = this.#deps;
    const batcher = new Batcher<DeliveryResult>((results) => this.#record(webhookId, results));
    for (let concurrency = CONCURRENCY; ;) {
      signal.throwIfAborted();
      const lease = await queue.acquireLease(webhookId, concurrency);
      const elsewhere = lease ? undefined : await queue.leasedElsewhereUntil(webhookId);
      if (elsewhere) return elsewhere;
      if (lease) worker.leasedUntil = lease.leasedUntil;
      const arrived = lease === undefined || lease.due.length === 0 || (await this.#sendBatch(lease, batcher));
      if ((lease?.due.length ?? 0) < concurrency && (await queue.releaseLease(webhookId, lease?.added)))
        return undefined;
      concurrency = arrived ? CONCURRENCY : 1;
      if (!arrived) await sleep(FAILURE_PAUSE, undefined, { signal });
    }
  }

  /** Whether anything was delivered. Resolves after all requests have ended, even if some fail. */
  async #sendBatch(lease: Lease, batcher: Batcher<DeliveryResult>): Promise<boolean> {
    const ended = await Promise.allSettled(lease.due.map((attempt) => this.#attempt(lease, attempt, batcher)));
    const failure = ended.find(({ status }) => status === 'rejected');
    if (failure) throw (failure as PromiseRejectedResult).reason;
    return ended.some((attempt) => attempt.status === 'fulfilled' && attempt.value);
  }

  async #attempt(lease: Lease, attempt: Attempt, batcher: Batcher<DeliveryResult>): Promise<boolean> {
    const result = await this.#deps.attempts.make(lease, attempt, this.#deps.signal);
    await batcher.add(result);
    return result.status === 'delivered';
  }

  async #record(webhookId: string, results: readonly DeliveryResult[]): Promise<void> {
    const { webhooks } = this.#deps;
    const failingSince = await saveResults(this.#deps, webhookId, results);
    if (results.some(({ status }) => status === 'disabled')) await webhooks.disable(webhookId, 'gone');
    else if (failingSince) await webhooks.disableFailing(webhookId, failingSince);
  }
}
