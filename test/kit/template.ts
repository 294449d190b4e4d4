import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '../../core/host/databases/open.ts';
import { createLogger } from '../../core/host/logger.ts';
import type { Database } from '../../core/data/database.ts';
import type { Logger } from '../../core/logger.ts';

/** Silent unless TEST_LOG is set to a level. */
export const testLog: Logger = createLogger({ level: process.env['TEST_LOG'] ?? 'silent', format: 'json' });

/**
 * The initial contents of a test's database: created once and copied by each test. Embedded ones are cached on this
 * machine.
 */
export interface Template {
  /** Must differ for different contents. */
  readonly name: string;
  fill(database: Database): Promise<unknown>;
}

const EMPTY: Template = { name: 'empty', fill: () => Promise.resolve() };

const TEMPLATES = 'parley-pglite-';
/** Milliseconds after which a template that was not recreated belongs to code that is no longer tested. */
const STALE = 24 * 3_600_000;

/** The files of a closed embedded database; copying them takes a tenth of the time of creating one. */
export async function embeddedTemplate({ name, fill } = EMPTY): Promise<string> {
  const { version } = createRequire(import.meta.resolve('@electric-sql/pglite'))('../package.json') as {
    version: string;
  };
  const cached = join(tmpdir(), `${TEMPLATES}${version}-${name}`);
  if (existsSync(cached)) return cached;
  const folder = await mkdtemp(join(tmpdir(), 'parley-test-new-'));
  const database = await openDatabase({ folder, log: testLog });
  await fill(database);
  await database.close();
  // Several workers may get here at once: the first to rename wins, and the others use its copy.
  await rename(join(folder, 'database'), cached).catch(() => undefined);
  await rm(folder, { recursive: true, force: true });
  await clearTemplates();
  return cached;
}

async function clearTemplates(): Promise<void> {
  for (const name of (await readdir(tmpdir())).filter((entry) => entry.startsWith(TEMPLATES))) {
    const path = join(tmpdir(), name);
    const { mtimeMs } = await stat(path);
    if (Date.now() - mtimeMs > STALE) await rm(path, { recursive: true, force: true });
  }
}
