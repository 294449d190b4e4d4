import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ConfigurationError, Data, defineAction, defineEntity, defineExtensionPoint, definePlugin, defineToken, Migration, p, pluginChanged, sql } from '#core';
import { startApp, type TestApp } from '#test';
import { logStray } from '../../core/cli/stray.ts';
import { plain, plainPlugin, Source } from './fixtures/plain.ts';

let running: TestApp;
beforeAll(async () => void (running = await startApp({ plugins: [plainPlugin] })));
afterAll(() => running[Symbol.asyncDispose]());

const kernel = (): TestApp['app']['kernel'] => running.app.kernel;
const status = async (path: string): Promise<number> => (await running.client().get(path)).status;

describe('a plugin that cannot start', () => {
  test('was never reachable, leaves nothing, keeps its cause, and the rest runs on', async () => {
    const undone: string[] = [];
    const half = definePlugin({
      id: 'half', provides: { source: Source },
      setup(_services, plugin): never {
        plugin.route(plain, { method: 'get', path: '/half', can: 'public' })(() => 1);
        plugin.on(pluginChanged, () => {});
        plugin.defer(() => void undone.push('deferred'));
        plugin.signal.addEventListener('abort', () => undone.push('aborted'));
        throw new Error('the other half is missing');
      },
    });
    kernel().install(half);
    const before = { hooks: running.app.hooks.count(), routes: running.app.routes.list().length };
    await expect(running.app.plugins.enable('half')).rejects.toThrow('"half" could not be switched on and stays off: the other half is missing');
    expect(undone).toEqual(['aborted', 'deferred']);
    expect({ hooks: running.app.hooks.count(), routes: running.app.routes.list().length }).toEqual(before);
    expect(kernel().service(Source)).toBeUndefined();
    expect(await status('/half')).toBe(404);
    expect(await status('/healthz')).toBe(200);
  });

  test('does not keep the others from starting with the server', async () => {
    const broken = definePlugin({ id: 'broken', setup: () => Promise.reject(new Error('no ink')) });
    const needy = definePlugin({ id: 'needy', needs: { source: Source }, setup: () => {} });
    const fine = definePlugin({ id: 'fine', setup: (_services, plugin) => plugin.route(plain, { method: 'get', path: '/fine', can: 'public' })(() => 'fine') });
    await using server = await startApp({ plugins: [plainPlugin, broken, needy, fine] });
    expect((await server.client().get('/fine')).status).toBe(200);
    const states = server.app.plugins.list().map(({ id, state, problem }) => [id, state, problem]);
    expect(states).toContainEqual(['broken', 'failed', 'no ink']);
    expect(states).toContainEqual(['needy', 'off', expect.stringContaining('needs "Source", which no installed plugin provides')]);
  });

  test('ends the start where it must run and the operator’s configuration is at fault', async () => {
    const pump = definePlugin({ id: 'pump', setup: () => Promise.reject(new ConfigurationError('PUMP_URL: there is no pump')) });
    await expect(startApp({ plugins: [pump], required: ['pump'] })).rejects.toThrow('PUMP_URL: there is no pump');
    await using server = await startApp({ plugins: [pump] });
    expect(server.app.kernel.state('pump')).toBe('failed');
  });

  test('is named when it promises a service that it does not return', async () => {
    const Promised = defineToken<number>('Promised');
    kernel().install(definePlugin({ id: 'liar', provides: { promised: Promised }, setup: () => ({}) as { promised: number } }));
    await expect(kernel().enable('liar')).rejects.toThrow('[liar] promises "promised" under `provides`, but setup did not return it');
  });

  test('is named with the migration that broke, of which nothing is kept', async () => {
    class CreateShelf extends Migration {
      override up(): void {
        this.addSql('create table shelf (id int primary key); select nonsense;');
      }
    }
    kernel().install(definePlugin({ id: 'shelf', migrations: [CreateShelf], setup: () => {} }));
    await expect(kernel().enable('shelf')).rejects.toThrow(/\[shelf\] .*migration "CreateShelf" failed.*nonsense/s);
    expect(await running.app.data.one(sql`select 1 as found from pg_tables where tablename = 'shelf'`)).toBeUndefined();
  });

  test('may not use a table of another plugin', async () => {
    const Shared = defineEntity({ name: 'Shared', tableName: 'shared_table', properties: { id: p.integer().primary() } });
    const Again = defineEntity({ name: 'Again', tableName: 'shared_table', properties: { id: p.integer().primary() } });
    kernel().install(definePlugin({ id: 'first-owner', entities: [Shared], setup: () => {} }));
    kernel().install(definePlugin({ id: 'second-owner', entities: [Again], setup: () => {} }));
    await kernel().enable('first-owner');
    await expect(kernel().enable('second-owner')).rejects.toThrow('[second-owner] has an entity on the table "shared_table", which belongs to "first-owner"');
  });

  test('may not read a list or raise an action that it does not own', async () => {
    const point = defineExtensionPoint<string>('foreign.list');
    const action = defineAction<string>('foreign.action');
    kernel().install(definePlugin({ id: 'curious', setup: (_services, plugin) => void plugin.extensions(point) }));
    kernel().install(definePlugin({ id: 'loud', setup: (_services, plugin) => plugin.emit(action, '') }));
    await expect(kernel().enable('curious')).rejects.toThrow('[curious] reads the list "foreign.list" without listing it');
    await expect(kernel().enable('loud')).rejects.toThrow('[loud] may not raise "foreign.action" before listing it');
  });
});

describe('services', () => {
  const Mill = defineToken<Source>('Mill');
  const Cup = defineToken<Source>('Cup');
  let started = 0;
  const mill = definePlugin({ id: 'mill', provides: { mill: Mill }, setup: () => ({ mill: { number: ++started } }) });
  const seen: string[] = [];
  const cup = definePlugin({ id: 'cup', needs: { mill: Mill }, provides: { cup: Cup }, setup: ({ mill: source }) => (seen.push(`cup ${source.number}`), { cup: source }) });
  const table = definePlugin({
    id: 'table', needs: { cup: Cup },
    setup: ({ cup: source }, plugin) => {
      seen.push(`table ${source.number}`);
      plugin.defer(() => void seen.push('table cleared'));
    },
  });
  const spoon = definePlugin({ id: 'spoon', wants: { mill: Mill }, setup: ({ mill: source }) => void seen.push(`spoon ${source?.number ?? 'alone'}`) });

  beforeAll(() => [spoon, table, cup, mill].forEach((plugin) => kernel().install(plugin)));

  test('enabling a plugin starts what it needs first', async () => {
    await kernel().enable('spoon');
    expect(await kernel().enable('table')).toEqual(['mill', 'cup', 'table']);
    expect(seen.splice(0)).toEqual(['spoon alone', 'cup 1', 'table 1', 'spoon 1']);
  });

  test('a restart reaches whoever needs the plugin, so that nobody keeps an old service', async () => {
    await kernel().restart('mill');
    expect(seen.splice(0)).toEqual(expect.arrayContaining(['table cleared', 'cup 2', 'table 2']));
  });

  test('disabling a provider stops its dependents first, by name, and restarts who only wanted it', async () => {
    expect(await kernel().disable('mill')).toEqual(['table', 'cup', 'mill']);
    expect(seen.splice(0)).toEqual(['table cleared', 'spoon alone']);
    expect(kernel().state('spoon')).toBe('active');
    expect(kernel().service(Mill)).toBeUndefined();
  });

  test('for all processes: dependents of a plugin that is off wait, say for what, and come back with it', async () => {
    await running.app.plugins.enable('table');
    expect(await running.app.plugins.disable('mill')).toEqual(expect.arrayContaining(['table', 'cup', 'mill']));
    const about = (id: string) => running.app.plugins.list().find((plugin) => plugin.id === id);
    expect(about('table')).toMatchObject({ state: 'off', wanted: true, problem: 'waits for mill' });
    await running.app.plugins.enable('mill');
    expect(about('table')).toMatchObject({ state: 'active', problem: undefined });
  });
});

describe('stopping', () => {
  test('undoes in reverse, after the signal, even where one undoing throws', async () => {
    const order: string[] = [];
    kernel().install(definePlugin({
      id: 'orderly',
      setup(_services, plugin) {
        plugin.signal.addEventListener('abort', () => order.push('signal'));
        plugin.defer(() => void order.push('first'));
        plugin.defer(() => { throw new Error('stuck'); });
        plugin.defer(() => void order.push('last'));
      },
    }));
    await kernel().enable('orderly');
    await kernel().disable('orderly');
    expect(order).toEqual(['signal', 'last', 'first']);
    expect(running.lines.filter((line) => line['plugin'] === 'orderly').map(({ message }) => message)).toEqual(['stopping failed in part; what it left may need a restart of the process']);
  });

  test('keeps the data; uninstalling takes the tables and the record of its migrations away', async () => {
    class CreateDrawer extends Migration {
      override up(): void {
        this.addSql('create table drawer (id int primary key); insert into drawer values (1);');
      }
      override down(): void {
        this.addSql('drop table drawer;');
      }
    }
    kernel().install(definePlugin({ id: 'drawer', migrations: [CreateDrawer], setup: () => {} }));
    const rows = () => running.app.data.all(sql<{ id: number }>`select id from drawer`);
    await running.app.plugins.enable('drawer');
    await running.app.plugins.disable('drawer');
    expect(await rows()).toEqual([{ id: 1 }]);
    await running.app.plugins.enable('drawer');
    await expect(running.app.plugins.uninstall('drawer')).rejects.toThrow('switch it off before uninstalling');
    await running.app.plugins.disable('drawer');
    await running.app.plugins.uninstall('drawer');
    await expect(rows()).rejects.toThrow('drawer');
    await running.app.plugins.enable('drawer');
    expect(await rows()).toEqual([{ id: 1 }]);
  });

  test('whoever listens hears of plugins that come and go', async () => {
    const heard: string[] = [];
    kernel().install(definePlugin({ id: 'porter', setup: (_services, plugin) => plugin.on(pluginChanged, ({ id, state }) => void heard.push(`${id} ${state}`)) }));
    kernel().install(definePlugin({ id: 'guest', needs: { data: Data }, setup: () => {} }));
    await kernel().enable('porter');
    await kernel().enable('guest');
    await kernel().disable('guest');
    expect(heard).toEqual(expect.arrayContaining(['guest active', 'guest off']));
  });
});

describe('a rejection that nobody awaits', () => {
  test('is laid at the door of the plugin whose folder is in its stack', () => {
    kernel().install(definePlugin({ id: 'careless', folder: import.meta.dirname, setup: () => {} }));
    logStray(running.app, new Error('forgotten'));
    expect(running.lines.at(-1)).toMatchObject({ level: 'error', plugin: 'careless', message: expect.stringContaining('was not awaited') });
  });

  test('is logged as unknown where no plugin is to be seen', () => {
    logStray(running.app, 'just a word');
    expect(running.lines.at(-1)).toMatchObject({ level: 'error', plugin: 'unknown' });
  });
});
