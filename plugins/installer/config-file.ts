import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfiguredUrls } from 'parley-forum/plugins/installer';

interface StoredConfig extends ConfiguredUrls {
  /** ISO 8601. Only a file with this belongs to a forum; one without it was left by a failed attempt. */
  readonly installed_at?: string;
}

/**
 * DATA_DIR/config.json: where the data is and when the forum was installed. It holds passwords, so only the server's
 * user may read it.
 */
export class ConfigFile {
  readonly path: string;
  readonly #folder: string;

  constructor(dataDir: string) {
    this.#folder = dataDir;
    this.path = join(dataDir, 'config.json');
  }

  /** When the forum was installed; undefined if there is no file or the installation did not finish. */
  async installedAt(): Promise<string | undefined> {
    return (await this.#read()).installed_at;
  }

  /** Merges values into the file. Readers see either the old or the new content, never a partial file. */
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
