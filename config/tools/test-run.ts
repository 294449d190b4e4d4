import { existsSync, statfsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beginRun } from '../../test/kit/server-database.ts';

/** A file system in memory, as Linux has it. */
const MEMORY = '/dev/shm';
/** Where all processes of the tests find what the first of them compiled, as those of `npm start` do. */
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/compiled');
/** Bytes that must be free there: each embedded database has some 60 million, and some exist at a time. */
const ROOM = 4 * 1024 ** 3;

/**
 * vitest runs it once before all tests, and what it returns after them. Temporary files are kept in memory where there
 * is room: the thousand files of each embedded database take twenty times as long on a disk. On a server, databases are
 * copies of one.
 */
export default async function testRun(): Promise<() => Promise<void>> {
  process.env['NODE_COMPILE_CACHE'] ??= COMPILED;
  const ends = [await useMemory(), process.env['TEST_DATABASE_URL'] ? beginRun() : undefined];
  return async () => {
    for (const end of ends) await end?.();
  };
}

async function useMemory(): Promise<(() => Promise<void>) | undefined> {
  if (!existsSync(MEMORY)) return undefined;
  const { bavail, bsize } = statfsSync(MEMORY);
  if (bavail * bsize < ROOM) return undefined;
  const folder = await mkdtemp(join(MEMORY, 'parley-tests-'));
  process.env['TMPDIR'] = folder;
  return () => rm(folder, { recursive: true, force: true });
}
