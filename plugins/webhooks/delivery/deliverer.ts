import { Batcher, type Clock, type Data, type Job, type JobDelivery } from 'parley-forum';
import type { DeliveryAttempts } from './delivery-attempts.ts';
import type { DeliveryJob, DeliveryQueue, DueAttempt } from './delivery-queue.ts';
import { saveResults, type DeliveryResult } from './delivery-results.ts';
import type { WebhookStore } from '../webhook-store.ts';

export interface DelivererDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly queue: DeliveryQueue;
  readonly attempts: DeliveryAttempts;
  readonly webhooks: WebhookStore;
  readonly job: Job<DeliveryJob>;
}

/**
 * Runs the delivery jobs. No transaction is open during a request, and concurrent database operations are batched into
 * single statements.
 */
export class Deliverer {
  readonly #deps: DelivererDeps;
  readonly #beginning: Batcher<string, ReadonlyMap<string, DueAttempt>>;
  readonly #ending = new Batcher<DeliveryResult>(async (results) => void (await this.#save(results)));

  constructor(deps: DelivererDeps) {
    this.#deps = deps;
    this.#beginning = new Batcher((jobs) => deps.queue.begin(jobs));
  }

  /**
   * Makes the attempt, and stores its result together with the time of the next one. Rejects if the job's signal
   * aborts.
   */
  async run({ webhook }: DeliveryJob, { id, signal, continueWith }: JobDelivery<DeliveryJob>): Promise<void> {
    const attempt = (await this.#beginning.add(id)).get(id);
    if (!attempt) return;
    const result = await this.#deps.attempts.make(attempt.endpoint, attempt, signal);
    const { delay: after } = result;
    if (after === undefined) return this.#ending.add(result);
    // Stored separately, so that results of other jobs are not rolled back if another process has taken over this job.
    await this.#deps.data.transaction(async () => {
      if (await this.#save([result])) await continueWith({ webhook }, { after });
    });
  }

  /** False if the webhook of the last result is switched off. */
  async #save(results: readonly DeliveryResult[]): Promise<boolean> {
    const { data, webhooks } = this.#deps;
    const gone = new Set(results.filter(({ status }) => status === 'disabled').map(({ webhookId }) => webhookId));
    return data.transaction(async () => {
      let open = false;
      for (const { id, active, failingSince } of await saveResults(this.#deps, results)) {
        open = active;
        if (gone.has(id)) await webhooks.disable(id, 'gone');
        else if (failingSince && (await webhooks.disableFailing(id, failingSince))) open = false;
      }
      return open;
    });
  }
}
