import type { Cluster, Data, Logger } from 'parley-forum';
import { RedisTransport } from './redis-transport.ts';
import { connect } from './redis.ts';
import { TaggedCache } from './tagged-cache.ts';

export interface OpenCacheOptions {
  readonly log: Logger;
  readonly cluster: Cluster;
  /** REDIS_URL; without it, everything stays in this process. */
  readonly url?: string | undefined;
  /** Separates several installations on one Redis server. */
  readonly namespace: string;
  readonly data: Pick<Data, 'afterCommit' | 'inTransaction'>;
  readonly bytes?: number | undefined;
}

export interface OpenCache {
  readonly cache: TaggedCache;
  /** Whether cached values may be served. */
  current(): boolean;
  close(): Promise<void>;
}

/** Throws `ConfigurationError` if Redis cannot be reached within 5 s. Later outages are tolerated. */
export async function openCache({ url, namespace, log, cluster, ...options }: OpenCacheOptions): Promise<OpenCache> {
  if (url === undefined) {
    const cache = new TaggedCache({ cluster, ...options });
    return { cache, current: () => true, close: async () => cache.stop() };
  }
  const redis = await connect(url, log, `${namespace}:`);
  const subscriber = await connect(url, log);
  const transport = new RedisTransport(log, cluster, namespace, redis);
  const current = (): boolean => transport.current();
  const cache = new TaggedCache({ cluster, redis, current, ...options });
  await transport.connect(subscriber);
  const close = async (): Promise<void> => {
    await transport.close();
    cache.stop();
    subscriber.disconnect();
    redis.disconnect();
  };
  return { cache, current, close };
}
