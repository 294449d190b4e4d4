import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { HttpError, Logger } from 'parley-forum';
import { assertAllowed, type Bucket } from 'parley-forum/plugins/limits';
import { LimitsService } from '../../../plugins/limits/service.ts';

const log: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => log,
};
const bucket: Bucket = { name: 'test', window: 60 };
const url = process.env['PARLEY_TEST_DATABASE'] === 'server' ? process.env['TEST_REDIS_URL'] : undefined;

const places = [
  {
    place: 'in this process',
    open: () => Promise.resolve({ service: new LimitsService({ redis: undefined, log }), close: () => undefined }),
  },
  ...(url === undefined
    ? []
    : [
        {
          place: 'in Redis',
          open: async () => {
            const redis = new Redis(url, { keyPrefix: `test-${crypto.randomUUID()}:` });
            await once(redis, 'ready');
            return { service: new LimitsService({ redis, log }), close: () => void redis.disconnect() };
          },
        },
      ]),
];

describe.each(places)('a bucket counted $place', ({ open }) => {
  let limits: LimitsService;
  let close: () => void;
  beforeEach(async () => {
    ({ service: limits, close } = await open());
  });
  afterEach(() => close());

  it('allows as many uses as its limit and refuses the next', async () => {
    const answers = [];
    for (let n = 0; n < 4; n++) answers.push(await limits.consume(bucket, 'ada', 3));
    expect(answers.map(({ allowed, remaining, limit }) => [allowed, remaining, limit])).toEqual([
      [true, 2, 3],
      [true, 1, 3],
      [true, 0, 3],
      [false, 0, 3],
    ]);
  });

  it('refuses with 429, and with the same seconds in the message and in Retry-After', async () => {
    assertAllowed(await limits.consume(bucket, 'ada', 1), () => 'never said');
    const refused = await limits.consume(bucket, 'ada', 1);
    let error: unknown;
    try {
      assertAllowed(refused, (seconds) => `wait ${seconds} s`);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      status: 429,
      code: 'rate_limited',
      headers: { 'Retry-After': expect.stringMatching(/^(?:[1-9]|[1-5]\d|60)$/) },
    });
    expect((error as HttpError).message).toBe(`wait ${(error as HttpError).headers['Retry-After']} s`);
  });

  it('reports at least one second, even if the bucket has already been reset', () => {
    const past = { limit: 1, remaining: 0, resetAt: Date.now() - 5_000, allowed: false };
    expect(() => assertAllowed(past, (seconds) => `wait ${seconds} s`)).toThrow('wait 1 s');
  });

  it('counts each key and each bucket separately', async () => {
    await limits.consume(bucket, 'ada', 1);
    expect((await limits.consume(bucket, 'bell', 1)).allowed).toBe(true);
    expect((await limits.consume({ name: 'other', window: 60 }, 'ada', 1)).allowed).toBe(true);
    expect((await limits.consume(bucket, 'ada', 1)).allowed).toBe(false);
  });

  it('can be peeked at without consuming, and reset', async () => {
    expect(await limits.peek(bucket, 'ada', 2)).toMatchObject({ allowed: true, remaining: 2 });
    await limits.consume(bucket, 'ada', 2);
    await limits.consume(bucket, 'ada', 2);
    expect(await limits.peek(bucket, 'ada', 2)).toMatchObject({ allowed: false, remaining: 0 });
    await limits.reset(bucket, 'ada');
    expect(await limits.peek(bucket, 'ada', 2)).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('applies a changed limit immediately', async () => {
    for (let n = 0; n < 3; n++) await limits.consume(bucket, 'ada', 3);
    expect((await limits.consume(bucket, 'ada', 5)).allowed).toBe(true);
  });

  it('counts exactly under concurrent use', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => limits.consume(bucket, 'ada', 20)));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(20);
  });
});

describe('consuming synchronously', () => {
  it('shares the count with the other methods', async () => {
    const limits = new LimitsService({ redis: undefined, log });
    expect(limits.consumeNow(bucket, 'ada', 2)).toMatchObject({ allowed: true, remaining: 1 });
    expect(await limits.consume(bucket, 'ada', 2)).toMatchObject({ allowed: true, remaining: 0 });
    expect(limits.consumeNow(bucket, 'ada', 2)).toMatchObject({ allowed: false });
  });
});

describe('while Redis is unavailable', () => {
  // Nothing listens on this port.
  const redis = new Redis('redis://127.0.0.1:1', {
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: () => null,
  });
  redis.on('error', () => undefined);
  const limits = new LimitsService({ redis, log });

  it('uses are counted in this process', async () => {
    expect((await limits.consume(bucket, 'ada', 1)).allowed).toBe(true);
    expect((await limits.consume(bucket, 'ada', 1)).allowed).toBe(false);
    expect(limits.consumeNow(bucket, 'ada', 1)).toBeUndefined();
  });

  it('a bucket that fails closed refuses with 503 and Retry-After', async () => {
    const closed = { ...bucket, name: 'login', failClosed: true };
    const refusal = { status: 503, headers: { 'Retry-After': '30' } };
    await expect(limits.peek(closed, 'ada', 10)).rejects.toMatchObject(refusal);
    await expect(limits.consume(closed, 'ada', 10)).rejects.toMatchObject(refusal);
    await expect(limits.reset(closed, 'ada')).rejects.toMatchObject(refusal);
  });
});
