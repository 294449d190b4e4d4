import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIX = 'whsec_';
/** What a secret looks like: 24 to 64 bytes in base64. */
export const SECRET_PATTERN = `^${PREFIX}[A-Za-z0-9+/]{32,86}={0,2}$`;

export const createSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/** The bytes that both schemes sign with, as a rule. */
export const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64');

/** The secret's text, which senders such as GitHub sign with. */
export const textKeyOf = (secret: string): Buffer => Buffer.from(secret);

/** X-Forum-Signature: of the body alone. */
export const bodySignature = (key: Buffer, body: string | Buffer): string =>
  `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;

/** One item of `webhook-signature` as Standard Webhooks has it. */
export const standardSignature = (
  key: Buffer,
  { id, timestamp }: { id: string; timestamp: string },
  body: string | Buffer,
): string => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;

/** In constant time. */
export function constantTimeEqual(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A replaced secret, sealed, and the ISO time until which it signs. */
interface OldSecret {
  readonly secret: string;
  readonly until: string;
}
/** The secrets of a webhook, sealed. */
export interface WebhookSecrets {
  readonly secret: string;
  /** The newest first; those whose time is over among them. */
  readonly oldSecrets: readonly OldSecret[];
}

/** The replaced secrets that still sign at a time, in epoch milliseconds; the newest first. */
export const stillSigning = (old: readonly OldSecret[], now: number): readonly OldSecret[] =>
  old.filter(({ until }) => Date.parse(until) > now);

/** What is signed: the newest key first. */
export interface SignatureInput {
  readonly service: string;
  readonly keys: readonly Buffer[];
  readonly eventId: string;
  readonly deliveryId: string;
  readonly event: string;
  readonly body: string;
  /** Epoch milliseconds of the attempt. */
  readonly at: number;
}

/** Headers that describe the event and sign it. */
export function signedHeaders({
  service,
  keys,
  eventId,
  deliveryId,
  event,
  body,
  at,
}: SignatureInput): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000));
  return {
    [`X-${service}-Event`]: event,
    [`X-${service}-Delivery`]: deliveryId,
    [`X-${service}-Signature`]: keys.map((key) => bodySignature(key, body)).join(','),
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => standardSignature(key, { id: eventId, timestamp }, body)).join(' '),
  };
}
