import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Milliseconds after which a file without a request or without a row is a leftover. */
const LEFTOVER_AGE = 24 * 3_600_000;

/**
 * The bytes of uploads in the data directory: `files/<two letters>/<id>` without an extension, `<id>.<width>` beside it
 * for smaller copies, and `incoming/` for uploads in progress.
 */
export class FileStorage {
  readonly incoming: string;
  readonly #folder: string;

  constructor(folder: string) {
    this.incoming = join(folder, 'incoming');
    this.#folder = join(folder, 'files');
  }

  /** `width`: that of a smaller copy. */
  pathOf(id: string, width?: number): string {
    return join(this.#folder, id.slice(-2), width === undefined ? id : `${id}.${width}`);
  }

  /** Moves a file here; its content is synced to disk before this resolves. */
  async store(id: string, from: string, width?: number): Promise<void> {
    const file = await open(from, 'r+');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
    const to = this.pathOf(id, width);
    await mkdir(join(to, '..'), { recursive: true });
    await rename(from, to);
  }

  /** Removes files with their smaller copies. Missing files are ignored. */
  async remove(ids: readonly string[]): Promise<void> {
    for (const [folder, some] of Map.groupBy(ids, (id) => dirname(this.pathOf(id)))) {
      const gone = new Set(some);
      for (const name of await names(folder)) if (gone.has(idOf(name))) await rm(join(folder, name), { force: true });
    }
  }

  /** Removes leftovers of crashes: unfinished files and files whose id is not `known`. */
  async removeLeftovers(now: number, known: (ids: readonly string[]) => Promise<ReadonlySet<string>>): Promise<void> {
    for (const name of await names(this.incoming)) await removeIfOld(join(this.incoming, name), now);
    for (const shard of await names(this.#folder)) {
      const found = await names(join(this.#folder, shard));
      const rows = await known([...new Set(found.map(idOf))]);
      for (const name of found) if (!rows.has(idOf(name))) await removeIfOld(join(this.#folder, shard, name), now);
    }
  }
}

const idOf = (name: string): string => name.split('.', 1)[0]!;
const names = (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []);

async function removeIfOld(path: string, now: number): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found && now - found.mtimeMs > LEFTOVER_AGE) await rm(path, { force: true });
}
