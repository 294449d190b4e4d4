import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfiguredUrls } from 'parley-forum/plugins/installer';

interface StoredConfig extends ConfiguredUrls {
  /** ISO 8601; what makes the file a forum's rather than one of an attempt that broke off. */
  readonly installed_at?: string;
}

/**
 * DATA_DIR/config.json: where the data is and since when there is a forum. It holds passwords, so only the server's
 * user may read it.
 */
export class ConfigFile {
  readonly path: string;
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = dataDir;
    this.path = join(dataDir, 'config.json');
  }

  /** Since when there is a forum, as the file says; undefined where there is none or it is not a whole one. */
  async installedAt(): Promise<string | undefined> {
    return (await this.#read()).installed_at;
  }

  /** Adds to what the file holds. Readers find the old or the new content, never a part. */
  async add(more: StoredConfig): Promise<void> {
    const text = `${JSON.stringify({ ...(await this.#read()), ...more }, undefined, 2)}\n`;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(`${this.path}.new`, text, { mode: 0o600, flush: true });
    await rename(`${this.path}.new`, this.path);
  }

  async #read(): Promise<StoredConfig> {
    const text = await readFile(this.path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    return JSON.parse(text?.trim() || '{}') as StoredConfig;
  }
}
