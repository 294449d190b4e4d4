import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIX = 'whsec_';
/** Format of a secret: 24 to 64 bytes in base64. */
export const SECRET_PATTERN = `^${PREFIX}[A-Za-z0-9+/]{32,86}={0,2}$`;

export const createSecret = (): string => PREFIX + randomBytes(32).toString('base64');

/** The bytes of a secret, with which both schemes normally sign. */
export const keyOf = (secret: string): Buffer => Buffer.from(secret.slice(PREFIX.length), 'base64');

/** The text of a secret, with which senders such as GitHub sign. */
export const textKeyOf = (secret: string): Buffer => Buffer.from(secret);

/** X-Forum-Signature: a signature of the body alone. */
export const bodySignature = (key: Buffer, body: string | Buffer): string =>
  `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;

/** One item of `webhook-signature` as defined by Standard Webhooks. */
export const standardSignature = (
  key: Buffer,
  { id, timestamp }: { id: string; timestamp: string },
  body: string | Buffer,
): string => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;

/** Compares in constant time. */
export function constantTimeEqual(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** A replaced secret, sealed, and the ISO time until which it is used to sign. */
interface OldSecret {
  readonly secret: string;
  readonly until: string;
}
/** The secrets of a webhook, sealed. */
export interface WebhookSecrets {
  readonly secret: string;
  /** Newest first, possibly including expired ones. */
  readonly oldSecrets: readonly OldSecret[];
}

/** The replaced secrets still used to sign at a time, given in epoch milliseconds; newest first. */
export const stillSigning = (old: readonly OldSecret[], now: number): readonly OldSecret[] =>
  old.filter(({ until }) => Date.parse(until) > now);

/** The values to sign, with the keys, newest first. */
export interface SignatureInput {
  readonly service: string;
  readonly keys: readonly Buffer[];
  readonly eventId: string;
  readonly deliveryId: string;
  readonly event: string;
  readonly body: string;
  /** Time of the attempt in epoch milliseconds. */
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
