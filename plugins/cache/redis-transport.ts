import { randomBytes } from 'node:crypto';
import { chainOf, type Cluster, type Logger, type Redis } from 'parley-forum';
import { subscribe } from './redis.ts';

/**
 * How long a process may serve from memory without renewing its lease, in milliseconds; hence also the longest wait for
 * a silent process.
 */
const LEASE = 250;
/** Milliseconds between renewals: two may be late before the lease is lost. */
const RENEWAL_INTERVAL = 80;
/**
 * Milliseconds of silence after which a process is considered crashed. It may have changed data without publishing
 * that, so all processes drop their caches.
 */
const CRASH_TIMEOUT = 5_000;
const EVERYTHING = '*';
const KEYS = ['cluster:number', 'cluster:alive'] as const;

/**
 * A cluster's message numbers start from its creation time in microseconds, so they cannot collide with numbers from
 * before Redis lost its data.
 */
const START = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[1], time[1] .. string.format('%06d', time[2]), 'NX')`;
const RENEW = `${START}
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
if redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3]) > 0 then redis.call('INCR', KEYS[1]) end
redis.call('EXPIRE', KEYS[1], 86400)
return redis.call('GET', KEYS[1])`;
const SEND = `${START}
redis.call('INCR', KEYS[1])
redis.call('PUBLISH', ARGV[1], redis.call('GET', KEYS[1]) .. ' ' .. ARGV[2])
return redis.call('ZRANGEBYSCORE', KEYS[2], now, '+inf')`;
const MESSAGE = /^(\d+) (\S+) (\d+) (\S+) (.*)$/s;

/**
 * Sends messages to the other processes and delivers theirs to this one. Messages are numbered consecutively, and a
 * process serves from memory only while it has received every message up to the number at its last renewal; so a
 * process that misses a message stops before the sender continues.
 */
export class RedisTransport {
  readonly #id = randomBytes(8).toString('hex');
  /** Messages in flight, each with the callback for acknowledgements of other processes. */
  readonly #acknowledgements = new Map<string, (from?: string) => void>();
  readonly #log: Logger;
  readonly #cluster: Cluster;
  readonly #channel: string;
  readonly #redis: Redis;
  #stop: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #messageIds = 0;
  #received = -1;
  #lease = { number: 0, until: 0 };
  /** When Redis became unavailable. */
  #disconnectedAt: number | undefined;
  #unsent = false;
  #closed = false;

  /**
   * The connection must prefix its keys with the namespace, and commands must fail rather than wait while Redis is
   * unavailable.
   */
  constructor(log: Logger, cluster: Cluster, namespace: string, redis: Redis) {
    this.#log = log;
    this.#cluster = cluster;
    this.#channel = `${namespace}:cluster`;
    this.#redis = redis;
  }

  /** Connects to the channel; nothing is sent or received before. */
  async connect(subscriber: Redis): Promise<void> {
    subscriber.on('message', (channel, text) =>
      channel === this.#channel ? this.#receive(text) : this.#acknowledge(text),
    );
    await subscribe(subscriber, this.#channel, `${this.#channel}:${this.#id}`);
    await this.#renew();
    this.#stop = this.#cluster.useTransport((subject, payload) => this.#publish(subject, payload));
    let renewal: Promise<void> | undefined;
    this.#timer = setInterval(() => {
      renewal ??= this.#renew().finally(() => (renewal = undefined));
    }, RENEWAL_INTERVAL).unref();
  }

  /** Whether this process may serve its cached values: it has received all messages as of at most one lease ago. */
  current(): boolean {
    return this.#received >= this.#lease.number && performance.now() < this.#lease.until;
  }

  /** Must be called before the connections are closed, so that no other process waits for this one. */
  async close(): Promise<void> {
    this.#stop?.();
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#redis.zrem(KEYS[1], this.#id).catch(() => undefined);
  }

  /**
   * Resolves when all live processes have acknowledged the message or, at the latest, when the lease of a silent one
   * has expired. If Redis is unavailable, the other processes are told to reload everything once it is back.
   */
  async #publish(subject: string, payload?: object): Promise<void> {
    const messageId = String(++this.#messageIds);
    const acknowledged = new Set<string>();
    let alive: readonly string[] | undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (from = this.#id): void => {
      acknowledged.add(from);
      if (alive?.every((id) => acknowledged.has(id))) resolve();
    };
    this.#acknowledgements.set(messageId, check);
    try {
      const text = `${this.#id} ${messageId} ${subject} ${JSON.stringify(payload) ?? ''}`;
      alive = (await this.#redis.eval(SEND, 2, ...KEYS, this.#channel, text)) as string[];
      check();
    } catch (error) {
      this.#fail(error);
      this.#unsent = true;
    }
    // While Redis is unavailable, the leases of the other processes expire just as this one's does.
    const elapsed = alive ? 0 : performance.now() - (this.#disconnectedAt ?? performance.now());
    // One millisecond longer than the lease, because timers may fire up to one millisecond early.
    const timer = setTimeout(resolve, Math.max(1, LEASE + 1 - elapsed));
    await promise;
    clearTimeout(timer);
    this.#acknowledgements.delete(messageId);
  }

  async #renew(): Promise<void> {
    const sent = performance.now();
    const before = this.#received;
    const reply = await this.#redis
      .eval(RENEW, 2, ...KEYS, this.#id, LEASE, CRASH_TIMEOUT)
      .catch((error: unknown) => this.#fail(error));
    if (reply === undefined) return;
    const number = Number(reply);
    // Redis was unavailable or lost its data, or a message sent before the last renewal has still not arrived.
    const missed = this.#disconnectedAt !== undefined || number < before || this.#lease.number > this.#received;
    if (missed) this.#received = number < before ? number : Math.max(number, this.#received);
    this.#disconnectedAt = undefined;
    this.#lease = { number, until: sent + LEASE };
    if (missed) void this.#cluster.deliver();
    if (this.#unsent) void this.#publish(EVERYTHING);
    this.#unsent = false;
  }

  #receive(text: string): void {
    const [, last, from, messageId, subject, json] = MESSAGE.exec(text) ?? [];
    // Messages in flight may still arrive while the connection is closing.
    if (subject === undefined || json === undefined || this.#closed) return;
    const missed = Number(last) > this.#received + 1;
    this.#received = Math.max(this.#received, Number(last));
    if (missed) void this.#cluster.deliver();
    if (from === this.#id) return;
    const run = this.#cluster.deliver(
      subject === EVERYTHING ? undefined : subject,
      json ? (JSON.parse(json) as object) : undefined,
    );
    // Without an acknowledgement the sender waits for the lease to expire, which is correct too.
    void run
      .then(() => this.#redis.publish(`${this.#channel}:${from}`, `${messageId} ${this.#id}`))
      .catch(() => undefined);
  }

  #acknowledge(text: string): void {
    const [messageId = '', from = ''] = text.split(' ');
    this.#acknowledgements.get(messageId)?.(from);
  }

  #fail(error: unknown): undefined {
    if (this.#disconnectedAt === undefined)
      this.#log.warn({ error: chainOf(error) }, 'Redis does not respond; until it does, nothing is served from memory');
    this.#disconnectedAt ??= performance.now();
  }
}
