import { createRequire } from 'node:module';
import type * as Library from 'ioredis';
import { chainOf, ConfigurationError, messageOf, type Logger, type Redis } from 'parley-forum';

/** Milliseconds. A connection that only subscribes, and whose other end has vanished, is detected within 20 s. */
const TIMEOUTS = { connectTimeout: 5_000, commandTimeout: 2_000, keepAlive: 10_000 } as const;

/** What ioredis does with each reply it has read. */
interface ReplyHandler {
  dispatch(work: () => void): void;
  returnFatalError(error: Error): void;
}

/** The message of ioredis's error for a command that took longer than `commandTimeout`. */
const TIMED_OUT = 'Command timed out';

/**
 * ioredis ends a connection whose bytes are no replies, but throws uncaught when a reply has not the shape that its
 * command promises, which would end the process; and it keeps a connection on which a reply never ends. All of this
 * means that nothing on this connection can be relied on, so it is closed: what waits is then what was sent in the first
 * two seconds of an outage, and each request only once.
 */
async function loadRedis(): Promise<Pick<typeof Library, 'Redis'>> {
  const { default: handler } = createRequire(import.meta.url)('ioredis/built/DataHandler.js') as {
    default: { prototype: ReplyHandler };
  };
  Object.assign(handler.prototype, {
    dispatch(this: ReplyHandler, work: () => void): void {
      try {
        work();
      } catch (error) {
        this.returnFatalError(error as Error);
      }
    },
  });
  const { Redis } = await import('ioredis');
  return {
    Redis: class extends Redis {
      /** Commands that were sent; ioredis sends those without a reply once more on its next connection. */
      readonly #sent = new WeakSet<Library.Command>();

      override sendCommand(...call: Parameters<Library.Redis['sendCommand']>): unknown {
        const [command] = call;
        const reply = super.sendCommand(...call);
        const connection = this.stream as Library.Redis['stream'] | undefined;
        if (connection && !this.#sent.has(command))
          command.promise.catch((error: unknown) => {
            if (messageOf(error) === TIMED_OUT) connection.destroy();
          });
        this.#sent.add(command);
        return reply;
      }
    },
  };
}

/**
 * Commands fail at once while Redis is away, and after 2 s when it has fallen silent; the connection comes back by
 * itself.
 */
export async function connect(url: string, log: Pick<Logger, 'warn'>, keyPrefix = ''): Promise<Redis> {
  const timeouts = { ...TIMEOUTS, retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000) };
  // Imported when used: most sites run one process without it.
  const redis = new (await loadRedis()).Redis(url, {
    keyPrefix,
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    autoResubscribe: false,
    ...timeouts,
  });
  let cause: Error | undefined;
  // Outages are logged once, by the cluster; without a listener they would end the process. What is no error of the
  // network has no code.
  redis.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === undefined && error.message !== cause?.message)
      log.warn({ error: chainOf(error) }, 'Redis answered something that is no answer; the connection is opened anew');
    cause = error;
  });
  try {
    await redis.connect();
  } catch (error) {
    redis.disconnect();
    throw new ConfigurationError(
      `REDIS_URL: no Redis at ${new URL(url).host} (${chainOf(cause ?? error)}); start it there, or unset REDIS_URL`,
    );
  }
  return redis;
}

/**
 * Subscribes to these channels, now and after each reconnection; ioredis would leave a subscription that fails then
 * unhandled.
 */
export async function subscribe(redis: Redis, ...channels: readonly string[]): Promise<void> {
  // One that fails has lost its connection once more, and the next one makes it.
  redis.on('ready', () => void redis.subscribe(...channels).catch(() => undefined));
  await redis.subscribe(...channels);
}

/** Milliseconds that a probe may take in all. */
const PROBE_TIMEOUTS = { connectTimeout: 4_000, commandTimeout: 2_000, retryStrategy: () => null } as const;

/** Connects once, writes a key that goes away by itself, and leaves. Throws the error of the network or Redis. */
export async function probe(url: string): Promise<void> {
  const redis = new (await loadRedis()).Redis(url, {
    lazyConnect: true,
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    ...PROBE_TIMEOUTS,
  });
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
