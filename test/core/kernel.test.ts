import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ConfigurationError,
  Data,
  defineAction,
  defineEntity,
  defineExtensionPoint,
  definePermission,
  definePlugin,
  defineSurface,
  defineToken,
  Migration,
  p,
  pluginChanged,
  sql,
} from 'parley-forum';
import { startForum, type TestForum } from 'parley-forum/testing';
import { handleException, logUnhandledRejection } from '../../core/host/unhandled-errors.ts';
import { plain, plainPlugin, Source } from './fixtures/plain.ts';

let running: TestForum;
beforeAll(async () => void (running = await startForum({ plugins: [plainPlugin] })));
afterAll(() => running[Symbol.asyncDispose]());

const kernel = (): TestForum['app']['kernel'] => running.app.kernel;
const status = async (path: string): Promise<number> => (await running.client().get(path)).status;

describe('a plugin that cannot start', () => {
  test('was never reachable, leaves nothing behind and keeps its error, while everything else keeps running', async () => {
    const undone: string[] = [];
    const half = definePlugin({
      id: 'half',
      provides: { source: Source },
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
    await expect(running.app.plugins.enable('half')).rejects.toThrow(
      '"half" could not be switched on and stays off: the other half is missing',
    );
    expect(undone).toEqual(['aborted', 'deferred']);
    expect({ hooks: running.app.hooks.count(), routes: running.app.routes.list().length }).toEqual(before);
    expect(kernel().service(Source)).toBeUndefined();
    expect(await status('/half')).toBe(404);
    expect(await status('/healthz')).toBe(200);
  });

  test('fails with what its setup triggered right away', async () => {
    const hasty = definePlugin({
      id: 'hasty',
      setup: () => void running.app.plugins.fail('hasty', new Error('too soon')),
    });
    kernel().install(hasty);
    await expect(running.app.plugins.enable('hasty')).rejects.toThrow(
      '"hasty" could not be switched on and stays off: too soon',
    );
  });

  test('does not prevent the others from starting with the server', async () => {
    const broken = definePlugin({ id: 'broken', setup: () => Promise.reject(new Error('no ink')) });
    const needy = definePlugin({ id: 'needy', needs: { source: Source }, setup: () => {} });
    const fine = definePlugin({
      id: 'fine',
      setup: (_services, plugin) => plugin.route(plain, { method: 'get', path: '/fine', can: 'public' })(() => 'fine'),
    });
    await using server = await startForum({ plugins: [plainPlugin, broken, needy, fine] });
    expect((await server.client().get('/fine')).status).toBe(200);
    const states = server.app.plugins.list().map(({ id, state, problem }) => [id, state, problem]);
    expect(states).toContainEqual(['broken', 'failed', 'no ink']);
    expect(states).toContainEqual([
      'needy',
      'off',
      expect.stringContaining('needs "Source", which no installed plugin provides'),
    ]);
  });

  test('aborts the startup if it is required and the operator’s configuration is at fault', async () => {
    const pump = definePlugin({
      id: 'pump',
      setup: () => Promise.reject(new ConfigurationError('PUMP_URL: there is no pump')),
    });
    await expect(startForum({ plugins: [pump], required: ['pump'] })).rejects.toThrow('PUMP_URL: there is no pump');
    await using server = await startForum({ plugins: [pump] });
    expect(server.app.kernel.state('pump')).toBe('failed');
  });

  test('is reported if it does not return a service that it declares', async () => {
    const Promised = defineToken<number>('Promised');
    kernel().install(
      definePlugin({ id: 'liar', provides: { promised: Promised }, setup: () => ({}) as { promised: number } }),
    );
    await expect(kernel().enable('liar')).rejects.toThrow(
      '[liar] declares "promised" under `provides`, but setup did not return it',
    );
  });

  test('is reported with a migration that ran but no longer exists, on start and when another fails because of it', async () => {
    class CreateBench extends Migration {
      override up(): void {
        this.addSql('create table bench (id int primary key)');
      }
    }
    class MakeBench extends CreateBench {}
    const bench = (...migrations: (typeof CreateBench)[]) => definePlugin({ id: 'bench', migrations, setup: () => {} });
    const { lines } = running;
    kernel().install(bench(CreateBench));
    await kernel().enable('bench');
    expect(lines.filter(({ plugin }) => plugin === 'bench')).toEqual([]);
    await kernel().replace(bench());
    expect(lines.find(({ plugin }) => plugin === 'bench')).toMatchObject({
      level: 'warn',
      message: expect.stringContaining(
        '"CreateBench" ran before, but the plugin no longer has a migration of that name',
      ),
    });
    await kernel().disable('bench');
    kernel().remove('bench');
    kernel().install(bench(MakeBench));
    await expect(kernel().enable('bench')).rejects.toThrow(/"MakeBench" failed.*"CreateBench" ran before/s);
  });

  test('is reported with the failed migration, which is rolled back', async () => {
    class CreateShelf extends Migration {
      override up(): void {
        this.addSql('create table shelf (id int primary key); select nonsense;');
      }
    }
    kernel().install(definePlugin({ id: 'shelf', migrations: [CreateShelf], setup: () => {} }));
    await expect(kernel().enable('shelf')).rejects.toThrow(/\[shelf\] .*migration "CreateShelf" failed.*nonsense/s);
    expect(await running.app.data.one(sql`select 1 as found from pg_tables where tablename = 'shelf'`)).toBeUndefined();
  });

  test('cannot use a table of another plugin', async () => {
    const Shared = defineEntity({
      name: 'Shared',
      tableName: 'shared_table',
      properties: { id: p.integer().primary() },
    });
    const Again = defineEntity({ name: 'Again', tableName: 'shared_table', properties: { id: p.integer().primary() } });
    kernel().install(definePlugin({ id: 'first-owner', entities: [Shared], setup: () => {} }));
    kernel().install(definePlugin({ id: 'second-owner', entities: [Again], setup: () => {} }));
    await kernel().enable('first-owner');
    await expect(kernel().enable('second-owner')).rejects.toThrow(
      '[second-owner] has an entity on the table "shared_table", which belongs to "first-owner"',
    );
  });

  test('cannot redefine what another plugin has: it fails alone, and everything else keeps running', async () => {
    const Ink = defineToken<{ readonly colour: string }>('Ink');
    const shelves = defineExtensionPoint<string>('library.shelves', 'What a test adds.');
    const lend = definePermission('library.lend', { label: 'lend', default: 'member' });
    const first = definePlugin({
      id: 'first',
      provides: { ink: Ink },
      extensionPoints: [shelves],
      permissions: [lend],
      setup: () => ({ ink: { colour: 'blue' } }),
    });
    const twins = [
      definePlugin({ id: 'same-service', provides: { ink: Ink }, setup: () => ({ ink: { colour: 'red' } }) }),
      definePlugin({ id: 'same-list', extensionPoints: [shelves], setup: () => {} }),
      definePlugin({ id: 'same-permission', permissions: [lend], setup: () => {} }),
      definePlugin({
        id: 'same-surface',
        setup: (_services, plugin) =>
          plugin.surface(defineSurface('other', { prefix: '/' }), {
            authenticate: () => ({ actor: undefined }),
            respond: () => {},
            fail: () => {},
          }),
      }),
      definePlugin({ id: 'half-imported', needs: { ink: undefined as unknown as typeof Ink }, setup: () => {} }),
      definePlugin({
        id: 'round',
        needs: { ink: defineToken('RoundAndRound') },
        provides: { ink: defineToken('RoundAndRound') },
        setup: () => ({ ink: 1 }),
      }),
      definePlugin({ id: 'first', setup: () => {} }),
    ];
    await using server = await startForum({ plugins: [plainPlugin, first, ...twins], required: ['plain', 'round'] });
    const problems = Object.fromEntries(
      server.app.plugins.list().map(({ id, state, problem }) => [id, `${state}: ${problem}`]),
    );
    expect(problems).toEqual({
      plain: 'active: undefined',
      first: 'active: undefined',
      'same-service': 'failed: provides "Ink", which plugin "first" already provides; keep one',
      'same-list':
        'failed: defines the extension point "library.shelves", which plugin "first" already defines; give it another id',
      'same-permission':
        'failed: defines the permission "library.lend", which plugin "first" already defines; give it another id',
      'same-surface': 'failed: answers on the surface "other" under /, as plugin "plain" already does; keep one',
      'half-imported': 'failed: lists something undefined under `needs`; a circular import may be the cause',
      round: expect.stringContaining('off: is part of a dependency cycle'),
    });
    expect(server.app.kernel.service(Ink)).toEqual({ colour: 'blue' });
    await server.app.plugins.disable('same-service');
    expect((await server.client().get('/healthz')).status).toBe(200);
  });

  test('is refused for passing a value of the wrong type, with what is expected', async () => {
    const untyped = (id: string, setup: (plugin: any) => unknown) =>
      definePlugin({ id, setup: (_services, plugin) => void setup(plugin) });
    const tried = [
      untyped('misspelt-hook', (plugin) => plugin.on(undefined, () => {})),
      untyped('hook-by-name', (plugin) => plugin.on('book.lent', () => {})),
      untyped('no-listener', (plugin) => plugin.on(defineAction('book.lent'))),
      untyped('misspelt-list', (plugin) => plugin.extend(undefined, {})),
      untyped('misspelt-surface', (plugin) =>
        plugin.route(undefined, { method: 'get', path: '/books', can: 'public' }),
      ),
      untyped('open-door', (plugin) => plugin.route(plain, { method: 'get', path: '/books' })),
      untyped('publik', (plugin) => plugin.route(plain, { method: 'get', path: '/books', can: 'publik' })),
    ];
    await using server = await startForum({ plugins: [plainPlugin, ...tried], required: ['plain'] });
    const problems = server.app.plugins.list().map(({ id, problem }) => [id, problem?.replace(`[${id}] `, '')]);
    const where = 'import it by its name from the contract that exports it';
    const can = 'does not declare who may call GET /books; its `can` must be a permission, or "member" or "public"';
    expect(Object.fromEntries(problems)).toEqual({
      plain: undefined,
      'misspelt-hook': `listens to something undefined, which is not an action or filter or query; ${where}`,
      'hook-by-name': `listens to "book.lent", which is not an action or filter or query; ${where}`,
      'no-listener': 'listens to "book.lent" without a function to run',
      'misspelt-list': `adds to something undefined, which is not an extension point; ${where}`,
      'misspelt-surface': `adds a route to something undefined, which is not a surface; ${where}`,
      'open-door': can,
      publik: can,
    });
  });

  test('in safe mode provides no service that the panel needs, wherever a site lists it', async () => {
    const Ink = defineToken<{ readonly colour: string }>('SafeInk');
    const ink = (id: string, folder: string, colour: string) =>
      definePlugin({
        id,
        folder: join(folder, 'plugins', id),
        provides: { ink: Ink },
        setup: () => ({ ink: { colour } }),
      });
    const program = join(import.meta.dirname, '../..');
    const panel = definePlugin({
      id: 'panel',
      folder: join(program, 'plugins/panel'),
      needs: { ink: Ink },
      setup: () => {},
    });
    await using server = await startForum({
      plugins: [plainPlugin, ink('twin', '/site', 'red'), ink('first', program, 'blue'), panel],
      required: ['panel'],
      environment: { safeMode: true },
    });
    expect(server.app.kernel.service(Ink)).toEqual({ colour: 'blue' });
    await server.app.plugins.disable('twin');
    expect(server.app.plugins.list().map(({ id, state }) => [id, state])).toEqual(
      expect.arrayContaining([
        ['panel', 'active'],
        ['twin', 'off'],
      ]),
    );
  });

  test('because its setup never ends is given up; what it opens later is closed, and it cannot register anything', async () => {
    const [gate, undone, late]: [PromiseWithResolvers<void>, string[], unknown[]] = [Promise.withResolvers(), [], []];
    const sleepy = definePlugin({
      id: 'sleepy',
      async setup(_services, plugin) {
        plugin.defer(() => void undone.push('before'));
        await gate.promise;
        plugin.defer(() => void undone.push('after'));
        try {
          plugin.on(pluginChanged, () => {});
        } catch (error) {
          late.push(error);
        }
      },
    });
    const after = definePlugin({
      id: 'after',
      setup: (_services, plugin) => plugin.route(plain, { method: 'get', path: '/after', can: 'public' })(() => 1),
    });
    await using server = await startForum({
      plugins: [plainPlugin, sleepy, after],
      settings: { 'hooks.setup': 1_000 },
    });
    expect(server.app.plugins.list().map(({ id, state, problem }) => [id, state, problem])).toContainEqual([
      'sleepy',
      'failed',
      'its setup did not finish within 1000 ms',
    ]);
    expect((await server.client().get('/after')).status).toBe(200);
    const hooks = server.app.hooks.count();
    gate.resolve();
    await expect
      .poll(() => [undone, late.map(String)])
      .toEqual([['before', 'after'], ['PluginError: [sleepy] has stopped, so it can no longer register anything']]);
    expect(server.app.hooks.count()).toBe(hooks);
  });

  test('cannot give a route an option that its surface does not have', async () => {
    const careless = definePlugin({
      id: 'misspelt',
      setup: (_services, plugin) =>
        plugin.route(plain, { method: 'get', path: '/misspelt', can: 'public', options: { logn: true } as object })(
          () => 1,
        ),
    });
    kernel().install(careless);
    await expect(kernel().enable('misspelt')).rejects.toThrow(
      '[misspelt] gives GET /misspelt the option "logn"; routes of "plain" have: none',
    );
    expect(await status('/misspelt')).toBe(404);
  });

  test('because it requires another version of an installed plugin is reported with both versions', async () => {
    const plugin = (id: string, version: string, requires: Record<string, string> = {}) =>
      definePlugin({ id, version, requires, setup: () => {} });
    kernel().install({ ...plugin('jetty', '2.3.1'), package: 'parley-plugin-jetty' });
    kernel().install(plugin('ferry', '1.0.0', { jetty: '^1.4.0' }));
    kernel().install(plugin('tug', '1.0.0', { 'parley-plugin-jetty': '^3.0.0' }));
    kernel().install(plugin('punt', '1.0.0', { jetty: '^2.0.0', weir: '^9.0.0' }));
    await expect(kernel().enable('ferry')).rejects.toThrow(
      '[ferry] 1.0.0 is made for jetty ^1.4.0, but this is jetty 2.3.1; update the plugin',
    );
    await expect(kernel().enable('tug')).rejects.toThrow(
      '[tug] 1.0.0 is made for parley-plugin-jetty ^3.0.0, but this is parley-plugin-jetty 2.3.1; update parley-plugin-jetty',
    );
    expect(await kernel().enable('punt')).toEqual(['punt']);
    expect([kernel().state('ferry'), kernel().state('tug')]).toEqual(['failed', 'failed']);
  });

  test('cannot read a list or emit an action that it does not own', async () => {
    const point = defineExtensionPoint<string>('foreign.list', 'What a test adds.');
    const action = defineAction<string>('foreign.action');
    kernel().install(definePlugin({ id: 'curious', setup: (_services, plugin) => void plugin.extensions(point) }));
    kernel().install(definePlugin({ id: 'loud', setup: (_services, plugin) => plugin.emit(action, '') }));
    await expect(kernel().enable('curious')).rejects.toThrow(
      '[curious] reads the list "foreign.list" without listing it',
    );
    await expect(kernel().enable('loud')).rejects.toThrow('[loud] may not raise "foreign.action" before listing it');
  });
});

describe('services', () => {
  const Mill = defineToken<Source>('Mill');
  const Cup = defineToken<Source>('Cup');
  let started = 0;
  const mill = definePlugin({ id: 'mill', provides: { mill: Mill }, setup: () => ({ mill: { number: ++started } }) });
  const seen: string[] = [];
  const cup = definePlugin({
    id: 'cup',
    needs: { mill: Mill },
    provides: { cup: Cup },
    setup: ({ mill: source }) => (seen.push(`cup ${source.number}`), { cup: source }),
  });
  const table = definePlugin({
    id: 'table',
    needs: { cup: Cup },
    setup: ({ cup: source }, plugin) => {
      seen.push(`table ${source.number}`);
      plugin.defer(() => void seen.push('table cleared'));
    },
  });
  const spoon = definePlugin({
    id: 'spoon',
    wants: { mill: Mill },
    setup: ({ mill: source }) => void seen.push(`spoon ${source?.number ?? 'alone'}`),
  });

  beforeAll(() => [spoon, table, cup, mill].forEach((plugin) => kernel().install(plugin)));

  test('enabling a plugin starts what it needs first', async () => {
    await kernel().enable('spoon');
    expect(await kernel().enable('table')).toEqual(['mill', 'cup', 'table']);
    expect(seen.splice(0)).toEqual(['spoon alone', 'cup 1', 'table 1', 'spoon 1']);
  });

  test('restarting a plugin restarts its dependents, so that none keeps an old service', async () => {
    await kernel().restart('mill');
    expect(seen.splice(0)).toEqual(expect.arrayContaining(['table cleared', 'cup 2', 'table 2']));
  });

  test('disabling a provider stops its dependents first, lists them, and restarts those that only wanted it', async () => {
    expect(await kernel().disable('mill')).toEqual(['table', 'cup', 'mill']);
    expect(seen.splice(0)).toEqual(['table cleared', 'spoon alone']);
    expect(kernel().state('spoon')).toBe('active');
    expect(kernel().service(Mill)).toBeUndefined();
  });

  test('dependents of a plugin that is disabled for all processes show what they wait for, and return with it', async () => {
    await running.app.plugins.enable('table');
    expect(await running.app.plugins.disable('mill')).toEqual(expect.arrayContaining(['table', 'cup', 'mill']));
    const about = (id: string) => running.app.plugins.list().find((plugin) => plugin.id === id);
    expect(about('table')).toMatchObject({ state: 'off', wanted: true, problem: 'waits for mill' });
    await running.app.plugins.enable('mill');
    expect(about('table')).toMatchObject({ state: 'active', problem: undefined });
  });
});

describe('stopping', () => {
  test('runs cleanups in reverse order after the abort signal, even if one of them throws', async () => {
    const order: string[] = [];
    kernel().install(
      definePlugin({
        id: 'orderly',
        setup(_services, plugin) {
          plugin.signal.addEventListener('abort', () => order.push('signal'));
          plugin.defer(() => void order.push('first'));
          plugin.defer(() => {
            throw new Error('stuck');
          });
          plugin.defer(() => void order.push('last'));
        },
      }),
    );
    await kernel().enable('orderly');
    await kernel().disable('orderly');
    expect(order).toEqual(['signal', 'last', 'first']);
    expect(running.lines.filter((line) => line['plugin'] === 'orderly').map(({ message }) => message)).toEqual([
      'stopping failed in part; cleaning up what is left may need a restart of the process',
    ]);
  });

  test('continues if a cleanup hangs', async () => {
    const order: string[] = [];
    const clinging = definePlugin({
      id: 'clinging',
      setup(_services, plugin) {
        plugin.defer(() => void order.push('first'));
        plugin.defer(() => new Promise(() => {}));
      },
    });
    await using server = await startForum({ plugins: [clinging], settings: { 'hooks.deadline': 100 } });
    await server.app.kernel.disable('clinging');
    expect(order).toEqual(['first']);
    await server.app.kernel.enable('clinging');
    expect(server.app.kernel.state('clinging')).toBe('active');
  });

  test('the process is final: nothing starts again, neither because a dependency has stopped nor on request', async () => {
    const Lamp = defineToken<{ readonly lit: boolean }>('Lamp');
    const seen: string[] = [];
    const lamp = definePlugin({
      id: 'lamp',
      provides: { lamp: Lamp },
      setup(_services, plugin) {
        plugin.defer(() => void seen.push('lamp is out'));
        return { lamp: { lit: true } };
      },
    });
    const reader = definePlugin({
      id: 'reader',
      wants: { lamp: Lamp },
      setup({ lamp: light }, plugin) {
        seen.push(light ? 'reads' : 'sits in the dark');
        plugin.defer(() => void seen.push('goes to bed'));
      },
    });
    const server = await startForum({ plugins: [reader, lamp] });
    const stopped = server[Symbol.asyncDispose]();
    await server.app.kernel.close();
    expect(await server.app.kernel.enable('lamp')).toEqual([]);
    await server.app.kernel.restart('lamp');
    await stopped;
    expect(seen).toEqual(['reads', 'goes to bed', 'lamp is out']);
    expect(server.app.kernel.active()).toEqual([]);
  });

  test('keeps the data; uninstalling drops the tables and the record of their migrations', async () => {
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

  test('an older version refuses to uninstall what a newer one has created, which would remain', async () => {
    class CreateRack extends Migration {
      override up(): void {
        this.addSql('create table rack (id int primary key)');
      }
      override down(): void {
        this.addSql('drop table rack');
      }
    }
    class RackHeight extends Migration {
      override up(): void {
        this.addSql('alter table rack add height int not null default 3');
      }
      override down(): void {
        this.addSql('alter table rack drop height');
      }
    }
    const rack = (...migrations: (typeof CreateRack)[]) => definePlugin({ id: 'rack', migrations, setup: () => {} });
    const { plugins } = running.app;
    kernel().install(rack(CreateRack, RackHeight));
    await plugins.enable('rack');
    await kernel().replace(rack(CreateRack));
    await plugins.disable('rack');
    await expect(plugins.uninstall('rack')).rejects.toThrow(/"RackHeight" ran .* install the version that has it/);
    await kernel().replace(rack(CreateRack, RackHeight));
    await plugins.uninstall('rack');
    await plugins.enable('rack');
    await running.app.data.all(sql`insert into rack (id, height) values (1, 2)`);
    expect(await running.app.data.all(sql`select height from rack`)).toEqual([{ height: 2 }]);
    await plugins.disable('rack');
    await plugins.uninstall('rack');
  });

  test('what a starting plugin adds to a list is visible only once it has started', async () => {
    const point = defineExtensionPoint<string>('menu.dishes', 'What a test adds.');
    const gate = Promise.withResolvers<void>();
    let served: () => readonly string[] = () => [];
    const menu = definePlugin({
      id: 'menu',
      extensionPoints: [point],
      setup: (_services, plugin) => void (served = () => plugin.extensions(point).map(({ value }) => value)),
    });
    const cook = definePlugin({
      id: 'cook',
      async setup(_services, plugin) {
        plugin.extend(point, 'soup');
        await gate.promise;
      },
    });
    for (const plugin of [menu, cook]) kernel().install(plugin);
    await kernel().enable('menu');
    const starting = kernel().enable('cook');
    await kernel()
      .service(Data)!
      .one(sql`select 1`);
    expect(served()).toEqual([]);
    gate.resolve();
    await starting;
    expect(served()).toEqual(['soup']);
  });

  test('listeners are notified of plugins that start and stop', async () => {
    const heard: string[] = [];
    kernel().install(
      definePlugin({
        id: 'porter',
        setup: (_services, plugin) => plugin.on(pluginChanged, ({ id, state }) => void heard.push(`${id} ${state}`)),
      }),
    );
    kernel().install(definePlugin({ id: 'guest', needs: { data: Data }, setup: () => {} }));
    await kernel().enable('porter');
    await kernel().enable('guest');
    await kernel().disable('guest');
    expect(heard).toEqual(expect.arrayContaining(['guest active', 'guest off']));
  });
});

describe('an uncaught exception', () => {
  const at = (...files: readonly string[]): Error =>
    Object.assign(new Error('out of nowhere'), {
      stack: ['Error: out of nowhere', ...files.map((file) => `    at f (${file}:1:1)`)].join('\n'),
    });
  const dependent = definePlugin({ id: 'dependent', needs: { source: Source }, setup: () => {} });
  const careless = definePlugin({
    id: 'careless',
    folder: '/far/careless',
    provides: { source: Source },
    setup: () => ({ source: { number: 1 } }),
  });
  const pillar = definePlugin({ id: 'pillar', folder: '/far/pillar', setup: () => {} });
  const states = ({ app }: TestForum): Record<string, string> =>
    Object.fromEntries(app.plugins.list().map(({ id, state }) => [id, state]));

  test('disables the plugin that threw it, with its dependents, and shows why, until it is enabled again', async () => {
    await using server = await startForum({
      plugins: [plainPlugin, careless, dependent, pillar],
      required: ['pillar'],
    });
    const deep = at(
      'node:internal/timers',
      'file:///far/pillar/service.ts',
      '/far/careless-not/x.ts',
      'file:///far/careless/node_modules/x/index.js',
      'node:events',
    );
    expect(await handleException(server.app, deep)).toBe(true);
    expect(states(server)).toEqual({ plain: 'active', careless: 'failed', dependent: 'off', pillar: 'active' });
    expect(server.app.plugins.list().find(({ id }) => id === 'careless')?.problem).toBe('out of nowhere');
    expect(server.lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        plugin: 'careless',
        message: expect.stringContaining('it is switched off in this process'),
      }),
    );
    await server.app.plugins.reconcile();
    expect(states(server)).toMatchObject({ careless: 'failed' });
    await server.app.plugins.enable('careless');
    expect(states(server)).toEqual({ plain: 'active', careless: 'active', dependent: 'active', pillar: 'active' });
  });

  test('is reported once a minute if leftovers of a disabled plugin keep throwing', async () => {
    await using server = await startForum({ plugins: [plainPlugin, careless] });
    const again = at('/far/careless/service.ts');
    for (let time = 0; time < 20; time++) expect(await handleException(server.app, again)).toBe(true);
    expect(
      server.lines
        .filter(({ plugin, level }) => plugin === 'careless' && level === 'error')
        .map(({ message }) => message),
    ).toEqual([
      expect.stringContaining('it is switched off in this process'),
      expect.stringContaining('something it left behind keeps throwing'),
    ]);
  });

  test('ends the process if no plugin is to blame, or a required one', async () => {
    await using server = await startForum({ plugins: [plainPlugin, careless, pillar], required: ['pillar'] });
    expect(await handleException(server.app, at('node:internal/timers', '/usr/lib/x.js'))).toBe(false);
    expect(await handleException(server.app, 'just a word')).toBe(false);
    expect(await handleException(server.app, at('/far/pillar/service.ts'))).toBe(false);
    expect(states(server)).toEqual({ plain: 'active', careless: 'active', pillar: 'active' });
  });
});

describe('an unhandled rejection', () => {
  test('is attributed to the plugin whose folder is in its stack', () => {
    kernel().install(definePlugin({ id: 'careless', folder: import.meta.dirname, setup: () => {} }));
    logUnhandledRejection(running.app, new Error('forgotten'));
    expect(running.lines.at(-1)).toMatchObject({
      level: 'error',
      plugin: 'careless',
      message: expect.stringContaining('was not awaited'),
    });
    expect(running.app.supervisor.report()).toContainEqual(
      expect.objectContaining({
        plugin: 'careless',
        task: 'promises that are not awaited',
        failures: 1,
        lastError: 'forgotten',
      }),
    );
  });

  test('is logged as unknown if no plugin can be identified', () => {
    logUnhandledRejection(running.app, 'just a word');
    expect(running.lines.at(-1)).toMatchObject({ level: 'error', plugin: 'unknown' });
  });
});
