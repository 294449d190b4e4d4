import { existsSync, statfsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beginRun } from '../../test/kit/server-database.ts';

/** The in-memory file system of Linux. */
const MEMORY = '/dev/shm';
/** The compile cache that all test processes share, like those of `npm start`. */
const COMPILED = join(import.meta.dirname, '../../node_modules/.cache/compiled');
/** Bytes that must be free there: each embedded database takes about 60 million, and several exist at a time. */
const ROOM = 4 * 1024 ** 3;

/**
 * Run by vitest once before all tests; vitest runs the returned function after them. Temporary files are kept in memory
 * if there is room: the thousand files of each embedded database take twenty times as long on a disk. On a server,
 * databases are copied from a single template.
 */
export default async function testRun(): Promise<() => Promise<void>> {
  process.env['NODE_COMPILE_CACHE'] ??= COMPILED;
  const ends = [await useMemory(), process.env['TEST_DATABASE_URL'] ? await beginRun() : undefined];
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
