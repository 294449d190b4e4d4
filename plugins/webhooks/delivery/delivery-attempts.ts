import type { Clock, Secrets } from 'parley-forum';
import type { Outcome } from './delivery-results.ts';
import type { Attempt, Endpoint } from './delivery-queue.ts';
import type { Sender, Sent } from './sender.ts';
import { keyOf, signedHeaders } from '../signatures.ts';

export interface AttemptParts {
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly sender: Sender;
  /** The middle word of our headers. */
  readonly service: () => string;
  /** Seconds before each further attempt. */
  readonly delays: () => readonly number[];
  /** By what part of itself a delay may be longer or shorter. */
  readonly jitter: () => number;
  readonly version: string;
}

/** Seconds; nobody is waited for longer, whatever they ask for. */
const LONGEST = 86_400;
const GONE = 410;

/** Makes attempts and judges what came of them. */
export class Attempts {
  readonly #parts: AttemptParts;

  constructor(parts: AttemptParts) {
    this.#parts = parts;
  }

  /** Rejects only when `stop` aborts. */
  async make(webhook: Endpoint, attempt: Attempt, stop: AbortSignal): Promise<Outcome> {
    const { clock, sender, service, version } = this.#parts;
    const { id: deliveryId, eventId, event, body } = attempt;
    const signed = signedHeaders({
      service: service(),
      keys: this.#keys(webhook),
      eventId,
      deliveryId,
      event,
      body,
      at: clock.now(),
    });
    return this.#judge(
      attempt,
      await sender.send(
        { url: webhook.url, body, headers: { ...signed, 'User-Agent': `Parley/${version}`, Accept: '*/*' } },
        stop,
      ),
    );
  }

  /** The newest first; the old one as long as it was promised. */
  #keys({ secret, oldSecret, oldSecretUntil }: Endpoint): readonly Buffer[] {
    const { clock, secrets } = this.#parts;
    const sealed =
      oldSecret !== null && oldSecretUntil !== null && oldSecretUntil.getTime() > clock.now()
        ? [secret, oldSecret]
        : [secret];
    return sealed.map((text) => keyOf(secrets.open(text)));
  }

  #judge({ id, attempt, attempts }: Attempt, sent: Sent): Outcome {
    const { status, durationMs, response, blocked } = sent;
    const known = { id, responseStatus: status, durationMs, response };
    if (status !== undefined && status >= 200 && status < 300)
      return { ...known, status: 'delivered', error: undefined };
    const error = sent.error ?? answered(status ?? 0);
    if (blocked) return { ...known, status: 'blocked', error };
    if (status === GONE) return { ...known, status: 'disabled', error };
    if (attempt >= attempts) return { ...known, status: 'failed', error };
    const delay = this.#delay(attempt, sent.retryAfter);
    return { ...known, status: 'retrying', error, delay, next: new Date(this.#parts.clock.now() + delay * 1_000) };
  }

  /** Never before the time that the receiver asked for. */
  #delay(attempt: number, retryAfter: string | undefined): number {
    const { delays, jitter } = this.#parts;
    const usual = delays()[attempt - 1] ?? delays().at(-1) ?? 0;
    const spread = usual * (1 + jitter() * (2 * Math.random() - 1));
    return Math.max(spread, Math.min(this.#asked(retryAfter), LONGEST));
  }

  /** Seconds, which the header says or gives as a date. */
  #asked(retryAfter: string | undefined): number {
    if (retryAfter === undefined) return 0;
    if (/^\d+$/.test(retryAfter.trim())) return Number(retryAfter);
    const until = Date.parse(retryAfter);
    return Number.isNaN(until) ? 0 : Math.max(0, (until - this.#parts.clock.now()) / 1_000);
  }
}

const answered = (status: number): string =>
  `Answered ${status}${status >= 300 && status < 400 ? '; redirects are not followed, enter the address they lead to' : ''}`;
