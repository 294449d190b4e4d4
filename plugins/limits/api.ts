import { defineToken } from '#core';

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
}

/** Counting buckets: exact over all processes with Redis, in this process without. */
export interface Limits {
  /** Takes one from `key`'s share; `limit` is per window. */
  consume(bucket: Bucket, key: string, limit: number): Promise<Allowance>;
  /** As `consume` but synchronous, where the count is kept in this process; `undefined` where it is not. */
  consumeNow(bucket: Bucket, key: string, limit: number): Allowance | undefined;
  /** Looks without taking. */
  peek(bucket: Bucket, key: string, limit: number): Promise<Allowance>;
  reset(bucket: Bucket, key: string): Promise<void>;
}
export const Limits = defineToken<Limits>('Limits');
