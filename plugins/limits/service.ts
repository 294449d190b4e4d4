import {
  RateLimiterMemory,
  RateLimiterRedis,
  type RateLimiterAbstract,
  type RateLimiterRes,
} from 'rate-limiter-flexible';
import { HttpError, messageOf, type Cache, type Logger } from 'parley-forum';
import type { Allowance, Bucket, Limits } from 'parley-forum/plugins/limits';
import { ipKey } from './ip-key.ts';

/** `Retry-After` in seconds for a bucket that fails closed because it cannot count. */
const RETRY_AFTER = '30';

/** The parts of the package's memory store that its asynchronous methods merely wrap. */
interface Counters {
  incrby(key: string, points: number, seconds: number): RateLimiterRes;
}

/** Adds a synchronous way to count, for responses that are sent without awaiting anything. */
class MemoryBucket extends RateLimiterMemory {
  take(key: string): RateLimiterRes {
    const { _memoryStorage: counters } = this as unknown as { readonly _memoryStorage: Counters };
    return counters.incrby(this.getKey(key), 1, this.duration);
  }
}

/** The counters have no limit of their own: it is passed with each call, so a changed setting applies at once. */
function allowance({ window }: Bucket, limit: number, found: RateLimiterRes | null, taking: boolean): Allowance {
  const used = found?.consumedPoints ?? 0;
  // The time left is capped at the window's length, which it would exceed after the clock was set back.
  const left = Math.min(window * 1_000, Math.max(0, found?.msBeforeNext ?? 0));
  return {
    limit,
    remaining: Math.max(0, limit - used),
    resetAt: Date.now() + left,
    allowed: taking ? used <= limit : used < limit,
  };
}

export class LimitsService implements Limits {
  readonly #buckets = new Map<string, RateLimiterAbstract>();
  readonly #redis: Cache['redis'];
  readonly #log: Logger;
  readonly ipKey = ipKey;

  /** The Redis client prefixes every key with the forum's namespace. */
  constructor({ redis, log }: { redis: Cache['redis']; log: Logger }) {
    this.#redis = redis;
    this.#log = log;
  }

  consume(bucket: Bucket, key: string, limit: number): Promise<Allowance> {
    return this.#guarded(async () => allowance(bucket, limit, await this.#limiter(bucket).penalty(key, 1), true));
  }

  consumeNow(bucket: Bucket, key: string, limit: number): Allowance | undefined {
    const limiter = this.#limiter(bucket);
    return limiter instanceof MemoryBucket ? allowance(bucket, limit, limiter.take(key), true) : undefined;
  }

  peek(bucket: Bucket, key: string, limit: number): Promise<Allowance> {
    return this.#guarded(async () => allowance(bucket, limit, await this.#limiter(bucket).get(key), false));
  }

  async reset(bucket: Bucket, key: string): Promise<void> {
    await this.#guarded(() => this.#limiter(bucket).delete(key));
  }

  /** Only buckets that fail closed throw here: the others fall back to memory. */
  async #guarded<T>(question: () => Promise<T>): Promise<T> {
    try {
      return await question();
    } catch (error) {
      this.#log.warn(
        { why: messageOf(error) },
        'Redis cannot count; buckets that fail closed refuse requests until it is available again',
      );
      throw new HttpError(503, 'This is not possible while attempts cannot be counted; try again soon', {
        headers: { 'Retry-After': RETRY_AFTER },
        cause: error,
      });
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
    return new RateLimiterRedis({
      ...options,
      storeClient: this.#redis,
      rejectIfRedisNotReady: true,
      ...(!failClosed && { insuranceLimiter: memory }),
    });
  }
}
