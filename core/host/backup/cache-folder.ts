import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What marks a folder for programs that make backups: its content can be made again (https://bford.info/cachedir/). */
export const CACHE_TAG = 'CACHEDIR.TAG';
const SIGNATURE = 'Signature: 8a477f597d28d172789f06886806bc55\n';

/** Makes a folder of files that can be made again, so that no backup holds them. */
export async function makeCacheFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await writeFile(join(path, CACHE_TAG), SIGNATURE);
}
