import { chainOf, ConfigurationError, type Redis } from '#core';

/**
 * Milliseconds. A connection on which nothing is answered is given up, so that only what comes in the first two seconds of a silence waits; one
 * that only listens, and of which the other end has vanished, is found out within 20 s.
 */
const TIMES = { connectTimeout: 5_000, commandTimeout: 2_000, socketTimeout: 2_000, keepAlive: 10_000 } as const;

/** Commands fail at once while Redis is away, and after 2 s when it has fallen silent; the connection comes back by itself. */
export async function connect(url: string, keyPrefix = ''): Promise<Redis> {
  const times = { ...TIMES, retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000) };
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

/** Milliseconds that a look may take in all. */
const LOOK = { connectTimeout: 4_000, commandTimeout: 2_000, retryStrategy: () => null } as const;

/** Connects once, writes a key that goes away by itself, and leaves. Throws what the network or Redis said. */
export async function probe(url: string): Promise<void> {
  const redis = new (await import('ioredis')).Redis(url, { lazyConnect: true, maxRetriesPerRequest: 0, enableOfflineQueue: false, ...LOOK });
  let cause: Error | undefined;
  redis.on('error', (error: Error) => (cause ??= error));
  try {
    await redis.connect();
    await redis.set(`parley:probe:${crypto.randomUUID()}`, '1', 'PX', 1_000);
  } catch (error) {
    throw cause ?? error;
  } finally {
    redis.disconnect();
  }
}
