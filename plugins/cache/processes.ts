import { randomBytes } from 'node:crypto';
import { chainOf, type Cluster, type Logger, type Redis } from 'parley-forum';
import { subscribe } from './redis.ts';

/**
 * Milliseconds for which a process trusts what it remembers without asking; so also the longest wait for a silent
 * process.
 */
const LEASE = 250;
/** Milliseconds between renewals: two may come late before the lease is lost. */
const RENEWAL = 80;
/**
 * Milliseconds of silence after which a process has crashed; it may have changed something without saying so, hence all
 * look again.
 */
const CRASHED = 5_000;
const EVERYTHING = '*';
const KEYS = ['cluster:number', 'cluster:alive'] as const;

/**
 * A cluster's first number is its birth in microseconds, so it cannot meet a number from before Redis lost its data.
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
 * Sends messages to the other processes and delivers theirs here. They carry consecutive numbers, and a process trusts
 * its memory only while it has heard every number there was at its last renewal, so one that misses a message stops
 * before the sender goes on.
 */
export class Processes {
  readonly #id = randomBytes(8).toString('hex');
  /** Announcements under way, each with what to do when a process has followed it. */
  readonly #answers = new Map<string, (from?: string) => void>();
  readonly #log: Logger;
  readonly #cluster: Cluster;
  readonly #channel: string;
  readonly #line: Redis;
  #stop: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #tickets = 0;
  #heard = -1;
  #lease = { number: 0, until: 0 };
  /** Since when Redis has not answered. */
  #cutOff: number | undefined;
  #unsent = false;
  #closed = false;

  /** The line must put the namespace before its keys, and fail rather than wait while Redis is away. */
  constructor(log: Logger, cluster: Cluster, namespace: string, line: Redis) {
    this.#log = log;
    this.#cluster = cluster;
    this.#channel = `${namespace}:cluster`;
    this.#line = line;
  }

  /** Until then nothing is sent and nothing heard. */
  async join(ear: Redis): Promise<void> {
    ear.on('message', (channel, text) => (channel === this.#channel ? this.#hear(text) : this.#answered(text)));
    await subscribe(ear, this.#channel, `${this.#channel}:${this.#id}`);
    await this.#renew();
    this.#stop = this.#cluster.useTransport((subject, payload) => this.#announce(subject, payload));
    let renewal: Promise<void> | undefined;
    this.#timer = setInterval(() => {
      renewal ??= this.#renew().finally(() => (renewal = undefined));
    }, RENEWAL).unref();
  }

  /** Whether what this process remembers may be served: it has heard everything as of at most a lease ago. */
  current(): boolean {
    return this.#heard >= this.#lease.number && performance.now() < this.#lease.until;
  }

  /** To be called before the connections close, so that nobody waits for this process. */
  async close(): Promise<void> {
    this.#stop?.();
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#line.zrem(KEYS[1], this.#id).catch(() => undefined);
  }

  /**
   * Resolves when all live processes have followed, at the latest after the lease of one that is silent. While Redis is
   * away the others are made to look again once it is back.
   */
  async #announce(subject: string, payload?: object): Promise<void> {
    const ticket = String(++this.#tickets);
    const followed = new Set<string>();
    let living: readonly string[] | undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = (from = this.#id): void => {
      followed.add(from);
      if (living?.every((id) => followed.has(id))) resolve();
    };
    this.#answers.set(ticket, check);
    try {
      const text = `${this.#id} ${ticket} ${subject} ${JSON.stringify(payload) ?? ''}`;
      living = (await this.#line.eval(SEND, 2, ...KEYS, this.#channel, text)) as string[];
      check();
    } catch (error) {
      this.#fail(error);
      this.#unsent = true;
    }
    // While Redis is away, the leases of the others run out as this process's own does.
    const gone = living ? 0 : performance.now() - (this.#cutOff ?? performance.now());
    // One millisecond more than the lease, because a timer may fire that much early.
    const timer = setTimeout(resolve, Math.max(1, LEASE + 1 - gone));
    await promise;
    clearTimeout(timer);
    this.#answers.delete(ticket);
  }

  async #renew(): Promise<void> {
    const sent = performance.now();
    const before = this.#heard;
    const answer = await this.#line
      .eval(RENEW, 2, ...KEYS, this.#id, LEASE, CRASHED)
      .catch((error: unknown) => this.#fail(error));
    if (answer === undefined) return;
    const number = Number(answer);
    // Redis was away, or lost its data, or what was said before the last renewal has still not been heard.
    const missed = this.#cutOff !== undefined || number < before || this.#lease.number > this.#heard;
    if (missed) this.#heard = number < before ? number : Math.max(number, this.#heard);
    this.#cutOff = undefined;
    this.#lease = { number, until: sent + LEASE };
    if (missed) void this.#cluster.deliver();
    if (this.#unsent) void this.#announce(EVERYTHING);
    this.#unsent = false;
  }

  #hear(text: string): void {
    const [, last, from, ticket, subject, json] = MESSAGE.exec(text) ?? [];
    // What is on its way still arrives while the connection ends.
    if (subject === undefined || json === undefined || this.#closed) return;
    const missed = Number(last) > this.#heard + 1;
    this.#heard = Math.max(this.#heard, Number(last));
    if (missed) void this.#cluster.deliver();
    if (from === this.#id) return;
    const run = this.#cluster.deliver(
      subject === EVERYTHING ? undefined : subject,
      json ? (JSON.parse(json) as object) : undefined,
    );
    // Without an answer the sender waits for the lease, which is exact too.
    void run.then(() => this.#line.publish(`${this.#channel}:${from}`, `${ticket} ${this.#id}`)).catch(() => undefined);
  }

  #answered(text: string): void {
    const [ticket = '', from = ''] = text.split(' ');
    this.#answers.get(ticket)?.(from);
  }

  #fail(error: unknown): undefined {
    if (this.#cutOff === undefined)
      this.#log.warn({ error: chainOf(error) }, 'Redis does not answer: until it does, nothing is served from memory');
    this.#cutOff ??= performance.now();
  }
}
