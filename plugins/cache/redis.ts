import { chainOf, ConfigurationError, type Redis } from '#core';

/** Commands fail at once while Redis is away, and after 2 s when it is silent; the connection comes back by itself. */
export async function connect(url: string, keyPrefix = ''): Promise<Redis> {
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
