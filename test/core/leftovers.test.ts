import { createHook } from 'node:async_hooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definePlugin } from 'parley-forum';
import configuration from '../../config/forum.ts';
import { startForum, type TestForum } from 'parley-forum/testing';

const TIMES = 2;

let running: TestForum;
beforeAll(async () => void (running = await startForum()));
afterAll(() => running[Symbol.asyncDispose]());

/** Everything a plugin may leave behind in this process. */
const footprint = () => {
  const { app } = running;
  return {
    running: app.kernel.active().toSorted(),
    hooks: app.hooks.count(),
    owned: app.hooks
      .hooks()
      .map(({ hook, plugin }) => `${plugin} ${hook.kind} ${hook.id}`)
      .sort(),
    routes: app.routes
      .list()
      .map(({ plugin, method, surface, path }) => `${plugin} ${method} ${surface.id} ${path}`)
      .sort(),
    extensions: app.extensions.count(),
    tasks: app.supervisor
      .report()
      .map(({ plugin, task }) => `${plugin} ${task}`)
      .sort(),
  };
};

/** Timers that have neither fired nor been cleared, including unreferenced ones. */
const timers = new Set<number>();
const watch = createHook({
  init: (id, type) => void (type === 'Timeout' && timers.add(id)),
  destroy: (id) => void timers.delete(id),
}).enable();
// It would slow down other tests in this process.
afterAll(() => void watch.disable());

async function offAndOn(id: string): Promise<void> {
  const before = running.app.kernel.active();
  await running.app.kernel.disable(id);
  expect(running.app.kernel.state(id)).toBe('off');
  for (const other of before) await running.app.kernel.enable(other);
}

describe(`disabled and enabled ${TIMES} times, a plugin leaves hooks, routes, lists, jobs and timers unchanged`, () => {
  test('every configured plugin runs', () => {
    const broken = running.app.plugins
      .list()
      .filter(({ state }) => state !== 'active')
      .map(({ id, problem }) => `${id}: ${problem}`);
    expect(broken).toEqual([]);
    expect(running.app.kernel.active().toSorted()).toEqual([...configuration.plugins].sort());
  });

  test.each(configuration.plugins)('%s', async (id) => {
    // What a plugin registers on first use exists after the first time.
    await offAndOn(id);
    const [before, timersBefore] = [footprint(), timers.size];
    for (let time = 0; time < TIMES; time++) await offAndOn(id);
    expect(footprint()).toEqual(before);
    // The server has short-lived timers of its own; a leak adds one timer per start.
    await expect.poll(() => timers.size).toBeLessThan(timersBefore + TIMES);
  });

  test('a leaked timer would be detected', async () => {
    const forgotten: NodeJS.Timeout[] = [];
    running.app.kernel.install(
      definePlugin({ id: 'leaky', setup: () => void forgotten.push(setInterval(() => {}, 60_000).unref()) }),
    );
    const before = timers.size;
    // Many, because timers of the server may end meanwhile.
    for (let time = 0; time < 10 * TIMES; time++) {
      await running.app.kernel.enable('leaky');
      await running.app.kernel.disable('leaky');
    }
    expect(timers.size).toBeGreaterThanOrEqual(before + TIMES);
    forgotten.forEach((timer) => clearInterval(timer));
  });

  test('with all of them disabled nothing is left', async () => {
    for (const id of configuration.plugins) await running.app.kernel.disable(id);
    expect(footprint()).toEqual({
      running: [],
      hooks: 0,
      owned: ['kernel action files.changed', 'kernel action kernel.operated', 'kernel action plugin.changed'],
      routes: [],
      extensions: 0,
      tasks: [],
    });
  });
});
