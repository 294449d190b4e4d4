import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Data, defineAction, defineFilter, definePlugin, sql } from 'parley-forum';
import { startForum, type TestForum } from 'parley-forum/testing';
import type { Console } from '../../../core/cli/command.ts';
import { runCommand } from '../../../core/cli/run-command.ts';
import { plain, plainPlugin } from '../fixtures/plain.ts';

const greeted = defineFilter<string>('greeting.words');
const said = defineAction<{ readonly words: string }>('greeting.said');

const greeting = definePlugin({
  id: 'greeting',
  needs: { data: Data },
  hooks: [greeted, said],
  setup({ data }, plugin) {
    plugin.route(plain, { method: 'get', path: '/greeting/:name', can: 'public', summary: 'Says hello' })(
      async ({ params }) => {
        await data.all(sql`select pg_sleep(0.02)`);
        const words = await plugin.filter(greeted, `Hello ${params['name']}`, undefined);
        await plugin.emit(said, { words });
        return { words };
      },
    );
  },
});
const loud = definePlugin({
  id: 'loud',
  setup: (_services, plugin) => plugin.on(greeted, (words) => `${words}!`, { order: 5 }),
});
const polite = definePlugin({
  id: 'polite',
  setup: (_services, plugin) => plugin.on(greeted, (words) => `${words}, dear`, { order: -5 }),
});
const diary = definePlugin({
  id: 'diary',
  setup: (_services, plugin) => {
    plugin.on(said, () => new Promise((resolve) => setTimeout(resolve, 30)), { awaited: true });
    plugin.on(said, () => undefined, { durable: true });
  },
});
const plugins = [plainPlugin, greeting, loud, polite, diary];

let timed: TestForum;
let usual: TestForum;
beforeAll(async () => {
  timed = await startForum({ plugins, environment: { serverTiming: true } });
  usual = await startForum({ plugins });
});
afterAll(async () => {
  await timed?.[Symbol.asyncDispose]();
  await usual?.[Symbol.asyncDispose]();
});

const timingOf = async (forum: TestForum): Promise<string | null> =>
  (await forum.client().get('/greeting/ada')).headers.get('server-timing');
const milliseconds = (timing: string, metric: string): number =>
  Number(new RegExp(`(?:^|, )${metric};dur=([\\d.]+)`).exec(timing)?.[1]);

async function why(app: TestForum['app'], ...words: readonly string[]): Promise<string> {
  const lines: string[] = [];
  const console = { terminal: false, columns: 80, print: (line: string) => void lines.push(line), progress: () => {} };
  await runCommand(app, ['plugin', 'why', ...words], {
    ...console,
    secret: () => Promise.resolve(undefined),
  } as Console);
  return lines.join('\n');
}

describe('server timing', () => {
  test('is reported by plugin, with the SQL of the request', async () => {
    const timing = (await timingOf(timed))!;
    const shown = timing.replaceAll(/dur=[\d.]+/g, 'dur=…').split(', ');
    expect(shown).toEqual([
      'total;dur=…;desc="until the response begins"',
      expect.stringMatching(/^sql;dur=…;desc="\d+ statements"$/),
      'polite;dur=…;desc="polite: filter greeting.words"',
      'loud;dur=…;desc="loud: filter greeting.words"',
      'diary;dur=…;desc="diary: action greeting.said"',
      'greeting;dur=…;desc="greeting: handler"',
    ]);
    expect(milliseconds(timing, 'sql')).toBeGreaterThanOrEqual(20);
    expect(milliseconds(timing, 'diary')).toBeGreaterThanOrEqual(25);
    expect(milliseconds(timing, 'greeting')).toBeGreaterThanOrEqual(45);
    expect(milliseconds(timing, 'total')).toBeGreaterThanOrEqual(milliseconds(timing, 'greeting'));
  });

  test('is separate for each request, even for concurrent ones', async () => {
    const count = (timing: string | null): number => Number(/sql;[^,]*desc="(\d+) /.exec(timing ?? '')?.[1]);
    const alone = count(await timingOf(timed));
    const together = await Promise.all(Array.from({ length: 5 }, () => timingOf(timed)));
    expect(together.map(count)).toEqual(Array(5).fill(alone));
  });

  test('is neither sent nor recorded by default', async () => {
    expect([await timingOf(usual), usual.app.calls]).toEqual([null, undefined]);
  });
});

describe('parley plugin why', () => {
  test('lists the listeners of a filter in order, with their durations', async () => {
    await timingOf(timed);
    expect((await why(timed.app, 'greeting.words')).replaceAll(/\d+\.\d ms/g, '… ms').replaceAll(/ \d+$/gm, ' n')).toBe(
      `filter greeting.words, of greeting; a value passes through: each listener gets the result of the previous one
  1.  polite  order -5  … ms the last time, … ms on average over n
  2.  loud    order 5   … ms the last time, … ms on average over n

Raised by the last calls of GET /greeting/:name.`,
    );
  });

  test('distinguishes awaited listeners from jobs', async () => {
    expect(await why(usual.app, 'greeting.said')).toMatch(/1\. {2}diary {2}awaited .*\n {2}2\. {2}diary {2}as a job /);
  });

  test('shows the owner of a route and the hooks that its last calls raised', async () => {
    await timingOf(timed);
    for (const words of [['GET /greeting/:name'], ['get', '/greeting/ada?loud=1']]) {
      const text = await why(timed.app, ...words);
      expect(text).toMatch(
        /^GET \/greeting\/:name: Says hello\n {2}surface {2}plain \(\/\)\n {2}plugin {3}greeting\n {2}can {6}public\n {2}options {2}none\n/,
      );
      expect(text).toMatch(
        /\n {2}\d{4}-\S+Z {2}[\d.]+ ms, \d+ statements in [\d.]+ ms\n {4}polite {4}filter greeting.words/,
      );
      expect(text).toMatch(/Hooks that they raised:\n {2}filter greeting.words, [^]*\n {2}action greeting.said, /);
    }
  });

  test('explains that the hooks of a route are recorded only in development', async () => {
    await timingOf(usual);
    expect(await why(usual.app, 'GET /greeting/:name')).toMatch(/recorded by `parley dev`, .* SERVER_TIMING=1\.$/);
  });

  test('lists only the order, and why, if no server is running', async () => {
    const app = Object.create(usual.app, { serving: { value: false } }) as TestForum['app'];
    const text = await why(app, 'greeting.words');
    expect(text).toContain('1.  polite  order -5\n  2.  loud    order 5\n');
    expect(text).toMatch(/No server is running on this data: .* without timings\.$/);
    expect(text).not.toContain(' ms');
  });

  test('suggests similar names', async () => {
    await expect(why(usual.app, 'greeting.word')).rejects.toThrow('did you mean "greeting.words"?');
    await expect(why(usual.app, 'POST /greeting/:name')).rejects.toThrow('did you mean "GET /greeting/:name"?');
    await expect(why(usual.app, 'something-else-altogether')).rejects.toThrow('docs/reference/hooks.md');
  });
});
