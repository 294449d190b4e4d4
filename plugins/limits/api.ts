import { defineToken, HttpError } from 'parley-forum';

export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Epoch milliseconds at which the bucket is full again. */
  readonly resetAt: number;
  /** If false, refuse with 429. */
  readonly allowed: boolean;
}

/** A bucket is a name and a window; its capacity is a live setting of the plugin that uses it. */
export interface Bucket {
  readonly name: string;
  /** In seconds. */
  readonly window: number;
  /**
   * What to do while Redis is configured but unavailable: false counts in this process (the default), true refuses with
   * 503. Use true for logins, where counting per process would multiply the number of guesses.
   */
  readonly failClosed?: boolean;
}

/**
 * Counts uses of buckets: exact across all processes with Redis, otherwise per process. A window starts with the first
 * use of a key.
 */
export interface Limits {
  /** Counts one use of `key`; `limit` is per window. IP addresses must be passed through `ipKey` first. */
  consume(bucket: Bucket, key: string, limit: number): Promise<Allowance>;
  /** Like `consume` but synchronous, if counting happens in this process; otherwise `undefined`. */
  consumeNow(bucket: Bucket, key: string, limit: number): Allowance | undefined;
  /** Reads without counting a use; `allowed` tells whether one more would be allowed. */
  peek(bucket: Bucket, key: string, limit: number): Promise<Allowance>;
  reset(bucket: Bucket, key: string): Promise<void>;
  /** The key for a client's IP address: IPv6 addresses are reduced to their /64, since one customer holds all of it. */
  ipKey(address: string): string;
}
export const Limits = defineToken<Limits>('Limits');

/** Creates a 429 with `Retry-After`; `messageOf` builds its message from the whole seconds until then, at least 1. */
export function tooMany({ resetAt }: Allowance, messageOf: (seconds: number) => string): HttpError {
  const seconds = Math.max(1, Math.ceil((resetAt - Date.now()) / 1000));
  return new HttpError(429, messageOf(seconds), { headers: { 'Retry-After': String(seconds) } });
}

/** Throws the error of `tooMany` unless the use is allowed. */
export function assertAllowed(allowance: Allowance, messageOf: (seconds: number) => string): void {
  if (!allowance.allowed) throw tooMany(allowance, messageOf);
}
