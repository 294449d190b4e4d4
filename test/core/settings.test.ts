import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { definePlugin, defineToken, sql, Type } from 'parley-forum';
import { startForum, type TestForum } from 'parley-forum/testing';
import { createApp, type App } from '../../core/host/app.ts';
import { SITE } from '../../core/host/site.ts';
import secrets from '../../plugins/secrets/plugin.ts';
import { makeTestPlace, testLog } from '../kit/database.ts';

interface Lamp {
  brightness(): number;
}
const Lamp = defineToken<Lamp>('Lamp');
const settings = Type.Object({
  'lamp.brightness': Type.Integer({ default: 3, minimum: 0, maximum: 10 }),
  'lamp.colour': Type.String({ default: 'white', 'x-restart': true }),
  'lamp.key': Type.String({ 'x-secret': true }),
});

let starts = 0;
let changes: string[] = [];
/** Makes the plugin's callbacks throw. */
let torn = false;
const lamp = definePlugin({
  id: 'lamp',
  settings,
  provides: { lamp: Lamp },
  setup(_services, plugin) {
    starts++;
    plugin.onSettings((keys) => {
      if (torn) throw new Error('the lamp is torn');
      changes.push(...keys);
    });
    plugin.checkSettings(() => {
      if (torn) throw new Error('the lamp is torn');
      return [];
    });
    return { lamp: { brightness: () => plugin.settings['lamp.brightness'] } };
  },
});

let running: TestForum;
beforeAll(
  async () => void (running = await startForum({ plugins: [secrets, lamp], settings: { 'lamp.brightness': 5 } })),
);
afterAll(() => running[Symbol.asyncDispose]());

const store = (): TestForum['app']['settings'] => running.app.settings;
const about = (key: string) =>
  store()
    .list()
    .find((setting) => setting.key === key);

describe('a setting', () => {
  test('set in a transaction takes effect after the commit, and not at all on rollback', async () => {
    const set = (fails: boolean): Promise<void> =>
      running.app.data.transaction(async () => {
        await store().set({ 'lamp.brightness': 9 });
        expect(running.app.service(Lamp).brightness()).toBe(5);
        if (fails) throw new Error('changed our minds');
      });
    await expect(set(true)).rejects.toThrow('changed our minds');
    expect([running.app.service(Lamp).brightness(), about('lamp.brightness')!.stored]).toEqual([5, false]);
    await set(false);
    expect(running.app.service(Lamp).brightness()).toBe(9);
    await store().reset(['lamp.brightness']);
    changes = [];
  });

  test('is not reverted by an earlier read of the database that returns later', async () => {
    const { data } = running.app;
    const [read, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const ask = data.all.bind(data);
    const slowly = vi.spyOn(data, 'all').mockImplementationOnce(async (query) => {
      const rows = await ask(query);
      read.resolve();
      await answered.promise;
      return rows as never[];
    });
    // As when another process publishes a change of its own.
    const earlier = store().load();
    await read.promise;
    await store().set({ 'lamp.brightness': 8 });
    answered.resolve();
    await earlier;
    slowly.mockRestore();
    expect(running.app.service(Lamp).brightness()).toBe(8);
    await store().reset(['lamp.brightness']);
    changes = [];
  });

  test('has the value from the configuration file until one is stored in the database', async () => {
    expect(running.app.service(Lamp).brightness()).toBe(5);
    expect(about('lamp.brightness')).toMatchObject({ value: 5, default: 5, stored: false });
    await store().set({ 'lamp.brightness': 7 });
    expect(about('lamp.brightness')).toMatchObject({ value: 7, default: 5, stored: true });
    await store().reset(['lamp.brightness']);
    expect(running.app.service(Lamp).brightness()).toBe(5);
  });

  test('takes effect immediately, without a restart, and its plugin is notified', async () => {
    [changes] = [[]];
    const before = starts;
    await store().set({ 'lamp.brightness': 9 });
    expect(running.app.service(Lamp).brightness()).toBe(9);
    expect(changes).toEqual(['lamp.brightness']);
    expect(starts).toBe(before);
  });

  test('takes effect even if notifying its plugin fails, as do others of the same transaction', async () => {
    const { data, settings: other } = running.app;
    let sent = false;
    const changed = data.transaction(async () => {
      await other.set({ 'lamp.brightness': 4 });
      await data.afterCommit(() => Promise.reject(new Error('cannot be sent')));
      await data.afterCommit(async () => void (sent = true));
      torn = true;
    });
    await expect(changed).rejects.toThrow('cannot be sent');
    torn = false;
    expect([running.app.service(Lamp).brightness(), sent]).toEqual([4, true]);
    expect(running.lines).toContainEqual(expect.objectContaining({ plugin: 'lamp', task: 'onSettings' }));
    await store().reset(['lamp.brightness']);
  });

  test('that its plugin cannot check is refused, with the plugin named for operators', async () => {
    torn = true;
    await expect(store().set({ 'lamp.brightness': 1 })).rejects.toMatchObject({
      status: 503,
      operators: expect.stringContaining('The plugin "lamp" could not check this'),
    });
    torn = false;
    expect(about('lamp.brightness')!.stored).toBe(false);
  });

  test('with x-restart restarts its plugin', async () => {
    const before = starts;
    await store().set({ 'lamp.colour': 'amber' });
    await expect.poll(() => starts).toBe(before + 1);
    await expect.poll(() => running.app.kernel.state('lamp')).toBe('active');
  });

  test('set to its current value changes nothing', async () => {
    await store().set({ 'lamp.brightness': 2 });
    [changes] = [[]];
    await store().set({ 'lamp.brightness': 2 });
    expect(changes).toEqual([]);
  });
});

describe('validation', () => {
  test('every invalid value is reported, and none of the valid ones is stored', async () => {
    const before = about('lamp.brightness')?.value;
    const refused = store().set({ 'lamp.brightness': 11, 'lamp.colour': 3, 'lamp.size': 1 });
    await expect(refused).rejects.toMatchObject({
      status: 400,
      details: [
        { field: 'lamp.brightness', message: 'must be <= 10' },
        { field: 'lamp.colour', message: 'must be string' },
        { field: 'lamp.size', message: 'is not a setting of any installed plugin' },
      ],
    });
    await expect(store().set({ 'lamp.brightness': 1, 'lamp.size': 1 })).rejects.toThrow('lamp.size');
    expect(about('lamp.brightness')?.value).toBe(before);
  });

  test('an invalid value in the configuration file prevents its plugin from starting, with key and reason', async () => {
    await using server = await startForum({ plugins: [lamp], settings: { 'lamp.brightness': 'bright' } });
    expect(server.app.plugins.list()).toMatchObject([
      {
        id: 'lamp',
        state: 'failed',
        problem: 'has an invalid setting "lamp.brightness" in the configuration file: must be integer',
      },
    ]);
  });

  test('a key has only one owner, and a default unless it is a secret', async () => {
    const second = definePlugin({
      id: 'candle',
      settings: Type.Object({ 'lamp.brightness': Type.Integer({ default: 1 }) }),
      setup: () => {},
    });
    const bare = definePlugin({ id: 'bare', settings: Type.Object({ 'bare.size': Type.Integer() }), setup: () => {} });
    running.app.kernel.install(second);
    running.app.kernel.install(bare);
    await expect(running.app.kernel.enable('candle')).rejects.toThrow(
      '[candle] defines the setting "lamp.brightness", which belongs to "lamp"',
    );
    await expect(running.app.kernel.enable('bare')).rejects.toThrow(
      '[bare] defines the setting "bare.size" without a default',
    );
    expect(running.app.settings.list().map(({ key }) => key)).not.toContain('bare.size');
  });
});

describe('a secret', () => {
  test('is available to its plugin, never listed, and stored encrypted', async () => {
    await store().set({ 'lamp.key': 'open sesame' });
    expect(store().get('lamp.key')).toBe('open sesame');
    expect(about('lamp.key')).toMatchObject({ value: undefined, stored: true });
    const kept = await running.app.data.one(
      sql<{ value: string }>`select value::text from setting where key = 'lamp.key'`,
    );
    expect(kept?.value).not.toContain('sesame');
  });
});

test('a value that a process was started with overrides the stored one and leaves it unchanged', async () => {
  const place = await makeTestPlace();
  const environment = { ...running.app.environment, dataDir: place.folder, databaseUrl: place.url };
  const configuration = { plugins: [lamp], required: [] };
  const open = (overrides?: Readonly<Record<string, unknown>>): Promise<App> =>
    createApp({ site: SITE, environment, configuration, log: testLog, overrides });
  try {
    const usual = await open();
    await usual.settings.set({ 'lamp.brightness': 4 });
    await usual.close();
    const own = await open({ 'lamp.brightness': 8 });
    expect([own.service(Lamp).brightness(), own.settings.get('lamp.colour')]).toEqual([8, 'white']);
    await expect(own.settings.set({ 'lamp.colour': 'red', 'lamp.brightness': 2 })).rejects.toThrow(
      'lamp.brightness: cannot be changed while this server runs: it was started with its own value',
    );
    await expect(own.settings.reset(['lamp.brightness'])).rejects.toThrow('cannot be changed');
    await own.settings.set({ 'lamp.colour': 'green' });
    expect(own.settings.get('lamp.colour')).toBe('green');
    await own.close();
    const after = await open();
    expect([after.settings.get('lamp.brightness'), after.settings.get('lamp.colour')]).toEqual([4, 'green']);
    await after.close();
  } finally {
    await place.remove();
  }
});
