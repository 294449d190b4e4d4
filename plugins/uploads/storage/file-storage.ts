import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Milliseconds after which a file that nobody waits for any more, or that no row names, is a leftover. */
const LEFT_OVER = 24 * 3_600_000;

/**
 * The bytes of uploads, below the data directory: `files/<two letters>/<id>`, without any ending, and `incoming/` for
 * what is on its way.
 */
export class UploadFiles {
  readonly incoming: string;
  readonly #kept: string;

  constructor(folder: string) {
    this.incoming = join(folder, 'incoming');
    this.#kept = join(folder, 'files');
  }

  pathOf(id: string): string {
    return join(this.#kept, id.slice(-2), id);
  }

  /** Moves a file here; when this resolves it is on the disk. */
  async keep(id: string, from: string): Promise<void> {
    const file = await open(from, 'r+');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    const to = this.pathOf(id);
    await mkdir(join(to, '..'), { recursive: true });
    await rename(from, to);
  }

  /** Those that are gone already are left out. */
  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) await rm(this.pathOf(id), { force: true });
  }

  /** Removes what a crash left behind: files of which `known` does not name the id, and unfinished ones. */
  async sweep(now: number, known: (ids: readonly string[]) => Promise<ReadonlySet<string>>): Promise<void> {
    for (const name of await names(this.incoming)) await removeOld(join(this.incoming, name), now);
    for (const shard of await names(this.#kept)) {
      const ids = await names(join(this.#kept, shard));
      const rows = await known(ids);
      for (const id of ids) if (!rows.has(id)) await removeOld(join(this.#kept, shard, id), now);
    }
  }
}

const names = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);

async function removeOld(path: string, now: number): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && now - found.mtimeMs > LEFT_OVER) await rm(path, { force: true });
}
