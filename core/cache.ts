import type { Redis } from 'ioredis';
import { defineToken } from './ref.ts';

/** The client of the server that processes share, as ioredis has it. */
export type { Redis } from 'ioredis';

/** How long a value stays in the cache, and what it weighs there. */
export interface CacheOptions<T = any> {
  /** Seconds after which it is forgotten even if nothing is purged. */
  readonly seconds?: number | ((value: T) => number);
  /** What it weighs in memory; estimated from the value by default. */
  readonly bytes?: number | ((value: T) => number);
}

/** Values held in this process, exact to the last purge by any process. */
export interface Cache {
  /**
   * Where REDIS_URL is set. It puts the namespace before every key (not before the patterns of SCAN) and fails at once
   * while Redis is away.
   */
  readonly redis: Redis | undefined;
  /**
   * Held in this process until one of `tags` is purged by any process. Concurrent loads of one key share one. Inside a
   * transaction it just loads: sharing could wait for itself on the single connection, and would publish what is not
   * committed.
   */
  remember<T>(key: string, tags: readonly string[], load: () => Promise<T>, options?: CacheOptions<T>): Promise<T>;
  /** What is held under `key`, without waiting. */
  peek<T>(key: string): T | undefined;
  /** To be taken before computing something that `set` shall store. */
  version(): number;
  /** False, and nothing is stored, when one of `tags` was purged after `since`, or inside a transaction. */
  set(key: string, tags: readonly string[], value: unknown, since: number, options?: CacheOptions): boolean;
  /**
   * Drops everything under these tags in every process; resolves when none serves it any more. Inside a transaction it
   * is done after the commit.
   */
  purge(...tags: string[]): Promise<void>;
  /** Drops it in this process alone, at once: for what each process sees change by itself, as which plugins run. */
  drop(...tags: string[]): void;
}
export const Cache = defineToken<Cache>('Cache');
