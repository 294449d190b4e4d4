import { cp, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { dependenciesOf, installSite, run, startSite, succeed, type InstalledSite, type RunningSite } from './site.ts';

/** Everything here uses only the packed program, npm and a shell. */
let site: InstalledSite;
let running: RunningSite;
beforeAll(async () => {
  site = await installSite();
  await site.command('plugin', 'new', 'lists');
  running = await startSite(site.folder, 'demo');
}, 300_000);
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  await site?.[Symbol.asyncDispose]();
});

const configuration = (): Promise<string> => readFile(join(site.folder, 'config/forum.ts'), 'utf8');
const get = (path: string): Promise<Response> => fetch(running.url + path);
const { version } = JSON.parse(await readFile(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string;
};
const manifest = (name: string, more: object = {}): object => ({
  name: `parley-plugin-${name}`,
  version: '1.0.0',
  parley: { plugin: './plugin.js' },
  peerDependencies: { 'parley-forum': `^${version}` },
  ...more,
});
/** A plugin in plain JavaScript that responds with the number of rows in its table. */
const bell = (answer: string): string => `
import { Data, definePlugin, HttpError, sql } from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
export default definePlugin({
  id: 'bell',
  needs: { data: Data },
  setup({ data }, plugin) {
    plugin.route(api, { method: 'get', path: '/bell', can: 'public' })(async () => ({
      answer: ${JSON.stringify(answer)},
      rows: (await data.all(sql\`select * from bell_ring\`)).length,
    }));
    plugin.route(api, { method: 'get', path: '/bell/crack', can: 'public' })(() => {
      throw new HttpError(418, 'The bell has a crack');
    });
  },
});
`;
const migration = (name: string, up: string, down: string): string => `
import { Migration } from 'parley-forum';
export default class ${name} extends Migration {
  up() { this.addSql(${JSON.stringify(up)}); }
  down() { this.addSql(${JSON.stringify(down)}); }
}
`;
const CREATE = {
  '0001': migration('Bell0001', 'create table bell_ring (id integer primary key)', 'drop table bell_ring'),
};
const bellFiles = (answer: string): Record<string, string> => ({
  'plugin.js': bell(answer),
  'migrations/0001-create.js': CREATE['0001'],
});

/** The files that later versions add to those of the first. */
const ring = {
  'migrations/0002-ring.js': migration('Bell0002', 'insert into bell_ring values (7)', 'delete from bell_ring'),
};

/** Reads pages while `work` runs; returns the status codes of failed requests. */
async function whileReading(work: () => Promise<unknown>): Promise<readonly number[]> {
  const failed: number[] = [];
  let read = 0;
  const done = new AbortController();
  const readers = Array.from({ length: 4 }, async () => {
    while (!done.signal.aborted) {
      const { status } = await get('/');
      read++;
      if (status !== 200) failed.push(status);
      // Constant requests would slow down the command that runs meanwhile.
      await sleep(20);
    }
  });
  await work().finally(() => done.abort());
  await Promise.all(readers);
  expect(read).toBeGreaterThan(20);
  return failed;
}

describe('a site using the packed program', () => {
  test('serves the demo, and a TypeScript plugin from its own folder, which the start names', async () => {
    expect(await (await get('/')).text()).toContain('</html>');
    expect(running.log()).toMatch(/"plugins":\["lists"\].*"listening"/);
    expect(await (await get('/api/lists')).json()).toMatchObject({ success: true, entries: [] });
  });

  test.runIf(FULL)('type-checks that plugin, and passes its test', async () => {
    await succeed(site.folder, 'npm', 'run', 'check');
    expect(await succeed(site.folder, 'npm', 'test', '--', 'lists')).toContain('4 passed');
  });
});

test('a theme created in the site’s own folder can be used', async () => {
  await site.command('theme', 'new', 'quay');
  expect(await (await get('/')).text()).not.toContain('quay-foot');
  expect(await site.command('theme', 'use', 'quay')).toContain('quay is in use.');
  expect(await (await get('/')).text()).toMatch(/\/assets\/t\/quay@[^]* class="quay-foot"/);
});

test('help refers to commands the way a site runs them', async () => {
  expect((await site.parley('--help')).output).toContain('Usage: npx parley COMMAND');
  expect((await site.parley('plugin', 'lst')).output).toContain('See: npx parley --help');
});

describe('a package in JavaScript without types', () => {
  test('is added to the running site and serves requests immediately, without failing any', async () => {
    const tarball = await site.pack(manifest('bell'), bellFiles('ding'));
    expect(await whileReading(() => site.command('plugin', 'add', tarball))).toEqual([]);
    expect(await (await get('/api/bell')).json()).toMatchObject({ answer: 'ding', rows: 0 });
    expect(await configuration()).toContain("'parley-plugin-bell',");
    expect(running.log()).toContain('"action":"plugin.installed"');
  });

  test('is replaced by a version that adds a migration and bundles its own program, without failing a request', async () => {
    const tarball = await site.pack(
      manifest('bell', {
        version: '1.1.0',
        bundleDependencies: ['parley-forum'],
        dependencies: { 'parley-forum': '0.0.1' },
      }),
      {
        ...bellFiles('clang'),
        ...ring,
        'node_modules/parley-forum/package.json':
          '{"name":"parley-forum","version":"0.0.1","type":"module","exports":"./index.js"}',
        'node_modules/parley-forum/index.js':
          'export const definePlugin = () => ({}); export class HttpError extends Error {}',
      },
    );
    expect(await whileReading(() => site.command('plugin', 'add', tarball))).toEqual([]);
    expect(await (await get('/api/bell')).json()).toMatchObject({ answer: 'clang', rows: 1 });
  });

  test('throws errors that the program recognizes, whichever copy of it the package contains', async () => {
    expect((await get('/api/bell/crack')).status).toBe(418);
  });
});

describe('an unusable package', () => {
  test.each([
    [
      'was made for other versions',
      { peerDependencies: { 'parley-forum': '^99.0.0' } },
      bell('x'),
      /\[rattle\] 1\.0\.0 is made for parley-forum \^99\.0\.0, but this is/,
    ],
    ['is TypeScript', { parley: { plugin: './plugin.ts' } }, bell('x'), /is TypeScript inside node_modules/],
  ])('that %s is refused with the reason, and changes nothing', async (_why, more, text, reason) => {
    const before = [await configuration(), await dependenciesOf(site.folder)];
    const module = (more as { parley?: { plugin: string } }).parley?.plugin ?? './plugin.js';
    const tarball = await site.pack(manifest('rattle', more), { [module]: text });
    const { code, output } = await site.parley('plugin', 'add', tarball);
    expect(output).toMatch(reason);
    expect(code).toBe(1);
    expect([await configuration(), await dependenciesOf(site.folder)]).toEqual(before);
    expect((await get('/')).status).toBe(200);
  });

  test('that throws when it is imported leaves the running version in place', async () => {
    const tarball = await site.pack(manifest('bell', { version: '2.0.0' }), {
      'plugin.js': "\nthrow new Error('torn');",
    });
    const { output } = await site.parley('plugin', 'add', tarball);
    expect(output).toContain('[bell] torn (plugin.js:2)');
    expect(await (await get('/api/bell')).json()).toMatchObject({ answer: 'clang', rows: 1 });
    expect((await site.parley('plugin', 'list')).output).toMatch(/^bell +on/m);
  });
});

describe('the examples', () => {
  const EXAMPLES = join(import.meta.dirname, '../../docs/examples');
  /** Copies an example out of the repository, as if into its author's folder. */
  const copy = async (name: string): Promise<string> => {
    const folder = join(site.folder, name);
    await cp(join(EXAMPLES, name), folder, {
      recursive: true,
      filter: (path) => !path.includes(`${name}/node_modules`),
    });
    await symlink(join(site.folder, 'node_modules'), join(folder, 'node_modules'));
    return folder;
  };
  /** Runs its test, packs it, which compiles it, and adds it to the site. */
  const add = async (folder: string): Promise<void> => {
    await succeed(folder, 'npm', 'test');
    const [packed] = /\S+\.tgz(?=: )/.exec(await succeed(folder, 'npm', 'run', 'pack'))!;
    await site.command('plugin', 'add', resolve(folder, packed));
  };

  test('polls compiles, passes its test, is packed and added, is checked as TypeScript, and is removed', async () => {
    const folder = await copy('parley-plugin-polls');
    // Packing compiles as well, without the test.
    if (FULL) await succeed(folder, 'npm', 'run', 'check');
    await add(folder);
    const polls = async (): Promise<unknown> =>
      ((await (await get('/api/discussions?limit=1')).json()) as any).discussions[0].poll;
    expect(await polls()).toBeNull();
    expect((await site.parley('plugin', 'check')).output).toContain('parley-plugin-polls is compatible.');
    await site.command('plugin', 'remove', 'polls', '--data');
    expect(await polls()).toBeUndefined();
  }, 300_000);

  test('word-filter passes its test, is compiled, packed and added', async () => {
    await add(await copy('parley-plugin-word-filter'));
    expect((await site.parley('plugin', 'list')).output).toMatch(/^word-filter +on/m);
  }, 300_000);
});

describe('removing a package', () => {
  let first: string;
  beforeAll(async () => {
    first = await site.pack(manifest('bell'), bellFiles('again'));
  });

  test('removes its routes and keeps its data, and both are back when it is added again', async () => {
    expect(await site.command('plugin', 'remove', 'bell')).toMatch(/To remove that, too, .* plugin remove bell --data/);
    expect((await get('/api/bell')).status).toBe(404);
    expect(await configuration()).not.toContain('bell');
    expect(await dependenciesOf(site.folder)).not.toHaveProperty('parley-plugin-bell');
    await site.command('plugin', 'add', first);
    expect(await (await get('/api/bell')).json()).toMatchObject({ answer: 'again', rows: 1 });
  });

  test('with --data is refused if a later version created part of the data, and the plugin keeps running', async () => {
    const { code, output } = await site.parley('plugin', 'remove', 'bell', '--data');
    expect(output).toMatch(
      /"Bell0002" ran before, but the plugin no longer has a migration of that name: .* install the version that has it/,
    );
    expect(code).toBe(1);
    expect(await (await get('/api/bell')).json()).toMatchObject({ answer: 'again', rows: 1 });
    expect(await configuration()).toContain("'parley-plugin-bell',");
  });

  test('rejects a folder, and suggests the right name for a misspelt one', async () => {
    expect((await site.parley('plugin', 'remove', 'bel')).output).toContain('did you mean "bell"?');
    expect((await site.parley('plugin', 'remove', 'lists')).output).toMatch(
      /"lists" is not a package.* plugin uninstall lists/,
    );
  });

  test('with --data leaves nothing behind', async () => {
    const later = await site.pack(manifest('bell', { version: '1.2.0' }), { ...bellFiles('later'), ...ring });
    await site.command('plugin', 'add', later);
    await site.command('plugin', 'remove', 'bell', '--data');
    // Later versions insert a row themselves.
    await site.command('plugin', 'add', first);
    expect(await (await get('/api/bell')).json()).toMatchObject({ answer: 'again', rows: 0 });
    expect(running.log()).toContain('"action":"plugin.removed"');
  });

  test.runIf(FULL)(
    'and adding a version that does not start leaves it removed, even in the running server',
    async () => {
      await site.command('plugin', 'remove', 'bell', '--data');
      const torn = bell('x').replace('setup({ data }, plugin) {', "setup({ data }, plugin) { throw new Error('torn');");
      const { output } = await site.parley('plugin', 'add', await site.pack(manifest('bell'), { 'plugin.js': torn }));
      expect(output).toContain('[bell] torn (plugin.js:');
      expect((await site.parley('plugin', 'list')).output).not.toMatch(/^bell/m);
    },
  );
});

describe('a newly created package', () => {
  /** A browser module that uses the types provided by the program. */
  const element = (answer: string): string => `import { api, define } from '@forum/client';
class DrawElement extends HTMLElement {
  async connectedCallback(): Promise<void> {
    const { winner } = await api<{ readonly winner: string }>('/api/raffle/draw');
    this.textContent = ${answer};
  }
}
define('x-raffle-draw', DrawElement);
`;

  test.runIf(FULL)(
    'compiles, including a browser module',
    async () => {
      const folder = join(site.folder, 'parley-plugin-raffle');
      await site.command('plugin', 'new', 'raffle', '--package');
      // The result of `npm install`, half a minute sooner.
      await symlink(join(site.folder, 'node_modules'), join(folder, 'node_modules'));
      await mkdir(join(folder, 'client'));
      await writeFile(join(folder, 'client/x-raffle-draw.ts'), element('winner'));
      const { code, output } = await run(folder, 'npm', 'run', 'check');
      expect(code, output).toBe(0);
    },
    300_000,
  );

  test.runIf(FULL)(
    'fails every check if it misuses the browser API of the program',
    async () => {
      const folder = join(site.folder, 'parley-plugin-raffle');
      await writeFile(join(folder, 'client/x-raffle-draw.ts'), element('winner.name'));
      const wrong = /client\/x-raffle-draw\.ts[(:]5.*TS2339.*'name'/;
      expect(await run(folder, 'npm', 'run', 'check')).toMatchObject({ code: 1, output: expect.stringMatching(wrong) });
      expect(await run(folder, 'npm', 'run', 'pack')).toMatchObject({ code: 1, output: expect.stringMatching(wrong) });
      const inFolder = join(site.folder, 'plugins/lists/client/x-lists-draw.ts');
      await mkdir(dirname(inFolder));
      await writeFile(inFolder, element('winner.name'));
      const { code, output } = await site.parley('plugin', 'check', 'lists');
      await rm(dirname(inFolder), { recursive: true });
      expect(output).toMatch(/plugins\/lists\/client\/x-lists-draw\.ts.*TS2339/);
      expect(code).toBe(1);
    },
    300_000,
  );
});

test.runIf(FULL)(
  'a package whose module throws is not packed, and its author is shown where',
  async () => {
    const folder = join(site.folder, 'parley-plugin-torn');
    await site.command('plugin', 'new', 'torn', '--package');
    await symlink(join(site.folder, 'node_modules'), join(folder, 'node_modules'));
    const service = join(folder, 'src/service.ts');
    await writeFile(service, `throw new Error('torn');\n${await readFile(service, 'utf8')}`);
    const { code, output } = await run(folder, 'npm', 'run', 'pack');
    expect(output).toMatch(/dist\/plugin\.js cannot be imported: torn \(dist\/service\.js:\d+\)/);
    expect(code).toBe(1);
    expect((await readdir(folder)).filter((name) => name.endsWith('.tgz'))).toEqual([]);
  },
  300_000,
);

describe('a folder plugin that becomes a package', () => {
  const packed = `
import { definePlugin } from 'parley-forum';
import { api } from 'parley-forum/plugins/api';
export default definePlugin({
  id: 'lists',
  setup(_services, plugin) {
    plugin.route(api, { method: 'get', path: '/lists', can: 'public' })(() => ({ answer: 'packed' }));
  },
});
`;

  test.runIf(FULL)('takes precedence while it exists, and is replaced by the package once it is gone', async () => {
    const tarball = await site.pack(manifest('lists'), { 'plugin.js': packed });
    expect((await site.parley('plugin', 'add', tarball)).output).toMatch(
      /from the folder .*plugins\/lists; remove that one/,
    );
    expect((await site.parley('plugin', 'add', 'plugins/lists')).output).toContain('are loaded on the next start');
    await rename(join(site.folder, 'plugins/lists'), join(site.folder, 'lists-that-was'));
    await site.command('plugin', 'add', tarball);
    expect(await (await get('/api/lists')).json()).toMatchObject({ answer: 'packed' });
    expect(await configuration()).toContain("'parley-plugin-lists',");
    expect(await configuration()).not.toContain("'lists'");
  });
});
