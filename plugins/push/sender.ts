import { hash } from 'node:crypto';
import { messageOf, type Environment } from 'parley-forum';
import { BlockedUrl, type UrlGuard } from 'parley-forum/plugins/protection';
import type { Subscription } from './device-store.ts';
import type { VapidKeys } from './vapid-keys.ts';

/** What the service worker shows. */
export interface PushMessage {
  readonly title: string;
  readonly body: string;
  /** A path on this site. */
  readonly url: string;
  /** A message replaces an earlier one with the same tag. */
  readonly tag: string;
  readonly lang: string;
}
/**
 * `gone`: the device no longer exists, or may not be sent to. `later`: the push service asks for another attempt, or
 * did not answer. `refused`: it does not accept this message.
 */
export interface SendResult {
  readonly outcome: 'sent' | 'gone' | 'later' | 'refused';
  readonly problem?: string;
  /** Seconds that the push service asks to wait. */
  readonly retryAfter?: number | undefined;
}

/** Milliseconds from the lookup to the response. */
const TIMEOUT = 10_000;
/** Maximum bytes of a message before encryption. */
const MAX_BYTES = 3_072;
/** Seconds for which push services keep a message for a device that is switched off. */
const TTL = 3 * 86_400;
/** Characters of the topic, by which push services replace an undelivered message. */
const TOPIC = 32;

export interface SenderDeps {
  readonly guard: UrlGuard;
  readonly environment: Environment;
  keys(): Promise<VapidKeys>;
}

/** Encrypts messages for devices and sends them to the push services of their browsers. */
export class Sender {
  readonly #deps: SenderDeps;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Rejects only if `stop` aborts. */
  async send(subscription: Subscription, message: PushMessage, stop: AbortSignal): Promise<SendResult> {
    const { guard, keys } = this.#deps;
    // Loaded here because few processes ever send a message.
    const { default: webPush } = await import('web-push');
    try {
      const { endpoint, headers, body } = webPush.generateRequestDetails(subscription, payloadOf(message), {
        vapidDetails: { subject: this.#contact(), ...(await keys()) },
        TTL,
        urgency: 'normal',
        topic: hash('sha256', message.tag, 'base64url').slice(0, TOPIC),
      });
      const response = await guard.request(new URL(endpoint), {
        method: 'POST',
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
        body,
        signal: AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT)]),
      });
      response.destroy();
      return resultOf(response.statusCode ?? 0, response.headers['retry-after']);
    } catch (error) {
      stop.throwIfAborted();
      const problem = messageOf(error);
      return error instanceof BlockedUrl
        ? { outcome: 'gone', problem: `the address ${problem}` }
        : { outcome: 'later', problem };
    }
  }

  /** Where the operators of push services can reach those of this forum. */
  #contact(): string {
    const { baseUrl, mailFrom } = this.#deps.environment;
    if (baseUrl.startsWith('https:')) return baseUrl;
    const address = /[^\s<>]+@[^\s<>]+/.exec(mailFrom ?? '')?.[0];
    return `mailto:${address ?? `noreply@${new URL(baseUrl).hostname}`}`;
  }
}

function resultOf(status: number, retryAfter: string | undefined): SendResult {
  const problem = `responded with ${status}`;
  if (status >= 200 && status < 300) return { outcome: 'sent' };
  if (status === 404 || status === 410) return { outcome: 'gone', problem };
  if (status === 429 || status >= 500) return { outcome: 'later', problem, retryAfter: secondsOf(retryAfter) };
  return { outcome: 'refused', problem };
}

const secondsOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined;

/** Shortens the text of a message so that it fits. */
function payloadOf({ body, ...rest }: PushMessage): string {
  const characters = [...body];
  for (;;) {
    const cut = characters.length < [...body].length ? '…' : '';
    const payload = JSON.stringify({ ...rest, body: characters.join('') + cut });
    if (Buffer.byteLength(payload) <= MAX_BYTES || characters.length === 0) return payload;
    characters.length = Math.floor(characters.length * 0.8);
  }
}
