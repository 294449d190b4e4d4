import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { defineAction, definePlugin, Type, type Data, type PluginHandle } from 'parley-forum';
import { Access, type Viewer } from 'parley-forum/plugins/access';
import { EventLog, type LoggedEvent } from 'parley-forum/plugins/events';
import { startForum, type TestForum } from 'parley-forum/testing';
import { EventWriter } from '../../../plugins/events/event-writer.ts';
import { install } from '../discussions/forum.ts';

const flowed = defineAction<{ word: string }>('source.flowed', { public: Type.Object({ word: Type.String() }) });
const WRITERS = 8;
const EACH = 20;

let first: TestForum;
let second: TestForum;
let admin: Viewer;
const handles: PluginHandle[] = [];
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  for (const app of [first, second])
    await install(
      app,
      definePlugin({ id: 'source', hooks: [flowed], setup: (_services, plugin) => void handles.push(plugin) }),
    );
  admin = { id: 'somebody', username: 'root', group: first.app.service(Access).groupOf('admin') };
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
});

const log = ({ app }: TestForum): EventLog => app.service(EventLog);
const wordsOf = (events: readonly LoggedEvent[]): readonly string[] =>
  events.map(({ data }) => (data as { word: string }).word);
const now = async (): Promise<number> => (await log(first).bounds()).newest;
const all = (prefix: string): readonly string[] =>
  Array.from({ length: 2 * WRITERS * EACH }, (_, n) => `${prefix} ${n}`).toSorted();

/** Reads small pages from a position on, repeatedly, until the given number of events was seen. */
async function read(start: number, count: number): Promise<readonly string[]> {
  const words: string[] = [];
  let position = start;
  for (const deadline = Date.now() + 20_000; words.length < count && Date.now() < deadline;) {
    const page = await log(first).after(position, 7, admin);
    expect(page.position).toBeGreaterThanOrEqual(position);
    words.push(...wordsOf(page.events));
    position = page.position;
    if (!page.hasMore) await sleep(1);
  }
  return words;
}

/** Runs writers in both processes, each calling `write` with its own numbers. */
const writeAll = (write: (process: number, n: number) => Promise<unknown>): Promise<unknown> =>
  Promise.all(
    Array.from({ length: 2 * WRITERS }, async (_, writer) => {
      for (let at = 0; at < EACH; at++) await write(writer % 2, writer * EACH + at);
    }),
  );

describe('two processes writing concurrently', () => {
  test('let a reader by position miss no event, and notify watchers in both, however long transactions take', async () => {
    const start = await now();
    const heard: LoggedEvent[][] = [[], []];
    const stops = [first, second].map((app, at) => log(app).watch((events) => void heard[at]!.push(...events)));
    const reading = read(start, 2 * WRITERS * EACH);
    await writeAll((process, n) =>
      [first, second][process]!.app.data.transaction(async () => {
        await handles[process]!.emit(flowed, { word: `flow ${n}` });
        await sleep(n % 17 === 0 ? 100 : n % 5);
      }),
    );
    expect((await reading).toSorted()).toEqual(all('flow'));
    for (const events of heard) {
      await expect.poll(() => events.length, { timeout: 5_000 }).toBe(2 * WRITERS * EACH);
      expect(wordsOf(events).toSorted()).toEqual(all('flow'));
      expect(events.map(({ position }) => position)).toEqual(
        events.map(({ position }) => position).toSorted((a, b) => a - b),
      );
    }
    for (const stop of stops) stop();
  });

  test('let a reader by position miss no event when the log’s own transactions commit slowly', async () => {
    const start = await now();
    const slowly = (data: Data): Data =>
      ({
        lock: (name: string) => data.lock(name),
        all: (query: Parameters<Data['all']>[0]) => data.all(query),
        transaction: (work: Parameters<Data['transaction']>[0]) =>
          data.transaction(async (em) => {
            const result = await work(em);
            await sleep(Math.random() * 40);
            return result;
          }),
      }) as unknown as Data;
    const writings = [first, second].map(({ app }) => new EventWriter(slowly(app.data), () => undefined));
    const reading = read(start, 2 * WRITERS * EACH);
    await writeAll((process, n) =>
      writings[process]!.add({
        id: `01990000-0000-7${crypto.randomUUID().slice(15)}`,
        event: flowed.id,
        data: { word: `slow ${n}` },
      }),
    );
    expect((await reading).toSorted()).toEqual(all('slow'));
  });

  test('notify each other within milliseconds', async () => {
    const times: number[] = [];
    for (let n = 0; n < 20; n++) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const stop = log(second).watch(() => resolve());
      const from = performance.now();
      await handles[0]!.emit(flowed, { word: `quick ${n}` });
      await promise;
      times.push(performance.now() - from);
      stop();
    }
    expect(times.toSorted((a, b) => a - b)[10]).toBeLessThan(100);
  });
});
