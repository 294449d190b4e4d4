import type { Redis } from 'ioredis';
import { defineToken } from './ref.ts';

/** The ioredis client for the Redis server that the processes share. */
export type { Redis } from 'ioredis';

/** How long a value stays cached, and how much memory it counts for. */
export interface CacheOptions<T = any> {
  /** Seconds until the entry expires even if none of its tags is purged. */
  readonly seconds?: number | ((value: T) => number);
  /** Size of the value in memory; estimated by default. */
  readonly bytes?: number | ((value: T) => number);
}

/** Values cached in this process and kept consistent with purges by any process. */
export interface Cache {
  /**
   * Set when REDIS_URL is. Prefixes every key with the namespace (but not SCAN patterns) and fails fast while Redis is
   * down.
   */
  readonly redis: Redis | undefined;
  /**
   * Caches the result of `load` in this process until any process purges one of `tags`. Concurrent calls for the same
   * key share one load. Inside a transaction it only calls `load`: sharing could deadlock on the transaction's single
   * connection and would publish uncommitted data.
   */
  remember<T>(key: string, tags: readonly string[], load: () => Promise<T>, options?: CacheOptions<T>): Promise<T>;
  /** The value cached under `key`, if any. Synchronous. */
  peek<T>(key: string): T | undefined;
  /** The current cache version. Take it before computing a value, and pass it to `set` as `since`. */
  version(): number;
  /** Returns false and stores nothing if one of `tags` was purged after `since`, or inside a transaction. */
  set(key: string, tags: readonly string[], value: unknown, since: number, options?: CacheOptions): boolean;
  /**
   * Drops everything under these tags in every process; resolves once no process serves it any more. Inside a
   * transaction the purge runs after the commit.
   */
  purge(...tags: string[]): Promise<void>;
  /**
   * Drops everything under these tags at once, in this process only: for changes that each process notices by itself,
   * such as which plugins run.
   */
  drop(...tags: string[]): void;
}
export const Cache = defineToken<Cache>('Cache');
