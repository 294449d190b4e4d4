import { readdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Milliseconds between two looks. */
const LOOK = 1_000;
/** Bytes of one file of the journal that is written ahead of the data. */
const SEGMENT = 16 * 1024 * 1024;
/** Bytes that must be free for anything to be written: two such files. */
const LEAST = 2 * SEGMENT;
const WRITES = /\b(?:insert\s+into|update|delete\s+from)\b/i;

/** One statement outside of any transaction. */
type Run = (statement: string) => Promise<{ readonly rows: readonly object[] }>;

export interface DiskSpace extends AsyncDisposable {
  /** Throws, with PostgreSQL's code for a full disk, when `statement` would write and there is no room. */
  check(statement: string): void;
}

/**
 * Keeps the embedded database from ever needing a new journal file on a full disk, which would stop it for good. It has
 * no process of its own that makes checkpoints: one is made here for each file that was filled, so that the files
 * before it are used again and do not pile up; and when the disk is nearly full, what would write is refused before it
 * has begun.
 */
export async function watchDiskSpace(run: Run, dataDir: string): Promise<DiskSpace> {
  let full = false;
  let looking: Promise<void> | undefined;
  const position = async (): Promise<number> => {
    const {
      rows: [row],
    } = await run(`select (pg_current_wal_lsn() - '0/0')::float8 as bytes`);
    return Math.floor((row as { readonly bytes: number }).bytes / SEGMENT);
  };
  let done = await position();
  const look = async (): Promise<void> => {
    const { bavail, bsize } = await statfs(dataDir);
    full = bavail * bsize < LEAST;
    const at = await position();
    if (at === done) return;
    await run('checkpoint');
    done = at;
  };
  const journal = readdirSync(join(dataDir, 'pg_wal')).filter((name) => /^[0-9A-F]{24}$/.test(name));
  // A new database has one file: it is given a second one while there is room, and `look` makes the checkpoint.
  if (journal.length < 2) await run('select pg_switch_wal()');
  await look();
  const timer = setInterval(() => {
    // What it cannot find out now, such as whether there is room on a disk that is gone, it asks again.
    looking ??= look()
      .catch(() => undefined)
      .finally(() => (looking = undefined));
  }, LOOK).unref();
  return {
    check(statement) {
      if (!full || !WRITES.test(statement)) return;
      throw Object.assign(new Error(`less than ${LEAST >> 20} MiB are free where ${dataDir} lies; make room there`), {
        code: '53100',
      });
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await looking;
    },
  };
}
