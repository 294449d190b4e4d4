import { serialize } from 'node:v8';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import { chainOf, ConfigurationError } from './errors.ts';
import { Fleet } from './fleet.ts';
import type { Logger } from './logger.ts';
import { defineToken } from './ref.ts';

export type { Redis } from 'ioredis';

export interface KeepOptions {
  /** Seconds after which it is forgotten even if nothing is purged. */
  readonly seconds?: number;
  /** What it weighs in memory; estimated from the value by default. */
  readonly bytes?: number;
}

/** Values held in this process, exact to the last purge by any process. */
export interface Cache {
  /** Where REDIS_URL is set. It puts the namespace before every key (not before the patterns of SCAN) and fails at once while Redis is away. */
  readonly redis: Redis | undefined;
  /** The other processes of this installation. */
  readonly fleet: Fleet;
  /**
   * Held in this process until one of `tags` is purged by any process. Concurrent loads of one key share one. Inside a transaction
   * it just loads: sharing could wait for itself on the single connection, and would publish what is not committed.
   */
  remember<T>(key: string, tags: readonly string[], load: () => Promise<T>, options?: KeepOptions): Promise<T>;
  /** What is held under `key`, without waiting. */
  peek<T>(key: string): T | undefined;
  /** To be taken before computing something that `keep` shall hold. */
  mark(): number;
  /** False, and nothing is held, when one of `tags` was purged after `since`, or inside a transaction. */
  keep(key: string, tags: readonly string[], value: unknown, since: number, options?: KeepOptions): boolean;
  /** Drops everything under these tags in every process; resolves when none serves it any more. Inside a transaction it is done after the commit. */
  purge(...tags: string[]): Promise<void>;
  close(): Promise<void>;
}
export const Cache = defineToken<Cache>('Cache');

export interface CacheOptions {
  /** REDIS_URL; without it everything stays in this process. */
  readonly url?: string | undefined;
  readonly log: Logger;
  /** What is to be done after the commit of the transaction that the caller is in, if any. */
  afterCommit(): Array<() => Promise<void>> | undefined;
  /** Keeps two installations on one Redis apart. */
  readonly namespace?: string;
  /** Bytes held in this process at most. Default 64 MiB: the guest pages of a middling site, and small beside Node itself. */
  readonly bytes?: number;
}

interface Entry {
  readonly value: unknown;
  readonly tags: readonly string[];
}

/** Purged tags remembered one by one; beyond them every mark that is older than now counts as purged. */
const MARKS = 10_000;

/** About what `value` weighs: objects take up to twice their serialized form; what holds functions cannot be measured. */
function sizeOf(value: unknown): number {
  if (ArrayBuffer.isView(value)) return value.byteLength + 256;
  try {
    return serialize(value).byteLength * 2 + 256;
  } catch {
    return 8_192;
  }
}

interface Load {
  readonly since: number;
  readonly tags: readonly string[];
  readonly promise: Promise<unknown>;
}

/** The subject under which processes tell each other what they purged. */
const PURGED = 'cache.purged';

/** Where there is no room, what was read least recently goes first. */
class TaggedCache implements Cache {
  readonly redis: Redis | undefined;
  readonly fleet: Fleet;
  readonly #ear: Redis | undefined;
  readonly #afterCommit: CacheOptions['afterCommit'];
  readonly #entries: LRUCache<string, Entry>;
  /** By tag. */
  readonly #keys = new Map<string, Set<string>>();
  /** By tag, when it was last purged. */
  readonly #purged = new Map<string, number>();
  readonly #loads = new Map<string, Load>();
  /** Counts purges. */
  #clock = 0;
  /** Everything computed from before this counts as purged. */
  #floor = 0;

  constructor({ bytes = 64 * 1024 * 1024, afterCommit }: CacheOptions, fleet: Fleet, redis?: Redis, ear?: Redis) {
    this.#entries = new LRUCache({ maxSize: bytes, ttlResolution: 0, dispose: ({ tags }, key) => this.#untag(key, tags) });
    this.#afterCommit = afterCommit;
    this.fleet = fleet;
    this.redis = redis;
    this.#ear = ear;
    fleet.listen(PURGED, (payload) => this.#drop(payload as readonly string[] | undefined));
  }

  async remember<T>(key: string, tags: readonly string[], load: () => Promise<T>, options?: KeepOptions): Promise<T> {
    if (this.#afterCommit()) return load();
    if (this.fleet.current()) {
      const held = this.#entries.get(key);
      if (held) return held.value as T;
      const other = this.#loads.get(key);
      // A load that a purge overtook answers only those who came before the purge.
      if (other && !this.#purgedSince(other.since, [...other.tags, ...tags])) return other.promise as Promise<T>;
    }
    const mine: Load = { since: this.#clock, tags, promise: load() };
    this.#loads.set(key, mine);
    try {
      const value = (await mine.promise) as T;
      this.keep(key, tags, value, mine.since, options);
      return value;
    } finally {
      if (this.#loads.get(key) === mine) this.#loads.delete(key);
    }
  }

  peek<T>(key: string): T | undefined {
    return this.fleet.current() ? (this.#entries.get(key)?.value as T | undefined) : undefined;
  }

  mark(): number {
    return this.#clock;
  }

  keep(key: string, tags: readonly string[], value: unknown, since: number, options?: KeepOptions): boolean {
    if (this.#afterCommit() || this.#purgedSince(since, tags)) return false;
    this.#hold(key, tags, value, options);
    return true;
  }

  async purge(...tags: string[]): Promise<void> {
    if (tags.length === 0 || this.#afterCommit()?.push(() => this.purge(...tags))) return;
    this.#drop(tags);
    await this.fleet.announce(PURGED, tags);
  }

  async close(): Promise<void> {
    await this.fleet.close();
    this.#ear?.disconnect();
    this.redis?.disconnect();
  }

  #purgedSince(mark: number, tags: readonly string[]): boolean {
    return mark < this.#floor || tags.some((tag) => (this.#purged.get(tag) ?? 0) > mark);
  }

  #hold(key: string, tags: readonly string[], value: unknown, { seconds, bytes = sizeOf(value) }: KeepOptions = {}): void {
    this.#entries.set(key, { value, tags }, { size: Math.max(1, Math.ceil(bytes)), ttl: seconds === undefined ? 0 : Math.max(1, seconds * 1000) });
    // What is too large was not taken.
    if (this.#entries.has(key)) for (const tag of tags) this.#keys.set(tag, (this.#keys.get(tag) ?? new Set()).add(key));
  }

  /** Everything, where no tags are given. */
  #drop(tags?: readonly string[]): void {
    this.#clock++;
    if (!tags || this.#purged.size >= MARKS) {
      this.#floor = this.#clock;
      this.#purged.clear();
    }
    if (!tags) return this.#entries.clear();
    for (const tag of tags) {
      this.#purged.set(tag, this.#clock);
      for (const key of this.#keys.get(tag) ?? []) this.#entries.delete(key);
    }
  }

  #untag(key: string, tags: readonly string[]): void {
    for (const tag of tags) {
      const keys = this.#keys.get(tag);
      if (keys?.delete(key) && keys.size === 0) this.#keys.delete(tag);
    }
  }
}

/** Throws `ConfigurationError` when Redis cannot be reached within 5 s. Later outages are survived. */
export async function openCache(options: CacheOptions): Promise<Cache> {
  const { url, log, namespace = 'main' } = options;
  const fleet = new Fleet(log, namespace);
  if (url === undefined) return new TaggedCache(options, fleet);
  const redis = await connect(url, `${namespace}:`);
  const ear = await connect(url);
  const cache = new TaggedCache(options, fleet, redis, ear);
  await fleet.join(redis, ear);
  return cache;
}

/** Commands fail at once while Redis is away, and after 2 s when it is silent; the connection comes back by itself. */
async function connect(url: string, keyPrefix = ''): Promise<Redis> {
  const times = { connectTimeout: 5_000, commandTimeout: 2_000, retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000) };
  // Imported when used: most sites run one process without it.
  const redis = new (await import('ioredis')).Redis(url, { keyPrefix, lazyConnect: true, maxRetriesPerRequest: 1, enableOfflineQueue: false, ...times });
  let cause: Error | undefined;
  // Outages are logged once, by the fleet; without a listener they would end the process.
  redis.on('error', (error: Error) => (cause = error));
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw new ConfigurationError(`REDIS_URL: no Redis at ${new URL(url).host} (${chainOf(cause ?? error)}); start it there, or unset REDIS_URL`);
  }
  return redis;
}
