import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Browser files built by all test runs on this machine: their names change with their contents. */
const SHARED = join(tmpdir(), 'parley-test-assets');

/**
 * Links the browser files built by earlier tests into the data directory `folder`, so that only new files are built.
 */
export async function lendAssets(folder: string): Promise<void> {
  await mkdir(SHARED, { recursive: true });
  await mkdir(join(folder, 'assets'), { recursive: true });
  for (const name of await readdir(SHARED)) await symlink(join(SHARED, name), join(folder, 'assets', name));
}

/** Keeps the files built in `folder` for later tests; must be called when nothing serves them any more. */
export async function keepAssets(folder: string): Promise<void> {
  const entries = await readdir(join(folder, 'assets'), { withFileTypes: true });
  const whole = entries.filter(
    (entry) => entry.isDirectory() && existsSync(join(entry.parentPath, entry.name, '.built')),
  );
  // Another worker may already have kept the same one.
  for (const { name, parentPath } of whole)
    await rename(join(parentPath, name), join(SHARED, name)).catch(() => undefined);
}
