import { defineToken, HttpError } from 'parley-forum';

export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Epoch milliseconds at which the bucket is full again. */
  readonly resetAt: number;
  /** False: refuse with 429. */
  readonly allowed: boolean;
}

/** A bucket is a name and a window; how much it holds is a live setting of the plugin that asks. */
export interface Bucket {
  readonly name: string;
  /** Seconds. */
  readonly window: number;
  /**
   * What to do while Redis is configured but unavailable: false counts in this process (the default), true refuses with
   * 503. For logins, where counting per process would multiply the guesses.
   */
  readonly failClosed?: boolean;
}

/**
 * Counting buckets: exact over all processes with Redis, in this process without. Windows begin with a key's first use.
 */
export interface Limits {
  /** Takes one from `key`'s share; `limit` is per window. IP addresses as keys go through `ipKey` first. */
  consume(bucket: Bucket, key: string, limit: number): Promise<Allowance>;
  /** As `consume` but synchronous, where this process counts; `undefined` where it is not. */
  consumeNow(bucket: Bucket, key: string, limit: number): Allowance | undefined;
  /** Looks without taking; `allowed` is whether one more may be taken. */
  peek(bucket: Bucket, key: string, limit: number): Promise<Allowance>;
  reset(bucket: Bucket, key: string): Promise<void>;
  /** What a client's IP address counts as: an IPv6 address as its /64, since one customer holds all of it. */
  ipKey(address: string): string;
}
export const Limits = defineToken<Limits>('Limits');

/** 429 that says when to come back; `messageOf` makes its message of the whole seconds until then, at least 1. */
export function tooMany({ resetAt }: Allowance, messageOf: (seconds: number) => string): HttpError {
  const seconds = Math.max(1, Math.ceil((resetAt - Date.now()) / 1000));
  return new HttpError(429, messageOf(seconds), { headers: { 'Retry-After': String(seconds) } });
}

/** Throws what `tooMany` makes, unless it is allowed. */
export function assertAllowed(allowance: Allowance, messageOf: (seconds: number) => string): void {
  if (!allowance.allowed) throw tooMany(allowance, messageOf);
}
