import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Live, signals } from 'parley-forum/ports/live';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';
import { install } from '../discussions/forum.ts';
import { settled } from '../events/settled.ts';
import { listen } from './listen.ts';

const PASSWORD = 'Plain-Sailing-42';
let first: TestForum;
let second: TestForum;
const as = {} as Record<'ada' | 'bob', Client>;
const ids = {} as Record<'ada' | 'bob', string>;
beforeAll(async () => {
  first = await startForum({ realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({ realClock: true, environment: { databaseUrl, redisUrl } });
  for (const app of [first, second]) {
    await install(
      app,
      definePlugin({
        id: 'bell',
        setup: (_services, plugin) =>
          plugin.extend(signals, { name: 'bell', description: 'A bell rang.', visible: () => true }),
      }),
    );
  }
  for (const name of ['ada', 'bob'] as const) {
    ids[name] = (
      await first.app.service(Accounts).create({ username: name, email: `${name}@forum.test`, password: PASSWORD })
    ).id;
    as[name] = first.client();
    await as[name].login(name, PASSWORD);
  }
  await settled(first);
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await first?.[Symbol.asyncDispose]();
});

const start = async (title: string): Promise<void> =>
  void (await as.ada.post('/api/discussions', { title, content: 'Words', category_id: 'general' }));

describe('a stream of one process', () => {
  test('sends events of another process, and a reader may resume in either', async () => {
    await using here = await listen(first, as.bob);
    const there = await listen(second, as.bob);
    await start('Across');
    for (const stream of [here, there]) await stream.until(1);
    expect(there.heard).toEqual(here.heard);
    there.close();
    await start('Between');
    await here.until(2);
    await using again = await listen(second, as.bob, '', { 'last-event-id': there.last });
    await again.until(1);
    expect(again.heard).toEqual(here.heard.slice(1));
  });

  test('sends signals of another process', async () => {
    await using everybody = await listen(second, undefined);
    await using own = await listen(second, as.bob);
    first.app.service(Live).send('bell', { for: 'bob' }, ids.bob);
    first.app.service(Live).send('bell', { for: 'all' });
    // In any order.
    await expect.poll(() => own.signals).toHaveLength(2);
    expect(own.signals.map(({ data }) => data)).toEqual(expect.arrayContaining([{ for: 'bob' }, { for: 'all' }]));
    await expect.poll(() => everybody.signals.map(({ data }) => data)).toEqual([{ for: 'all' }]);
  });

  test('sends nothing more to a member whom another process has disabled', async () => {
    await using stream = await listen(second, as.bob);
    await using guest = await listen(second, undefined);
    await first.app.service(Accounts).setStatus(ids.bob, 'disabled');
    await start('Not for them');
    await guest.until(1);
    await expect.poll(() => stream.ended).toBe(true);
    expect(stream.heard).toEqual([]);
  });
});
