import { createRequire } from 'node:module';
import type * as Library from 'ioredis';
import { chainOf, ConfigurationError, messageOf, type Logger, type Redis } from 'parley-forum';

/** In milliseconds. The loss of a connection that only subscribes is detected within 20 s. */
const TIMEOUTS = { connectTimeout: 5_000, commandTimeout: 2_000, keepAlive: 10_000 } as const;

/** The ioredis methods that handle each parsed reply. */
interface ReplyHandler {
  dispatch(work: () => void): void;
  returnFatalError(error: Error): void;
}

/** Message of the ioredis error for a command that exceeded `commandTimeout`. */
const TIMED_OUT = 'Command timed out';

/**
 * ioredis closes a connection that receives invalid protocol data. But if a reply does not have the shape its command
 * expects, it throws an uncaught exception, which would end the process; and it keeps a connection on which a reply
 * never completes. After any of these the connection is unreliable, so it is closed. Then only commands sent in the
 * first two seconds of an outage have to wait, and each request waits only once.
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
      /** Commands already sent once; ioredis resends those without a reply on its next connection. */
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
 * Commands fail at once while Redis is unavailable, and after 2 s if it stops responding; the client reconnects by
 * itself.
 */
export async function connect(url: string, log: Pick<Logger, 'warn'>, keyPrefix = ''): Promise<Redis> {
  const timeouts = { ...TIMEOUTS, retryStrategy: (attempt: number) => Math.min(attempt * 50, 1_000) };
  // Imported lazily: most sites run a single process without Redis.
  const redis = new (await loadRedis()).Redis(url, {
    keyPrefix,
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    autoResubscribe: false,
    ...timeouts,
  });
  let cause: Error | undefined;
  // Outages are logged once, by the cluster; without a listener, `error` events would end the process. Only network
  // errors have a code.
  redis.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === undefined && error.message !== cause?.message)
      log.warn({ error: chainOf(error) }, 'Redis sent an invalid response; reconnecting');
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
 * Subscribes to these channels, now and after each reconnection; ioredis would leave a failed resubscription unhandled.
 */
export async function subscribe(redis: Redis, ...channels: readonly string[]): Promise<void> {
  // If subscribing fails, the connection was lost again, and the next one subscribes.
  redis.on('ready', () => void redis.subscribe(...channels).catch(() => undefined));
  await redis.subscribe(...channels);
}

/** Timeouts of a probe in milliseconds; it does not reconnect. */
const PROBE_TIMEOUTS = { connectTimeout: 4_000, commandTimeout: 2_000, retryStrategy: () => null } as const;

/** Connects once, writes a key that expires by itself, and disconnects. Throws the error of the network or Redis. */
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
