import { serialize } from 'node:v8';
import { LRUCache } from 'lru-cache';
import type { Cache, Cluster, Data, CacheOptions, Redis } from 'parley-forum';

interface Entry {
  readonly value: unknown;
  readonly tags: readonly string[];
}

/** Maximum number of purged tags to remember individually; beyond that, every earlier version counts as purged. */
const MAX_PURGED_TAGS = 10_000;

/**
 * Estimates the size of `value` in bytes: objects take up to twice their serialized size; values that contain functions
 * cannot be measured.
 */
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

/** The subject under which processes publish purged tags. */
const PURGED = 'cache.purged';

export interface TaggedCacheOptions {
  readonly cluster: Cluster;
  readonly data: Pick<Data, 'afterCommit' | 'inTransaction'>;
  /** Whether cached values may be served: in a cluster, only while this process receives the purges of the others. */
  current?(): boolean;
  readonly redis?: Redis | undefined;
  /**
   * Maximum number of bytes cached in this process. Default 32 MiB: some 300 pages of twenty posts, and small compared
   * with Node itself.
   */
  readonly bytes?: number | undefined;
}

/** Evicts the least recently used entries when it is full. */
export class TaggedCache implements Cache {
  readonly redis: Redis | undefined;
  readonly #cluster: Cluster;
  readonly #data: TaggedCacheOptions['data'];
  readonly #current: () => boolean;
  readonly #entries: LRUCache<string, Entry>;
  /** Keys by tag. */
  readonly #keys = new Map<string, Set<string>>();
  /** By tag, the clock value at its last purge. */
  readonly #purged = new Map<string, number>();
  readonly #loads = new Map<string, Load>();
  /** Unsubscribes from purges; afterwards the cache must not be used any more. */
  readonly stop: () => void;
  /** Number of purges so far. */
  #clock = 0;
  /** Values computed from data older than this count as purged. */
  #floor = 0;

  constructor({ cluster, data, current = () => true, redis, bytes = 32 * 1024 * 1024 }: TaggedCacheOptions) {
    this.#entries = new LRUCache({
      maxSize: bytes,
      ttlResolution: 0,
      dispose: ({ tags }, key) => this.#untag(key, tags),
    });
    this.#data = data;
    this.#current = current;
    this.#cluster = cluster;
    this.redis = redis;
    this.stop = cluster.subscribe(PURGED, (payload) => this.#forget(payload as readonly string[] | undefined));
  }

  async remember<T>(
    key: string,
    tags: readonly string[],
    load: () => Promise<T>,
    options?: CacheOptions<T>,
  ): Promise<T> {
    if (this.#data.inTransaction) return load();
    if (this.#current()) {
      const cached = this.#entries.get(key);
      if (cached) return cached.value as T;
      const other = this.#loads.get(key);
      // A load that was overtaken by a purge is only for callers from before the purge.
      if (other && !this.#purgedSince(other.since, [...other.tags, ...tags])) return this.#newest<T>(key, other);
    }
    const own: Load = { since: this.#clock, tags, promise: load() };
    this.#loads.set(key, own);
    try {
      this.set(key, tags, await own.promise, own.since, options);
      return await this.#newest<T>(key, own);
    } finally {
      if (this.#loads.get(key) === own) this.#loads.delete(key);
    }
  }

  /**
   * Returns the loaded value or, if a purge overtook the load, the one cached since: callers keep the result, and it
   * must not replace a newer one.
   */
  async #newest<T>(key: string, { since, tags, promise }: Load): Promise<T> {
    const value = (await promise) as T;
    return this.#purgedSince(since, tags) ? (this.peek<T>(key) ?? value) : value;
  }

  peek<T>(key: string): T | undefined {
    return this.#current() ? (this.#entries.get(key)?.value as T | undefined) : undefined;
  }

  version(): number {
    return this.#clock;
  }

  set(key: string, tags: readonly string[], value: unknown, since: number, options?: CacheOptions): boolean {
    if (this.#data.inTransaction || this.#purgedSince(since, tags)) return false;
    this.#store(key, tags, value, options);
    return true;
  }

  async purge(...tags: string[]): Promise<void> {
    if (tags.length === 0) return;
    await this.#data.afterCommit(async () => {
      this.#forget(tags);
      await this.#cluster.publish(PURGED, tags);
    });
  }

  drop(...tags: string[]): void {
    if (tags.length > 0) this.#forget(tags);
  }

  #purgedSince(version: number, tags: readonly string[]): boolean {
    return version < this.#floor || tags.some((tag) => (this.#purged.get(tag) ?? 0) > version);
  }

  #store(key: string, tags: readonly string[], value: unknown, { seconds, bytes = sizeOf }: CacheOptions = {}): void {
    const size = typeof bytes === 'function' ? bytes(value) : bytes;
    const time = typeof seconds === 'function' ? seconds(value) : seconds;
    this.#entries.set(
      key,
      { value, tags },
      { size: Math.max(1, Math.ceil(size)), ttl: time === undefined ? 0 : Math.max(1, time * 1000) },
    );
    // Values that are too large have not been stored.
    if (this.#entries.has(key))
      for (const tag of tags) this.#keys.set(tag, (this.#keys.get(tag) ?? new Set()).add(key));
  }

  /** Removes the entries with these tags, or all entries if no tags are given. */
  #forget(tags?: readonly string[]): void {
    this.#clock++;
    if (!tags || this.#purged.size >= MAX_PURGED_TAGS) {
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
