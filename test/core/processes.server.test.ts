import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definePlugin, Type, type Plugin } from 'parley-forum';
import { startForum, type TestForum } from 'parley-forum/testing';
import cache from '../../plugins/cache/plugin.ts';
import { plain, plainPlugin } from './fixtures/plain.ts';

/** Milliseconds within which a change must reach every process. */
const SOON = 2_000;

const greeter = (): Plugin =>
  definePlugin({
    id: 'greeter',
    settings: Type.Object({ 'greeter.word': Type.String({ default: 'Hello' }) }),
    setup: (_services, plugin) =>
      plugin.route(plain, { method: 'get', path: '/greeting', can: 'public' })(() => plugin.settings['greeter.word']),
  });
const guest = (): Plugin =>
  definePlugin({
    id: 'guest',
    setup: (_services, plugin) => plugin.route(plain, { method: 'get', path: '/guest', can: 'public' })(() => 'guest'),
  });

let first: TestForum;
let second: TestForum;
beforeAll(async () => {
  first = await startForum({ plugins: [cache, plainPlugin, greeter(), guest()], realClock: true });
  const { databaseUrl, redisUrl } = first.app.environment;
  second = await startForum({
    plugins: [cache, plainPlugin, greeter(), guest()],
    realClock: true,
    environment: { databaseUrl, redisUrl },
  });
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  await first[Symbol.asyncDispose]();
});

const answer = async ({ client }: TestForum, path: string) => {
  const { status, body } = await client().get(path);
  return [status, body as unknown];
};

describe('several processes on one database and one Redis', () => {
  test('agree on which plugins run', async () => {
    await first.app.plugins.disable('greeter');
    expect((await answer(first, '/greeting'))[0]).toBe(404);
    await expect.poll(async () => (await answer(second, '/greeting'))[0], { timeout: SOON }).toBe(404);
    await second.app.plugins.enable('greeter');
    await expect.poll(() => answer(first, '/greeting'), { timeout: SOON }).toEqual([200, 'Hello']);
    expect(await answer(first, '/guest')).toEqual([200, 'guest']);
  });

  test('agree on settings', async () => {
    await first.app.settings.set({ 'greeter.word': 'Ahoy' });
    await expect.poll(() => answer(second, '/greeting'), { timeout: SOON }).toEqual([200, 'Ahoy']);
  });

  test('agree that a plugin that one of them uninstalls is off, even if it has failed there', async () => {
    await first.app.plugins.fail('guest', new Error('it does harm here'));
    expect((await answer(second, '/guest'))[0]).toBe(200);
    await first.app.plugins.uninstall('guest');
    await expect.poll(async () => (await answer(second, '/guest'))[0], { timeout: SOON }).toBe(404);
    await first.app.plugins.enable('guest');
    await expect.poll(() => answer(second, '/guest'), { timeout: SOON }).toEqual([200, 'guest']);
  });

  test('a process that starts later adopts the state of the others', async () => {
    await first.app.plugins.disable('guest');
    const { databaseUrl, redisUrl } = first.app.environment;
    await using third = await startForum({
      plugins: [cache, plainPlugin, greeter(), guest()],
      realClock: true,
      environment: { databaseUrl, redisUrl },
    });
    expect((await answer(third, '/guest'))[0]).toBe(404);
    expect(await answer(third, '/greeting')).toEqual([200, 'Ahoy']);
  });

  test('without Redis a second process refuses to start, and names the setting it needs', async () => {
    await using alone = await startForum({ plugins: [plainPlugin], environment: { redisUrl: undefined } });
    const { databaseUrl } = alone.app.environment;
    await expect(
      startForum({ plugins: [plainPlugin], environment: { databaseUrl, redisUrl: undefined } }),
    ).rejects.toThrow('Another process is already serving this database. Stop it, or set REDIS_URL');
  });
});
