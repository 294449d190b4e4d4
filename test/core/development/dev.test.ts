import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createClient, type Answer } from 'parley-forum/testing';
import type { Problem } from '../../../core/host/development/problems.ts';
import type { ServerProcess } from '../fixtures/server-process.ts';
import { configurationOf, greetingPlugin, makeSite, VIEW, type DevelopmentSite } from './site.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const HTML = { accept: 'text/html' };

let site: DevelopmentSite;
let server: ServerProcess;
/** Events sent to browsers, the newest last. */
const heard: { readonly event: string; readonly data: unknown }[] = [];
const leaving = new AbortController();

beforeAll(async () => {
  site = await makeSite();
  server = await site.start();
  void listen();
});
afterAll(async () => {
  leaving.abort();
  await site?.[Symbol.asyncDispose]();
});

/** Runs even after a failed test. */
const restore = async (): Promise<void> => {
  await site.mend();
  await expect.poll(async () => [await words(), places()]).toEqual(['hello', []]);
  await notifiedOfThePage();
};

/** Waits until the last event is the page's version, so that no change is still to be announced. */
const notifiedOfThePage = async (): Promise<void> => {
  const { text } = await get('/greeting');
  await expect
    .poll(() => text.includes(`/_development/client.js?${heard.findLast(({ event }) => event === 'version')?.data}"`))
    .toBe(true);
};

/** Listens like the script of a page. */
async function listen(): Promise<void> {
  const { body } = await fetch(`${server.url}/_development/events`, { signal: leaving.signal });
  let text = '';
  try {
    for await (const chunk of body!.pipeThrough(new TextDecoderStream())) {
      const blocks = (text + chunk).split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) {
        const [, event = '', data = ''] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
        if (event !== '') heard.push({ event, data: JSON.parse(data) });
      }
    }
  } catch {
    // The test is over.
  }
}

const get = (path: string): Promise<Answer> => createClient(server.url).get(path, HTML);
const words = async (): Promise<string | undefined> => /class="words">([^<]*)/.exec((await get('/greeting')).text)?.[1];
const problems = (): readonly Problem[] =>
  (heard.findLast(({ event }) => event === 'problems')?.data ?? []) as readonly Problem[];
const places = (): readonly unknown[] => problems().map(({ message, file, line }) => ({ message, file, line }));

const WORDS = 'plugins/greeting/words.ts';

/**
 * Applies a change, and resolves when browsers were notified to reload and `look` returns what is expected. A file that
 * is slow to be written is picked up in steps, so the first reload may be too early.
 */
async function reloaded<T>(change: () => Promise<void>, look: () => T | Promise<T>, expected: T): Promise<void> {
  const before = heard.length;
  await change();
  await expect.poll(look).toEqual(expected);
  await expect.poll(() => heard.slice(before).some(({ event }) => event === 'version')).toBe(true);
}

describe('parley dev', () => {
  afterEach(restore);

  /** Saves a module, a view and a text; returns the longest time until one of them was shown, in milliseconds. */
  async function saveAll(): Promise<number> {
    expect(await words()).toBe('hello');
    const took: number[] = [];
    const measure = async (shown: string, change: () => Promise<void>): Promise<void> => {
      const start = performance.now();
      await reloaded(change, words, shown);
      took.push(performance.now() - start);
    };
    await measure('good day', () => site.write('plugins/greeting/words.ts', `export const words = 'good day';\n`));
    await measure('«good day»', () =>
      site.write('plugins/greeting/views/greeting.hbs', VIEW.replace('{{words}}', '«{{words}}»')),
    );
    await measure('Bye', () =>
      site.write('plugins/greeting/views/greeting.hbs', VIEW.replace('{{words}}', '{{t "greeting:end"}}')),
    );
    await measure('Farewell', () => site.write('plugins/greeting/locales/en.json', '{ "end": "Farewell" }'));
    return Math.max(...took);
  }
  test('shows changes to a module, a view and a text in under a second', async () => {
    let longest = await saveAll();
    // The machine may be busy with something else: one fast round is enough.
    for (let round = 1; round < 4 && longest >= 1_000; round++) {
      await restore();
      longest = Math.min(longest, await saveAll());
    }
    expect(longest).toBeLessThan(1_000);
  });

  test('detects each save of an editor that renames files, but none without changes', async () => {
    for (const text of ['one', 'two', 'three']) {
      await reloaded(() => site.replace('plugins/greeting/words.ts', `export const words = '${text}';\n`), words, text);
    }
    await notifiedOfThePage();
    const before = heard.length;
    await site.write('plugins/greeting/words.ts', `export const words = 'three';\n`);
    await site.write('plugins/greeting/node_modules/thing/index.js', 'export {};');
    await reloaded(() => site.replace('plugins/greeting/words.ts', `export const words = 'hello';\n`), words, 'hello');
    await notifiedOfThePage();
    expect(heard.slice(before).filter(({ event }) => event === 'version')).toHaveLength(1);
  });

  test('leaves untouched plugins alone, even those that share a module with a changed one', async () => {
    const provider = (text: string): string => `
      import { definePlugin } from 'parley-forum';
      import { pages, redirect } from 'parley-forum/plugins/web';
      const loaded = crypto.randomUUID();
      export default definePlugin({ id: '${text}', setup: (_services, plugin) =>
        plugin.route(pages, { method: 'get', path: '/${text}', can: 'public' })(() => redirect('/' + loaded)) });`;
    await site.write('plugins/untouched/plugin.ts', provider('untouched'));
    const target = async (): Promise<string | null> => (await get('/untouched')).headers.get('location');
    const own = expect.stringMatching(/^\/[0-9a-f-]{36}$/) as string;
    await reloaded(() => site.write('config/forum.ts', configurationOf('untouched')), target, own);
    const before = await target();
    await reloaded(() => site.write('plugins/greeting/words.ts', `export const words = 'hi';\n`), words, 'hi');
    expect(await target()).toBe(before);
    await reloaded(() => site.mend('config/forum.ts'), target, null);
  });

  test('restarts the dependents of a changed shared file', async () => {
    await site.write('plugins/greeting/api.ts', `export const tone = 'softly';\n`);
    await site.write(
      'plugins/reader/plugin.ts',
      `import { definePlugin } from 'parley-forum';
import { pages, redirect } from 'parley-forum/plugins/web';
import { tone } from '../greeting/api.ts';
export default definePlugin({ id: 'reader', setup: (_services, plugin) =>
  plugin.route(pages, { method: 'get', path: '/tone', can: 'public' })(() => redirect('/' + tone)) });`,
    );
    const target = async (): Promise<string | null> => (await get('/tone')).headers.get('location');
    await reloaded(() => site.write('config/forum.ts', configurationOf('reader')), target, '/softly');
    const change = (): Promise<void> => site.write('plugins/greeting/api.ts', `export const tone = 'loudly';\n`);
    await reloaded(change, target, '/loudly');
  });

  test('adds and removes plugins according to config/forum.ts', async () => {
    await site.write('plugins/reader/plugin.ts', greetingPlugin().replaceAll('greeting', 'reader'));
    await site.write('plugins/reader/words.ts', `export const words = 'read';\n`);
    await site.write('plugins/reader/views/reader.hbs', VIEW);
    const status = async (): Promise<number> => (await get('/reader')).status;
    await reloaded(() => site.write('config/forum.ts', configurationOf('reader')), status, 200);
    await reloaded(() => site.mend('config/forum.ts'), status, 404);
  });

  test('lists a plugin that was configured before it could be loaded, and starts it once it can be', async () => {
    const listed = async (): Promise<string> => /^latecomer .*$/m.exec(await site.parley('plugin', 'list'))?.[0] ?? '';
    const status = async (): Promise<number> => (await get('/latecomer')).status;
    await site.write('config/forum.ts', configurationOf('latecomer'));
    await expect
      .poll(listed)
      .toMatch(/^latecomer +failed +was not found: there is neither a folder plugins\/latecomer /);
    await expect(site.parley('plugin', 'check', 'latecomer')).rejects.toThrow(
      /latecomer cannot be checked:\n +was not found: there is neither a folder plugins\/latecomer /,
    );
    await site.write('plugins/latecomer/words.ts', `export const words = 'read';\n`);
    await site.write('plugins/latecomer/views/latecomer.hbs', VIEW);
    await reloaded(
      () => site.write('plugins/latecomer/plugin.ts', greetingPlugin().replaceAll('greeting', 'latecomer')),
      status,
      200,
    );
    await reloaded(() => site.mend('config/forum.ts'), status, 404);
  });

  test('reloads a migration, and reports one that ran before, or that ran but no longer exists', async () => {
    const migration = (down: string): string => `import { Migration } from 'parley-forum';
export default class Tables0001Create extends Migration {
  override up(): void { this.addSql('create table tables_first (id integer)'); }
  override down(): void { this.addSql('drop table ${down}'); }
}
`;
    const path = 'plugins/tables/migrations/0001-create.ts';
    await site.write(path, migration('misspelt'));
    await site.write(
      'plugins/tables/plugin.ts',
      `import { definePlugin } from 'parley-forum';
export default definePlugin({ id: 'tables', setup() {} });
`,
    );
    await site.write('config/forum.ts', configurationOf('tables'));
    const taken = (): number => server.output.split('"plugins":["tables"]').length - 1;
    await expect.poll(taken).toBe(1);
    expect(server.output).not.toContain('this migration ran before');

    await site.write(path, migration('tables_first'));
    await expect.poll(taken).toBe(2);
    expect(server.output).toContain('this migration ran before and does not run again');

    await site.remove(path);
    await expect.poll(taken).toBe(3);
    expect(server.output).toContain(
      'Tables0001Create\\" ran before, but the plugin no longer has a migration of that name',
    );
    expect(server.output.split('does not run again')).toHaveLength(2);
    await site.write(path, migration('tables_first'));
    await expect.poll(taken).toBe(4);
    await site.parley('plugin', 'disable', 'tables');
    await site.parley('plugin', 'uninstall', 'tables');
    await site.mend('config/forum.ts');
  });
});

describe('an error', () => {
  afterEach(restore);

  const PLUGIN = 'plugins/greeting/plugin.ts';
  const OWN = 'themes/own/templates/partials/empty.hbs';

  test.each([
    { wrong: 'a module that does not parse', at: WORDS, text: 'export const words = 1;\nconst = 2;\n', line: 2 },
    { wrong: 'an import of a missing file', at: WORDS, text: `\nimport './nowhere.ts';\n`, line: 2 },
    { wrong: 'a name that is not exported', at: WORDS, text: 'export const letters = 1;\n', file: PLUGIN, line: 3 },
    {
      wrong: 'a setup that throws',
      at: PLUGIN,
      text: greetingPlugin({ setup: `throw new Error('no ink');` }),
      line: 8,
    },
    { wrong: 'a configuration', at: 'config/forum.ts', text: 'export default {\n  plugins: [ = ],\n};\n', line: 2 },
    { wrong: 'a theme that breaks the rules', at: OWN, text: '<p>\n{{{words}}}\n</p>', line: 2 },
    { wrong: 'a theme’s data', at: 'themes/own/theme.json', text: '{\n  "id" own\n}\n', line: 2 },
  ])(
    'is reported with file and line while the previous version keeps running: $wrong',
    async ({ at, text, line, file = at }) => {
      await site.write(at, text);
      await expect.poll(places).toEqual([{ message: expect.any(String), file, line }]);
      expect(
        problems()[0]!
          .excerpt.find(({ number }) => number === line)!
          .text.trim(),
      ).not.toBe('');
      expect(await words()).toBe('hello');
      const mended = async (): Promise<unknown> => [await words(), places()];
      await reloaded(() => site.mend(at), mended, ['hello', []]);
    },
  );

  test.each([
    {
      wrong: 'a handler that throws',
      at: PLUGIN,
      text: greetingPlugin({ handler: `throw new Error('no <ink>');` }),
      shown: 'no &lt;ink&gt;\nplugins/greeting/plugin.ts:10',
    },
    {
      wrong: 'a view',
      at: 'plugins/greeting/views/greeting.hbs',
      text: '<p>\n{{nothing words}}\n</p>',
      shown:
        'plugins/greeting/views/greeting.hbs:2: unknown helper &quot;nothing&quot;; docs/reference/templates.md lists them\nplugins/greeting/views/greeting.hbs:2',
    },
  ])('is shown on the page that cannot be rendered: $wrong', async ({ at, text, shown }) => {
    await site.write(
      'plugins/greeting/views/greeting.hbs',
      VIEW.replace('{{words}}', '{{words}} {{t "greeting:end"}}'),
    );
    await expect.poll(words).toBe('hello Bye');
    const page = async (): Promise<unknown> => {
      const { status, text: html } = await get('/greeting');
      return [status, html];
    };
    await reloaded(() => site.write(at, text), page, [500, expect.stringContaining(shown)]);
    await expect.poll(places).toHaveLength(1);
    const mend = async (): Promise<void> => {
      await site.mend(at);
      await site.mend('plugins/greeting/views/greeting.hbs');
    };
    await reloaded(mend, words, 'hello');
    expect(places()).toEqual([]);
  });

  test('is reported with file and line while pages show the names of texts: a file of texts', async () => {
    const [view, texts] = ['plugins/greeting/views/greeting.hbs', 'plugins/greeting/locales/en.json'];
    await site.write(view, VIEW.replace('{{words}}', '{{words}} {{t "greeting:end"}}'));
    await expect.poll(words).toBe('hello Bye');
    const shown = async (): Promise<unknown> => [await words(), places()];
    const reported = expect.objectContaining({ file: texts, line: 2 });
    await reloaded(() => site.write(texts, '{\n  "end" Bye\n}\n'), shown, ['hello greeting:end', [reported]]);
    await site.mend(view);
    await reloaded(() => site.mend(texts), words, 'hello');
    expect(places()).toEqual([]);
  });

  test('does not prevent a plugin from restarting once its missing file exists', async () => {
    await site.write(WORDS, `export * from './letters.ts';\n`);
    await expect.poll(places).toHaveLength(1);
    await reloaded(() => site.write('plugins/greeting/letters.ts', `export const words = 'abc';\n`), words, 'abc');
    await reloaded(() => site.mend(WORDS), words, 'hello');
  });
});

describe('a page', () => {
  test('contains one additional script, with its own nonce, under an equally strict policy', async () => {
    const { headers, text } = await get('/greeting');
    const policy = headers.get('content-security-policy')!;
    const nonce = /'nonce-([^']+)'/.exec(policy)![1]!;
    const { data: version } = heard.findLast(({ event }) => event === 'version')!;
    expect(text).toContain(
      `<script type="module" src="/_development/client.js?${version as string}" nonce="${nonce}"></script>`,
    );
    expect(policy).toContain(`script-src 'nonce-${nonce}' 'strict-dynamic'`);
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(text.match(/<script/g)).toHaveLength(text.match(/<script[^>]*(nonce=|application\/(ld\+)?json)/g)!.length);
  });

  test('marks its slots and sends its timings', async () => {
    const { headers, text } = await get('/greeting');
    expect(text).toContain('<!--slot greeting.end--><!--/slot-->');
    expect(headers.get('server-timing')).toMatch(/^total;dur=.*, sql;dur=.*, greeting;dur=.*"greeting: handler"/);
  });

  test('is unchanged for clients that do not request HTML', async () => {
    const { status, text } = await createClient(server.url).get('/api/version', { accept: 'application/json' });
    expect([status, text]).toEqual([200, expect.not.stringContaining('_development')]);
  });
});

describe('npm start on the same site', () => {
  test('serves none of the development features', async () => {
    leaving.abort();
    await server.end('SIGTERM');
    const usual = await site.start(process.execPath, join(ROOT, 'core/main.ts'));
    const client = createClient(usual.url);
    for (const path of ['/_development/client.js', '/_development/events'])
      expect((await client.get(path)).status).toBe(404);
    const { headers, text } = await client.get('/greeting', HTML);
    expect(text).toContain('class="words">hello<');
    expect(text).not.toMatch(/_development|<!--/);
    expect(headers.get('server-timing')).toBeNull();
    await site.write(WORDS, `export const words = 'unseen';\n`);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await client.get('/greeting?again', HTML)).text).toContain('class="words">hello<');
  });

  test('refuses `parley dev` in production', async () => {
    const command = ['env', 'NODE_ENV=production', process.execPath, join(ROOT, 'core/main.ts'), 'dev'];
    await expect(site.start(...command)).rejects.toThrow('NODE_ENV is production');
  });
});
