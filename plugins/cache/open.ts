import type { Cluster, Logger } from 'parley-forum';
import { Processes } from './processes.ts';
import { connect } from './redis.ts';
import { TaggedCache } from './tagged-cache.ts';

export interface OpenOptions {
  readonly log: Logger;
  readonly cluster: Cluster;
  /** REDIS_URL; without it everything stays in this process. */
  readonly url?: string | undefined;
  /** Keeps two installations on one Redis apart. */
  readonly namespace: string;
  /** What is to be done after the commit of the transaction that the caller is in, if any. */
  afterCommit(): Array<() => Promise<void>> | undefined;
  readonly bytes?: number | undefined;
}

export interface OpenCache {
  readonly cache: TaggedCache;
  /** Whether what is held may be served. */
  current(): boolean;
  close(): Promise<void>;
}

/** Throws `ConfigurationError` when Redis cannot be reached within 5 s. Later outages are survived. */
export async function openCache({ url, namespace, log, cluster, ...options }: OpenOptions): Promise<OpenCache> {
  if (url === undefined) {
    const cache = new TaggedCache({ cluster, ...options });
    return { cache, current: () => true, close: async () => cache.stop() };
  }
  const redis = await connect(url, log, `${namespace}:`);
  const ear = await connect(url, log);
  const processes = new Processes(log, cluster, namespace, redis);
  const current = (): boolean => processes.current();
  const cache = new TaggedCache({ cluster, redis, current, ...options });
  await processes.join(ear);
  const close = async (): Promise<void> => {
    await processes.close();
    cache.stop();
    ear.disconnect();
    redis.disconnect();
  };
  return { cache, current, close };
}
