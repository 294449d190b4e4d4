import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  defineAction,
  defineFilter,
  definePlugin,
  defineQuery,
  defineToken,
  HttpError,
  type Plugin,
  type PluginHandle,
} from 'parley-forum';
import { startForum, type TestForum } from 'parley-forum/testing';

const rang = defineAction<{ readonly times: number }>('bell.rang');
const tuned = defineFilter<string>('bell.tuned');
const allowed = defineFilter<string>('bell.allowed', 'abort');
const place = defineQuery<string, string>('bell.place');

interface Bell {
  ring(times: number): Promise<void>;
  tune(text: string): Promise<string>;
  allow(text: string): Promise<string>;
  ask(question: string): Promise<string | undefined>;
}
const Bell = defineToken<Bell>('Bell');

const bell = definePlugin({
  id: 'bell',
  hooks: [rang, tuned, allowed, place],
  provides: { bell: Bell },
  setup: (_services, plugin) => ({
    bell: {
      ring: (times) => plugin.emit(rang, { times }),
      tune: (text) => plugin.filter(tuned, text, undefined),
      allow: (text) => plugin.filter(allowed, text, undefined),
      ask: (question) => plugin.query(place, question),
    },
  }),
});

let running: TestForum;
let count = 0;
// The lowest values that the settings accept, so that hanging listeners time out soon.
beforeAll(
  async () =>
    void (running = await startForum({ plugins: [bell], settings: { 'hooks.deadline': 100, 'hooks.failures': 2 } })),
);
afterAll(() => running[Symbol.asyncDispose]());

/** Starts a plugin with this `setup` for the duration of one test. */
async function listening(
  ...setups: ReadonlyArray<(plugin: PluginHandle) => void>
): Promise<{ readonly ids: readonly string[] } & AsyncDisposable> {
  const plugins: readonly Plugin[] = setups.map((setup) =>
    definePlugin({ id: `listener-${++count}`, setup: (_services, plugin) => setup(plugin) }),
  );
  for (const plugin of plugins) {
    running.app.kernel.install(plugin);
    await running.app.kernel.enable(plugin.id);
  }
  return {
    ids: plugins.map(({ id }) => id),
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all(plugins.map(({ id }) => running.app.kernel.disable(id)))),
  };
}

const service = (): Bell => running.app.service(Bell);
const logged = (plugin: string | undefined): readonly string[] =>
  running.lines.filter((line) => line['plugin'] === plugin).map(({ message }) => message);
const never = (): Promise<never> => new Promise(() => {});

describe('a failing listener', () => {
  test('throws: the others still run, the emitter is unaffected, and the log names the plugin', async () => {
    const heard: number[] = [];
    await using listeners = await listening(
      (plugin) =>
        plugin.on(rang, () => {
          throw new Error('out of tune');
        }),
      (plugin) => plugin.on(rang, ({ times }) => void heard.push(times)),
    );
    await service().ring(3);
    expect(heard).toEqual([3]);
    expect(logged(listeners.ids[0])).toContain('plugin code failed');
    expect(logged(listeners.ids[1])).toEqual([]);
  });

  test('hangs: the emitter does not wait, and the listener times out at its deadline', async () => {
    const heard: number[] = [];
    await using listeners = await listening(
      (plugin) => plugin.on(rang, never),
      (plugin) => plugin.on(rang, ({ times }) => void heard.push(times)),
    );
    const first = await Promise.race([
      service()
        .ring(1)
        .then(() => 'raised'),
      new Promise((resolve) => void setTimeout(resolve, 20, 'waited')),
    ]);
    expect([first, heard]).toEqual(['raised', [1]]);
    await expect
      .poll(() => running.app.supervisor.report().find(({ plugin }) => plugin === listeners.ids[0])?.lastError, {
        timeout: 10_000,
      })
      .toBe('action bell.rang did not finish within 100 ms');
  });

  test('hangs although it is awaited: the emitter waits no longer than the deadline', async () => {
    const heard: number[] = [];
    await using listeners = await listening(
      (plugin) => plugin.on(rang, never, { awaited: true }),
      (plugin) =>
        plugin.on(
          rang,
          async ({ times }) => {
            await new Promise((resolve) => void setTimeout(resolve, 10));
            heard.push(times);
          },
          { awaited: true },
        ),
    );
    await service().ring(1);
    expect(heard).toEqual([1]);
    expect(running.app.supervisor.report().find(({ plugin }) => plugin === listeners.ids[0])?.lastError).toBe(
      'action bell.rang did not finish within 100 ms',
    );
  });

  test('returns a thenable that is not a promise: the deadline applies, and its value is used', async () => {
    // oxlint-disable-next-line unicorn/no-thenable -- as query builders have it
    const hangs = { then: () => undefined } as unknown as Promise<never>;
    const says = (value: string) =>
      // oxlint-disable-next-line unicorn/no-thenable -- as query builders have it
      ({ then: (resolve: (value: string) => void) => resolve(value) }) as unknown as Promise<string>;
    await using _ = await listening((plugin) => {
      plugin.on(rang, () => hangs, { awaited: true });
      plugin.on(allowed, () => hangs);
      plugin.on(place, () => hangs);
      plugin.on(place, () => says('here'), { order: 1 });
      plugin.on(tuned, (text) => says(`${text}!`));
      plugin.on(tuned, () => says(undefined as unknown as string), { order: 1 });
    });
    await service().ring(1);
    await expect(service().allow('A')).rejects.toMatchObject({
      status: 503,
      operators: expect.stringContaining('did not finish within 100 ms'),
    });
    expect([await service().ask('where'), await service().tune('A')]).toEqual(['here', 'A!']);
  });

  test('throws in a filter: the value passes unchanged', async () => {
    await using _ = await listening(
      (plugin) =>
        plugin.on(tuned, () => {
          throw new Error('deaf');
        }),
      (plugin) => plugin.on(tuned, (text) => `${text}!`),
    );
    expect(await service().tune('A')).toBe('A!');
  });

  test('returns nothing from a filter: the value is kept and the mistake is reported', async () => {
    await using listeners = await listening((plugin) =>
      plugin.on(tuned, (() => undefined) as unknown as (text: string) => string),
    );
    expect(await service().tune('A')).toBe('A');
    expect(running.app.supervisor.report().find(({ plugin }) => plugin === listeners.ids[0])?.lastError).toContain(
      'a listener of the filter "bell.tuned" returned nothing',
    );
  });

  test('throws in a filter that may abort: fails with 503, with plugin and cause shown only to operators', async () => {
    await using listeners = await listening((plugin) =>
      plugin.on(allowed, () => {
        throw new Error('not at night');
      }),
    );
    const refused: unknown = await service()
      .allow('A')
      .catch((error: unknown) => error);
    expect(refused).toMatchObject({
      status: 503,
      headers: { 'Retry-After': '60' },
      operators: expect.stringContaining(`The plugin "${listeners.ids[0]}" could not check this`),
    });
    expect((refused as HttpError).message).not.toMatch(/night|listener-/);
    expect((refused as HttpError).operators).toContain('not at night');
  });

  test('refuses in a filter that may abort: the caller gets its error, which is not a failure', async () => {
    await using listeners = await listening((plugin) =>
      plugin.on(allowed, () => {
        throw new HttpError(403, 'Not at night');
      }),
    );
    for (let time = 0; time < 3; time++)
      await expect(service().allow('A')).rejects.toMatchObject({ status: 403, message: 'Not at night' });
    expect(running.app.supervisor.report().find(({ plugin }) => plugin === listeners.ids[0])).toMatchObject({
      failures: 0,
      refusing: false,
    });
  });

  test('throws while answering a query: the next listener is called', async () => {
    await using _ = await listening(
      (plugin) =>
        plugin.on(place, () => {
          throw new Error('lost');
        }),
      (plugin) => plugin.on(place, () => 'tower'),
    );
    expect(await service().ask('where?')).toBe('tower');
  });
});

describe('quarantine', () => {
  test('a listener that fails twice in a row is quarantined until an administrator releases it', async () => {
    let calls = 0;
    await using listeners = await listening((plugin) =>
      plugin.on(tuned, () => {
        throw new Error(`failure ${++calls}`);
      }),
    );
    const quarantined = (): boolean | undefined =>
      running.app.plugins.list().find(({ id }) => id === listeners.ids[0])?.tasks[0]?.quarantined;
    for (let time = 0; time < 4; time++) await service().tune('A');
    expect(calls).toBe(2);
    expect(quarantined()).toBe(true);
    running.app.plugins.release(listeners.ids[0]!);
    expect(quarantined()).toBe(false);
    await service().tune('A');
    expect(calls).toBe(3);
  });

  test('once a minute a single call is retried, and the listener is released once it works', async () => {
    let [calls, broken] = [0, true];
    await using listeners = await listening((plugin) =>
      plugin.on(tuned, (text) => {
        calls++;
        if (broken) throw new Error('out of tune');
        return `${text}!`;
      }),
    );
    const quarantined = (): boolean | undefined =>
      running.app.plugins.list().find(({ id }) => id === listeners.ids[0])?.tasks[0]?.quarantined;
    for (let time = 0; time < 4; time++) await service().tune('A');
    expect([calls, quarantined()]).toEqual([2, true]);
    const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 61_000);
    try {
      expect([await service().tune('A'), await service().tune('A'), calls, quarantined()]).toEqual(['A', 'A', 3, true]);
      broken = false;
      expect([await service().tune('A'), calls]).toEqual(['A', 3]);
      now.mockReturnValue(performance.now() + 61_000);
      expect([await service().tune('A'), await service().tune('A'), calls, quarantined()]).toEqual([
        'A!',
        'A!',
        5,
        false,
      ]);
    } finally {
      now.mockRestore();
    }
  });

  test('a success in between resets the count', async () => {
    let calls = 0;
    await using _ = await listening((plugin) =>
      plugin.on(tuned, (text) => {
        if (++calls % 2 === 1) throw new Error('every other time');
        return text;
      }),
    );
    for (let time = 0; time < 8; time++) await service().tune('A');
    expect(calls).toBe(8);
  });

  test('a filter that may abort is never quarantined, as skipping it would allow what it refuses', async () => {
    await using _ = await listening((plugin) =>
      plugin.on(allowed, () => {
        throw new Error('no');
      }),
    );
    for (let time = 0; time < 4; time++) await expect(service().allow('A')).rejects.toMatchObject({ status: 503 });
  });

  test('a hanging abort filter is refused at once after the first calls, apart from retries, until it recovers', async () => {
    let [calls, hangs] = [0, true];
    await using listeners = await listening((plugin) =>
      plugin.on(allowed, (text) => (calls++, hangs ? never() : text)),
    );
    const report = () => running.app.supervisor.report().find(({ plugin }) => plugin === listeners.ids[0]);
    for (let time = 0; time < 2; time++) await expect(service().allow('A')).rejects.toMatchObject({ status: 503 });
    for (let time = 0; time < 20; time++)
      await expect(service().allow('A')).rejects.toMatchObject({
        status: 503,
        operators: expect.stringContaining('did not finish within 100 ms'),
      });
    expect([calls, report()]).toMatchObject([2, { refusing: true, quarantined: false }]);
    hangs = false;
    await expect
      .poll(
        () =>
          service()
            .allow('A')
            .catch(() => 'refused'),
        { timeout: 5_000, interval: 100 },
      )
      .toBe('A');
    expect(report()).toMatchObject({ refusing: false });
  });
});

describe('ownership and order', () => {
  test('filters run by order, then in the order in which their plugins started', async () => {
    await using _ = await listening(
      (plugin) => plugin.on(tuned, (text) => `${text}2`),
      (plugin) => plugin.on(tuned, (text) => `${text}3`),
      (plugin) => plugin.on(tuned, (text) => `${text}1`, { order: -1 }),
    );
    expect(await service().tune('')).toBe('123');
  });

  test('the first answer to a query that is not undefined is used', async () => {
    await using _ = await listening(
      (plugin) => plugin.on(place, () => undefined),
      (plugin) => plugin.on(place, () => 'tower'),
      (plugin) => plugin.on(place, () => 'cellar'),
    );
    expect(await service().ask('where?')).toBe('tower');
  });

  test('without listeners a filter returns its value and a query returns undefined', async () => {
    expect(await service().tune('A')).toBe('A');
    expect(await service().ask('where?')).toBeUndefined();
  });

  test('only its owner can emit a hook', async () => {
    const thief = definePlugin({ id: 'thief', setup: (_services, plugin) => plugin.emit(rang, { times: 1 }) });
    running.app.kernel.install(thief);
    await expect(running.app.kernel.enable('thief')).rejects.toThrow(
      '[thief] may not raise "bell.rang", which belongs to "bell"',
    );
  });

  test('a hook has only one owner', async () => {
    const second = definePlugin({ id: 'second-bell', hooks: [defineAction('bell.rang')], setup: () => {} });
    running.app.kernel.install(second);
    await expect(running.app.kernel.enable('second-bell')).rejects.toThrow(
      '[second-bell] lists the hook "bell.rang", which belongs to "bell"',
    );
  });

  test('a listener is removed with its plugin', async () => {
    const before = running.app.hooks.count();
    await listening((plugin) => plugin.on(rang, () => {})).then((listeners) => listeners[Symbol.asyncDispose]());
    expect(running.app.hooks.count()).toBe(before);
  });
});
