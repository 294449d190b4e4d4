import { readdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { join } from 'node:path';

/** Milliseconds between checks. */
const LOOK = 1_000;
/** Bytes per file of the write-ahead log. */
const SEGMENT = 16 * 1024 * 1024;
/** Bytes of free space required for writing: two WAL files. */
const LEAST = 2 * SEGMENT;
const WRITES = /\b(?:insert\s+into|update|delete\s+from)\b/i;

/** Runs a single statement outside of any transaction. */
type Run = (statement: string) => Promise<{ readonly rows: readonly object[] }>;

export interface DiskSpace extends AsyncDisposable {
  /** Throws, with PostgreSQL's SQLSTATE for a full disk, if `statement` would write and there is no room. */
  check(statement: string): void;
}

/**
 * Keeps the embedded database from needing a new WAL file on a full disk, which would stop it for good. It has no
 * background process for checkpoints, so one is made here whenever a WAL file has filled up: earlier files are then
 * recycled instead of piling up. When the disk is nearly full, writing statements are rejected before they start.
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
  // A new database has one WAL file: add a second one while there is room; `look` makes the checkpoint.
  if (journal.length < 2) await run('select pg_switch_wal()');
  await look();
  const timer = setInterval(() => {
    // A check that fails, for example because the disk is gone, is repeated at the next tick.
    looking ??= look()
      .catch(() => undefined)
      .finally(() => (looking = undefined));
  }, LOOK).unref();
  return {
    check(statement) {
      if (!full || !WRITES.test(statement)) return;
      throw Object.assign(
        new Error(`less than ${LEAST >> 20} MiB are free on the disk of ${dataDir}; free some space`),
        {
          code: '53100',
        },
      );
    },
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await looking;
    },
  };
}
