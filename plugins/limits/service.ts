import { RateLimiterMemory, RateLimiterRedis, type RateLimiterAbstract, type RateLimiterRes } from 'rate-limiter-flexible';
import { messageOf, type Cache, type Logger } from '#core';
import type { Allowance, Bucket, Limits } from '#plugins/limits';
import { addressKey } from './address-key.ts';

/** Milliseconds a bucket that fails closed refuses for, before the caller may ask again. */
const AWAY = 30_000;

/** The parts of the package's memory store that its asynchronous methods are thin covers of. */
interface Counters {
  incrby(key: string, points: number, seconds: number): RateLimiterRes;
}

/** Adds a synchronous way to count, for answers that are sent before anything is awaited. */
class MemoryBucket extends RateLimiterMemory {
  take(key: string): RateLimiterRes {
    const { _memoryStorage: counters } = this as unknown as { readonly _memoryStorage: Counters };
    return counters.incrby(this.getKey(key), 1, this.duration);
  }
}

/** Counts never refuse by themselves: the limit comes with each question, so a changed setting holds at once. */
function allowance(limit: number, found: RateLimiterRes | null, taking: boolean): Allowance {
  const used = found?.consumedPoints ?? 0;
  return { limit, remaining: Math.max(0, limit - used), resetAt: Date.now() + Math.max(0, found?.msBeforeNext ?? 0), allowed: taking ? used <= limit : used < limit };
}

export class LimitsService implements Limits {
  readonly #buckets = new Map<string, RateLimiterAbstract>();
  readonly #redis: Cache['redis'];
  readonly #log: Logger;
  readonly addressKey = addressKey;

  /** The client puts the forum's namespace before every key. */
  constructor({ redis, log }: { redis: Cache['redis']; log: Logger }) {
    this.#redis = redis;
    this.#log = log;
  }

  consume(bucket: Bucket, key: string, limit: number): Promise<Allowance> {
    return this.#ask(limit, async () => allowance(limit, await this.#limiter(bucket).penalty(key, 1), true));
  }

  consumeNow(bucket: Bucket, key: string, limit: number): Allowance | undefined {
    const limiter = this.#limiter(bucket);
    return limiter instanceof MemoryBucket ? allowance(limit, limiter.take(key), true) : undefined;
  }

  peek(bucket: Bucket, key: string, limit: number): Promise<Allowance> {
    return this.#ask(limit, async () => allowance(limit, await this.#limiter(bucket).get(key), false));
  }

  async reset(bucket: Bucket, key: string): Promise<void> {
    await this.#ask(0, async () => allowance(0, (await this.#limiter(bucket).delete(key), null), false));
  }

  /** Only a bucket that fails closed gets here with an error: the others are insured. */
  async #ask(limit: number, question: () => Promise<Allowance>): Promise<Allowance> {
    try {
      return await question();
    } catch (error) {
      this.#log.warn({ why: messageOf(error) }, 'Redis does not count; buckets that fail closed refuse until it is back');
      return { limit, remaining: 0, resetAt: Date.now() + AWAY, allowed: false };
    }
  }

  #limiter(bucket: Bucket): RateLimiterAbstract {
    const name = `${bucket.name}/${bucket.window}`;
    let limiter = this.#buckets.get(name);
    if (!limiter) this.#buckets.set(name, (limiter = this.#create(bucket, name)));
    return limiter;
  }

  #create({ window, failClosed = false }: Bucket, name: string): RateLimiterAbstract {
    const options = { points: Number.MAX_SAFE_INTEGER, duration: window, keyPrefix: `limit:${name}` };
    const memory = new MemoryBucket(options);
    if (!this.#redis) return memory;
    return new RateLimiterRedis({ ...options, storeClient: this.#redis, rejectIfRedisNotReady: true, ...(!failClosed && { insuranceLimiter: memory }) });
  }
}
