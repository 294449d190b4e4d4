import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definePlugin, sql, Type } from 'parley-forum';
import { startForum, type TestForum } from 'parley-forum/testing';
import { plain, plainPlugin, Source } from './fixtures/plain.ts';

/** Something that a test triggers when it is ready. */
const gate = (): PromiseWithResolvers<void> => Promise.withResolvers<void>();

let entered = gate();
let leave = gate();
let starts = 0;
const slow = definePlugin({
  id: 'slow',
  setup(_services, plugin) {
    plugin.route(plain, { method: 'get', path: '/slow', can: 'public' })(async () => {
      entered.resolve();
      await leave.promise;
      return 'done';
    });
    plugin.route(plain, { method: 'get', path: '/quick', can: 'public' })(() => 'quick');
  },
});
let starting = gate();
let started = Promise.resolve();
const sluggish = definePlugin({
  id: 'sluggish',
  setup() {
    starting.resolve();
    return started;
  },
});
const after = ['steady', 'zippy'].map((id) => definePlugin({ id, setup() {} }));
const source = definePlugin({
  id: 'source',
  provides: { source: Source },
  setup: () => ({ source: { number: ++starts } }),
});
const reader = definePlugin({
  id: 'reader',
  needs: { source: Source },
  setup: ({ source: { number } }, plugin) =>
    plugin.route(plain, {
      method: 'get',
      path: '/number/:of',
      params: Type.Object({ of: Type.String() }),
      can: 'public',
    })(() => number),
});

let running: TestForum;
beforeAll(
  async () => void (running = await startForum({ plugins: [plainPlugin, slow, source, reader, sluggish, ...after] })),
);
afterAll(() => running[Symbol.asyncDispose]());

describe('disabling a plugin', () => {
  test('a request in progress is completed, the next one gets 404, both before the plugin has stopped', async () => {
    [entered, leave] = [gate(), gate()];
    const underWay = running.client().get('/slow');
    await entered.promise;
    const off = running.app.kernel.disable('slow');
    await expect.poll(async () => (await running.client().get('/quick')).status).toBe(404);
    leave.resolve();
    expect(await underWay).toMatchObject({ status: 200, body: 'done' });
    expect(await off).toEqual(['slow']);
    await running.app.kernel.enable('slow');
    expect((await running.client().get('/quick')).status).toBe(200);
  });
});

describe('concurrent changes of plugins', () => {
  test('one that is disabled while others start stays off', async () => {
    const { data, kernel, plugins } = running.app;
    for (const id of ['sluggish', 'steady']) await plugins.disable(id);
    starting = gate();
    const start = gate();
    started = start.promise;
    // As if another process had enabled them.
    await data.all(sql`update plugin_state set enabled = true`);
    const on = plugins.reconcile();
    await starting.promise;
    const off = plugins.disable('zippy');
    const isOff = sql`select id from plugin_state where not enabled`;
    await expect.poll(() => data.all(isOff)).toEqual([{ id: 'zippy' }]);
    await data.all(isOff);
    start.resolve();
    await Promise.all([on, off]);
    expect(['sluggish', 'steady', 'zippy'].map((id) => kernel.state(id))).toEqual(['active', 'active', 'off']);
  });
});

describe('restarting a plugin', () => {
  test('no request fails: those that arrive meanwhile wait for the new instance', async () => {
    const answers: Array<{ readonly status: number; readonly body: unknown }> = [];
    const enough = new AbortController();
    const visitors = Array.from({ length: 4 }, async (_, visitor) => {
      while (!enough.signal.aborted) answers.push(await running.client().get(`/number/${visitor}`));
    });
    const before = starts;
    for (let time = 0; time < 5; time++) await running.app.kernel.restart('source');
    await expect.poll(() => answers.at(-1)?.body).toBe(before + 5);
    enough.abort();
    await Promise.all(visitors);
    expect(starts).toBe(before + 5);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const numbers = answers.map(({ body }) => body as number);
    expect(numbers.every((number) => number >= before && number <= before + 5)).toBe(true);
  });

  test('a request in progress is completed by the old instance', async () => {
    [entered, leave] = [gate(), gate()];
    const underWay = running.client().get('/slow');
    await entered.promise;
    const restarted = running.app.kernel.restart('slow');
    const waiting = running.client().get('/quick');
    leave.resolve();
    expect((await underWay).status).toBe(200);
    await restarted;
    expect(await waiting).toMatchObject({ status: 200, body: 'quick' });
  });

  test('restarting the plugin that owns the surface preserves all its routes', async () => {
    const waiting = [
      running.app.kernel.restart('plain'),
      running.client().get('/quick'),
      running.client().get('/number/1'),
    ] as const;
    const [, quick, number] = await Promise.all(waiting);
    expect([quick.status, number.status]).toEqual([200, 200]);
  });

  test('one that does not start again is failed, its routes are gone, and waiting requests get 404', async () => {
    let times = 0;
    const once = definePlugin({
      id: 'once',
      setup(_services, plugin) {
        if (++times > 1) throw new Error('only once');
        plugin.route(plain, { method: 'get', path: '/once', can: 'public' })(() => 'once');
      },
    });
    running.app.kernel.install(once);
    await running.app.kernel.enable('once');
    const [, waiting] = await Promise.all([running.app.kernel.restart('once'), running.client().get('/once')]);
    expect([200, 404]).toContain(waiting.status);
    expect((await running.client().get('/once')).status).toBe(404);
    expect(running.app.kernel.state('once')).toBe('failed');
  });
});
