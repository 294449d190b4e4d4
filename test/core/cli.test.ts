import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  defineCommand,
  definePlugin,
  defineToken,
  Environment,
  sealedStores,
  secretOption,
  Secrets,
  sql,
  Type,
  type Console,
} from 'parley-forum';
import { startForum, type TestForum } from 'parley-forum/testing';
import { terminalConsole } from '../../core/cli/console.ts';
import { runCommand } from '../../core/cli/run-command.ts';
import { delegate } from '../../core/cli/socket/client.ts';
import { serveCommands } from '../../core/cli/socket/server.ts';
import { createKeyring } from '../../plugins/secrets/keyring.ts';
import secrets from '../../plugins/secrets/plugin.ts';
import { loadKeyring } from '../../plugins/secrets/root-key.ts';

const ROOT = resolve(import.meta.dirname, '../..');

interface Bell {
  ring(times: number): string;
}
const Bell = defineToken<Bell>('Bell');
let vault = '';

const bell = definePlugin({
  id: 'bell',
  provides: { bell: Bell },
  needs: { secrets: Secrets },
  settings: Type.Object({
    'bell.sound': Type.String({ default: 'ding', maxLength: 10 }),
    'bell.volume': Type.Integer({ default: 5, minimum: 0, maximum: 10 }),
    'bell.code': Type.String({ 'x-secret': true }),
  }),
  commands: [
    defineCommand({
      name: 'bell ring',
      summary: 'Rings.',
      positional: ['times'],
      options: Type.Object({ times: Type.Integer({ minimum: 1 }) }),
      needs: { bell: Bell },
      run: ({ bell: rung }, { times }, console) => {
        console.progress('pulling the rope');
        if (times > 9) throw new Error('The rope broke.');
        console.print(rung.ring(times));
      },
    }),
    defineCommand({
      name: 'bell where',
      summary: 'Tells where it hangs.',
      options: Type.Object({}),
      needs: { environment: Environment },
      run: ({ environment }, _options, console) => console.print(environment.siteDir),
    }),
    defineCommand({
      name: 'bell lock',
      summary: 'Locks it.',
      options: Type.Object({ 'secret-word': Type.Optional(Type.String()) }),
      needs: { bell: Bell },
      run: async (_services, options, console) => {
        const word = await secretOption(console, 'secret-word', options['secret-word']);
        console.print(`locked with ${word.length} letters`);
      },
    }),
  ],
  setup({ secrets: keys }, plugin) {
    vault = keys.seal('kept by a plugin');
    plugin.extend(sealedStores, { reseal: async (again) => void (vault = again(vault)) });
    return { bell: { ring: (times) => Array(times).fill(plugin.settings['bell.sound']).join(' ') } };
  },
});
const broken = definePlugin({
  id: 'broken',
  setup: () => {
    throw new Error('no clapper');
  },
});

let site: TestForum;
let served: { close(): void };
beforeAll(async () => {
  site = await startForum({
    plugins: [secrets, bell, broken],
    settings: { 'bell.volme': 3, 'broken.clapper': 'oak' },
    required: ['bel'],
    environment: { secretKey: undefined },
  });
  served = await serveCommands(site.app);
});
afterAll(async () => {
  served.close();
  await site[Symbol.asyncDispose]();
});

function recorder(terminal = false, typed?: string): Console & { readonly lines: string[]; readonly steps: string[] } {
  const [lines, steps]: [string[], string[]] = [[], []];
  const secret = (label: string, piped: boolean): Promise<string | undefined> => {
    steps.push(`${label}${piped ? ', from standard input' : ''}?`);
    return Promise.resolve(typed);
  };
  return {
    terminal,
    columns: 80,
    lines,
    steps,
    print: (line) => void lines.push(line),
    progress: (line) => void steps.push(line),
    secret,
  };
}

async function run(...words: string[]): Promise<readonly string[]> {
  const console = recorder();
  await runCommand(site.app, words, console);
  return console.lines;
}

describe('settings from the command line', () => {
  test('accept JSON, or plain text if the setting is text', async () => {
    expect(await run('setting', 'set', 'bell.volume', '7')).toEqual(['bell.volume = 7']);
    expect(await run('setting', 'set', 'bell.sound', '42')).toEqual(['bell.sound = "42"']);
    expect(await run('setting', 'set', 'bell.sound', '"dong"')).toEqual(['bell.sound = "dong"']);
    expect(await run('setting', 'get', 'bell.sound')).toEqual(['dong']);
    expect(await run('bell', 'ring', '2')).toEqual(['dong dong']);
  });

  test('report an invalid value with key and reason, and change nothing', async () => {
    await expect(run('setting', 'set', 'bell.volume', '11')).rejects.toThrow('bell.volume: must be <= 10');
    await expect(run('setting', 'set', 'bell.volume', 'loud')).rejects.toThrow('bell.volume: must be integer');
    expect(await run('setting', 'get', 'bell.volume')).toEqual(['7']);
    await expect(run('setting', 'get', 'bell.sond')).rejects.toThrow(
      'There is no setting "bell.sond"; did you mean "bell.sound"?',
    );
  });

  test('accept secrets but never print them', async () => {
    expect(await run('setting', 'list', 'bell.code')).toEqual(['bell.code = (secret, not set)  (default)']);
    expect(await run('setting', 'set', 'bell.code', 'sesame')).toEqual(['bell.code is set.']);
    expect(await run('setting', 'list', 'bell.')).toEqual([
      'bell.code = (secret, set)',
      'bell.sound = "dong"',
      'bell.volume = 7',
    ]);
    await expect(run('setting', 'get', 'bell.code')).rejects.toThrow('is a secret and is never shown');
  });
});

describe('plugins from the command line', () => {
  test('are listed with the reason if one is not running', async () => {
    expect(await run('plugin', 'list')).toEqual([
      expect.stringMatching(/^secrets  on      [0-9.]+  Encrypts/),
      'bell     on',
      'broken   failed         no clapper',
    ]);
  });

  test('are enabled and disabled; meanwhile a command reports which plugin it lacks', async () => {
    expect(await run('plugin', 'disable', 'bell')).toEqual(['bell is off.']);
    await expect(run('bell', 'ring', '1')).rejects.toThrow(
      '"bell ring" needs the plugin "bell", which is off; switch it on with: npm run parley -- plugin enable bell',
    );
    expect(await run('plugin', 'enable', 'bell')).toEqual(['bell is on.']);
    await expect(run('plugin', 'enable', 'broken')).rejects.toThrow('no clapper');
    await expect(run('plugin', 'uninstall', 'bell')).rejects.toThrow('switch it off before uninstalling it');
  });
});

test('the doctor ticks what is fine and lists what is not', async () => {
  const console = recorder();
  await expect(runCommand(site.app, ['doctor'], console)).rejects.toThrow(/problems? found\.$/);
  expect(console.lines).toContain('✓ all migrations have run');
  expect(console.lines).toContain('✓ the data directory is writable');
  expect(console.lines).toContain('✗ plugin "broken" failed: no clapper');
  expect(console.lines).toContain('✗ config/forum.ts requires "bel", which is not installed; did you mean "bell"?');
  expect(console.lines).toContain(
    '· config/forum.ts sets bell.volme, which is not a setting of any installed plugin; did you mean "bell.volume"?',
  );
  expect(console.lines).not.toContainEqual(expect.stringContaining('broken.clapper'));
  expect(console.lines).toContain(
    '· settings in the database override config/forum.ts: bell.code, bell.sound, bell.volume',
  );
});

test('the doctor reports migrations of a later version', async () => {
  await site.app.data.all(sql`insert into migration (plugin, name) values ('kernel', 'Future')`);
  const console = recorder();
  await expect(runCommand(site.app, ['doctor'], console)).rejects.toThrow(/found\.$/);
  await site.app.data.all(sql`delete from migration where name = 'Future'`);
  expect(console.lines).not.toContain('✓ all migrations have run');
  expect(console.lines).toContainEqual(
    expect.stringContaining('✗ migrations of a later version have run: kernel: Future; install that version again'),
  );
});

test('migrate reports failed plugins', async () => {
  await expect(run('migrate')).rejects.toThrow('"broken" is not running: no clapper');
});

describe('a new root key', () => {
  const file = (name: string): string => join(site.app.environment.dataDir, name);

  test('re-encrypts settings and what plugins have sealed, and everything keeps working', async () => {
    const before = await readFile(file('secret.key'), 'utf8');
    await run('secret', 'rotate');
    expect(await readFile(file('secret.key'), 'utf8')).not.toBe(before);
    expect((await stat(file('secret.key'))).mode & 0o777).toBe(0o600);
    expect(site.app.settings.get('bell.code')).toBe('sesame');
    const started = await loadKeyring(undefined, site.app.environment.dataDir);
    expect(started.open(vault)).toBe('kept by a plugin');
  });

  test('completes an interrupted rotation at the next one', async () => {
    const left = 'left by a rotation that broke off';
    await writeFile(file('secret.key.next'), left, { mode: 0o600 });
    const crashed = await loadKeyring(undefined, site.app.environment.dataDir);
    expect(crashed.open(createKeyring(left).seal('written after the commit'))).toBe('written after the commit');
    expect(crashed.open(vault)).toBe('kept by a plugin');
    await run('secret', 'rotate');
    expect(await readFile(file('secret.key'), 'utf8')).toBe(left);
    expect(createKeyring(left).open(vault)).toBe('kept by a plugin');
    expect(site.app.settings.get('bell.code')).toBe('sesame');
  });
});

describe('with a running server', () => {
  const ask = (console: Console, ...argv: string[]): Promise<boolean> =>
    delegate(site.app.environment.dataDir, { argv, terminal: console.terminal, columns: 80 }, console);

  test('a command runs in the server, over a socket that only the owner of the data can access', async () => {
    expect((await stat(join(site.app.environment.dataDir, 'parley.sock'))).mode & 0o777).toBe(0o600);
    const console = recorder();
    expect(await ask(console, 'setting', 'set', 'bell.sound', 'clang')).toBe(true);
    expect(site.app.settings.get('bell.sound')).toBe('clang');
    expect(console.lines).toEqual(['bell.sound = "clang"']);
  });

  test('a command that needs no data is left to the caller', async () => {
    const console = recorder();
    expect(await ask(console, 'plugin', 'new', 'boats')).toBe(false);
    expect(await ask(console, 'bell', 'where')).toBe(false);
    expect(console.lines).toEqual([]);
  });

  test('the caller receives the output, the progress if on a terminal, and the failure', async () => {
    const [plain, terminal] = [recorder(), recorder(true)];
    await ask(plain, 'bell', 'ring', '2');
    await ask(terminal, 'bell', 'ring', '2');
    expect([plain.lines, plain.steps, terminal.steps]).toEqual([['clang clang'], [], ['pulling the rope']]);
    await expect(ask(plain, 'bell', 'ring', '10')).rejects.toThrow('The rope broke.');
    await expect(ask(plain, 'bel', 'ring')).rejects.toThrow("unknown command 'bel ring' (Did you mean bell ring?)");
  });

  test('the caller is prompted for a missing secret, or has it read from standard input, and it is never echoed', async () => {
    const console = recorder(true, 'open sesame');
    await ask(console, 'bell', 'lock');
    await ask(console, 'bell', 'lock', '--secret-word', '-');
    await ask(console, 'bell', 'lock', '--secret-word', 'abc');
    expect([console.lines, console.steps]).toEqual([
      ['locked with 11 letters', 'locked with 11 letters', 'locked with 3 letters'],
      ['secret word?', 'secret word, from standard input?'],
    ]);
    await expect(ask(recorder(), 'bell', 'lock')).rejects.toThrow(
      '--secret-word is missing: run this at a terminal, where you are asked for it, or add "--secret-word -"',
    );
    expect(JSON.stringify(site.lines)).not.toContain('sesame');
  });

  test('a console reads a secret from standard input only on request, and otherwise does not wait for one', async () => {
    const input = (given: string): NodeJS.ReadStream => Readable.from([given]) as unknown as NodeJS.ReadStream;
    expect(await terminalConsole(process.stdout, input('open sesame\nand more\n')).secret('secret word', true)).toBe(
      'open sesame',
    );
    expect(await terminalConsole(process.stdout, input('')).secret('secret word', true)).toBeUndefined();
    expect(await terminalConsole(process.stdout, input('open sesame\n')).secret('secret word', false)).toBeUndefined();
  });

  test('a second server with the same data leaves commands to the first', async () => {
    const second = await serveCommands(site.app);
    second.close();
    expect(await ask(recorder(), 'plugin', 'list')).toBe(true);
  });

  test('a separate process receives output, a one-line error and the exit code', async () => {
    const good = await parley('setting', 'set', 'hooks.slow', '900');
    expect(good).toEqual({ code: 0, output: 'hooks.slow = 900\n', errors: '' });
    expect(site.app.settings.get('hooks.slow')).toBe(900);
    const bad = await parley('setting', 'set', 'hooks.slow', 'soon');
    expect(bad).toEqual({ code: 1, output: '', errors: 'hooks.slow: must be integer\n' });
  });

  test('a stopped server handles no commands', async () => {
    served.close();
    expect(await ask(recorder(), 'plugin', 'list')).toBe(false);
  });
});

async function parley(...words: string[]): Promise<{ code: number; output: string; errors: string }> {
  const { dataDir, databaseUrl } = site.app.environment;
  const env = { PATH: process.env['PATH'], DATA_DIR: dataDir, ...(databaseUrl && { DATABASE_URL: databaseUrl }) };
  const child = spawn(process.execPath, ['core/cli/main.ts', ...words], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { code, output, errors };
}
