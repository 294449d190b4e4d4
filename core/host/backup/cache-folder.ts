import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Marks a folder whose content can be regenerated, so that backup programs skip it (https://bford.info/cachedir/). */
export const CACHE_TAG = 'CACHEDIR.TAG';
const SIGNATURE = 'Signature: 8a477f597d28d172789f06886806bc55\n';

/** Creates a cache folder, which is left out of backups. */
export async function makeCacheFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await writeFile(join(path, CACHE_TAG), SIGNATURE);
}
