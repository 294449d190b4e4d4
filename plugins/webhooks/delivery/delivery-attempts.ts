import type { Clock, Secrets } from 'parley-forum';
import type { DeliveryResult } from './delivery-results.ts';
import type { Attempt, Endpoint } from './delivery-queue.ts';
import type { Sender, SendResult } from './sender.ts';
import { keyOf, signedHeaders, stillSigning } from '../signatures.ts';

export interface DeliveryAttemptsDeps {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly sender: Sender;
  /** The middle part of the header names. */
  readonly service: () => string;
  /** Seconds before each further attempt. */
  readonly delays: () => readonly number[];
  /** Fraction by which a delay may be longer or shorter. */
  readonly jitter: () => number;
  readonly version: string;
}

/** Upper limit in seconds for a receiver's `Retry-After`. */
const MAX_DELAY = 86_400;
const HTTP_GONE = 410;

/** Makes attempts and classifies their results. */
export class DeliveryAttempts {
  readonly #deps: DeliveryAttemptsDeps;

  constructor(deps: DeliveryAttemptsDeps) {
    this.#deps = deps;
  }

  /** Rejects only if `stop` aborts. */
  async make(webhook: Endpoint, attempt: Attempt, stop: AbortSignal): Promise<DeliveryResult> {
    const { clock, sender, service, version } = this.#deps;
    const now = clock.now();
    const { id: deliveryId, eventId, event, body } = attempt;
    const signed = signedHeaders({
      service: service(),
      keys: this.#keys(webhook, now),
      eventId,
      deliveryId,
      event,
      body,
      at: now,
    });
    return this.#toResult(
      attempt,
      await sender.send(
        { url: webhook.url, body, headers: { ...signed, 'User-Agent': `Parley/${version}`, Accept: '*/*' } },
        stop,
      ),
    );
  }

  /** The signing keys, newest first. */
  #keys({ secret, oldSecrets }: Endpoint, now: number): readonly Buffer[] {
    return [secret, ...stillSigning(oldSecrets, now).map((old) => old.secret)].map((sealed) =>
      keyOf(this.#deps.secrets.open(sealed)),
    );
  }

  #toResult({ id, webhookId, attempt, attempts }: Attempt, sent: SendResult): DeliveryResult {
    const { status, durationMs, response, blocked } = sent;
    const known = { id, webhookId, responseStatus: status, durationMs, response };
    if (status !== undefined && status >= 200 && status < 300)
      return { ...known, status: 'delivered', error: undefined };
    const error = sent.error ?? statusError(status ?? 0);
    if (blocked) return { ...known, status: 'blocked', error };
    if (status === HTTP_GONE) return { ...known, status: 'disabled', error };
    if (attempt >= attempts) return { ...known, status: 'failed', error };
    const delay = this.#delay(attempt, sent.retryAfter);
    return { ...known, status: 'retrying', error, delay, next: new Date(this.#deps.clock.now() + delay * 1_000) };
  }

  /** Never shorter than the receiver's `Retry-After`. */
  #delay(attempt: number, retryAfter: string | undefined): number {
    const { delays, jitter } = this.#deps;
    const usual = delays()[attempt - 1] ?? delays().at(-1) ?? 0;
    const spread = usual * (1 + jitter() * (2 * Math.random() - 1));
    return Math.max(spread, Math.min(this.#retryAfterSeconds(retryAfter), MAX_DELAY));
  }

  /** In seconds; the header contains seconds or a date. */
  #retryAfterSeconds(retryAfter: string | undefined): number {
    if (retryAfter === undefined) return 0;
    if (/^\d+$/.test(retryAfter.trim())) return Number(retryAfter);
    const until = Date.parse(retryAfter);
    return Number.isNaN(until) ? 0 : Math.max(0, (until - this.#deps.clock.now()) / 1_000);
  }
}

const statusError = (status: number): string =>
  `Responded with ${status}${status >= 300 && status < 400 ? '; redirects are not followed, enter the address they point to' : ''}`;
