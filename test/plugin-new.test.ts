import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scaffold } from '../core/cli/commands/plugin-new.ts';

const ROOT = resolve(import.meta.dirname, '..');
const COPIED = ['core', 'plugins', 'migrations', 'themes', 'config', 'test/kit', 'package.json', 'tsconfig.json'];

let copy: string;
const written: string[] = [];

beforeAll(async () => {
  copy = await mkdtemp(join(tmpdir(), 'parley-new-'));
  for (const name of COPIED) await cp(join(ROOT, name), join(copy, name), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  await scaffold(copy, 'star-charts', { print: (line) => void written.push(line) });
});
afterAll(() => rm(copy, { recursive: true, force: true }));

/** Output and exit code of one of the project's own tools, run in the copy. */
function tool(file: string, ...words: string[]): Promise<{ code: number; output: string }> {
  const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], NO_COLOR: '1' };
  return new Promise((done) => {
    execFile(
      process.execPath,
      [join(ROOT, 'node_modules', file), ...words],
      { cwd: copy, env },
      (error, stdout, stderr) => {
        done({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr });
      },
    );
  });
}

/** That it passes its own test is checked in a site, where it is created from the same files (test/package). */
describe('a plugin created by the command', () => {
  test('is added to the configuration, after the others', async () => {
    expect(await readFile(join(copy, 'config/forum.ts'), 'utf8')).toMatch(
      /plugins: \[[^\]]*,\n    'star-charts',\n  \]/,
    );
    expect(written).toContain("added 'star-charts' to config/forum.ts");
  });

  test('leaves no template placeholder unfilled', async () => {
    for (const line of written.filter((one) => one.startsWith('wrote '))) {
      const path = line.slice('wrote '.length);
      expect(path).not.toContain('__');
      expect(await readFile(join(copy, path), 'utf8'), path).not.toMatch(/__\w+__/);
    }
  });

  test('compiles', async () => {
    const include = ['plugins', 'migrations', 'test/plugins'].map((folder) => `${folder}/star-charts`);
    await writeFile(join(copy, 'tsconfig.new.json'), JSON.stringify({ extends: './tsconfig.json', include }));
    const { output } = await tool('typescript-native/bin/tsc', '--noEmit', '-p', 'tsconfig.new.json');
    expect(output.split('\n').filter((line) => line.includes('star-charts'))).toEqual([]);
  });
});

test('an invalid or taken name writes nothing', async () => {
  const before = await readFile(join(copy, 'config/forum.ts'), 'utf8');
  const print = (): void => {
    throw new Error('nothing should be written');
  };
  await expect(scaffold(copy, 'Polls', { print })).rejects.toThrow('"Polls" is not a valid id');
  await expect(scaffold(copy, '../polls', { print })).rejects.toThrow('is not a valid id');
  await expect(scaffold(copy, 'star-charts', { print })).rejects.toThrow('plugins/star-charts already exists');
  // A plugin of the program, which the new one would silently replace.
  await rm(join(copy, 'plugins/events'), { recursive: true });
  await expect(scaffold(copy, 'events', { print })).rejects.toThrow('Parley already has a plugin "events"');
  expect(await readFile(join(copy, 'config/forum.ts'), 'utf8')).toBe(before);
});
