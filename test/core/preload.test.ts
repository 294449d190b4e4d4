import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeSite, type OwnSite } from './fixtures/own-site.ts';

const PRELOAD = pathToFileURL(join(import.meta.dirname, '../../core/host/preload.ts')).href;
let folder: string;
let site: OwnSite;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-preload-'));
  await mkdir(join(folder, 'waiting'));
  await writeFile(join(folder, 'waiting/plugin.ts'), 'await new Promise(() => undefined);\nexport default {};\n');
  site = await makeSite(join(folder, 'waiting'), {});
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

test('a plugin that waits forever at the top of its module does not block the others', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', `await (await import('${PRELOAD}')).preload(200); console.log('went on');`],
    { env: { ...process.env, PARLEY_SITE: site.folder } },
  );
  expect(stdout).toBe('went on\n');
});
