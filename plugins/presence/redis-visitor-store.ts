import type { Cache } from 'parley-forum';
import { MAX_VISITORS, WINDOW, type Kind, type Visit, type Visitor, type VisitorStore } from './visitor-store.ts';

type Redis = NonNullable<Cache['redis']>;

/**
 * Sorted sets of visitors by when they were last seen, one per kind; the pages they were seen on; the last statistics
 * sent.
 */
const KEYS = ['presence:member', 'presence:guest', 'presence:bot', 'presence:pages'] as const;
const LAST_CLAIMED = 'presence:told';

/**
 * Uses Redis's own time, so that the clocks of processes need not agree. All keys expire when there are no visitors.
 */
const BEGIN = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local keys = { member = KEYS[1], guest = KEYS[2], bot = KEYS[3] }
local function forget(kind, id)
  redis.call('ZREM', keys[kind], id)
  redis.call('HDEL', KEYS[4], kind .. ':' .. id)
end
local function see(kind, id, page)
  redis.call('HSET', KEYS[4], kind .. ':' .. id, page)
  return redis.call('ZADD', keys[kind], now, id)
end
for kind, key in pairs(keys) do
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', key, '-inf', now - ARGV[1])) do forget(kind, id) end
  for _, id in ipairs(redis.call('ZRANGE', key, 0, -1 - ARGV[2])) do forget(kind, id) end
end
`;
const END = `
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[1]) end`;
const RECORD = `${BEGIN}
for _, visit in ipairs(cjson.decode(ARGV[3])) do
  if see(visit.kind, visit.id, visit.page) == 1 and visit.before then forget(visit.kind, visit.before) end
end${END}`;
const REFRESH = `${BEGIN}
for _, id in ipairs(cjson.decode(ARGV[3])) do
  if redis.call('ZSCORE', keys.guest, id) then
    see('guest', id, ARGV[4])
    break
  end
end${END}`;
const COUNT = `${BEGIN}
return { redis.call('ZCARD', keys.member), redis.call('ZCARD', keys.guest), redis.call('ZCARD', keys.bot) }`;
const LIST = `${BEGIN}
local found, skip, left = {}, tonumber(ARGV[4]), tonumber(ARGV[5])
for _, kind in ipairs(cjson.decode(ARGV[3])) do
  local size = redis.call('ZCARD', keys[kind])
  if skip < size and left > 0 then
    local part = redis.call('ZRANGE', keys[kind], skip, skip + left - 1, 'REV', 'WITHSCORES')
    for at = 1, #part, 2 do
      local page = redis.call('HGET', KEYS[4], kind .. ':' .. part[at])
      found[#found + 1] = { kind, part[at], page or '', part[at + 1] }
    end
    left = left - #part / 2
  end
  skip = math.max(0, skip - size)
end
return found`;
const AMONG = `${BEGIN}
local found = {}
for _, id in ipairs(cjson.decode(ARGV[3])) do
  if redis.call('ZSCORE', keys.member, id) then found[#found + 1] = id end
end
return found`;

/** Shared by all processes; each call is one round trip. */
export class RedisVisitorStore implements VisitorStore {
  readonly #redis: Redis;
  readonly #window: number;

  constructor(redis: Redis, window = WINDOW) {
    this.#redis = redis;
    this.#window = window;
  }

  async record(visits: readonly Visit[]): Promise<void> {
    await this.#run(RECORD, JSON.stringify(visits));
  }

  async refresh(guests: readonly string[], page: string): Promise<void> {
    await this.#run(REFRESH, JSON.stringify(guests), page);
  }

  async count(): Promise<Readonly<Record<Kind, number>>> {
    const [member, guest, bot] = (await this.#run(COUNT)) as [number, number, number];
    return { member, guest, bot };
  }

  async list(kinds: readonly Kind[], start: number, length: number): Promise<readonly Visitor[]> {
    const found = (await this.#run(LIST, JSON.stringify(kinds), start, length)) as [Kind, string, string, string][];
    return found.map(([kind, id, page, at]) => ({ kind, id, page, at: Number(at) }));
  }

  async among(members: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set((await this.#run(AMONG, JSON.stringify(members))) as string[]);
  }

  freshUntil(): undefined {
    return undefined;
  }

  async claimChange(text: string): Promise<boolean> {
    return (await this.#redis.set(LAST_CLAIMED, text, 'PX', this.#window, 'GET')) !== text;
  }

  #run(script: string, ...values: readonly (string | number)[]): Promise<unknown> {
    return this.#redis.eval(script, KEYS.length, ...KEYS, this.#window, MAX_VISITORS, ...values);
  }
}
