import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { findLocation, KERNEL_MIGRATIONS, loadPlugins } from '../../core/host/loader.ts';
import { configurationFile, readConfiguration, SITE } from '../../core/host/site.ts';
import { migrateKernel } from './database.ts';
import { testLog, type Template } from './template.ts';

const { plugins } = await readConfiguration(SITE);

/** A database on which only the migrations of the kernel and of every configured plugin have run. */
export function migrated(): Template {
  const located = plugins.flatMap((entry) => (typeof entry === 'string' ? (findLocation(SITE, entry) ?? []) : []));
  const folders = [KERNEL_MIGRATIONS, ...located.map(({ migrations }) => migrations)].filter((path) =>
    existsSync(path),
  );
  return {
    name: digestOf([configurationFile(SITE)!, ...folders]),
    async fill(database) {
      await migrateKernel(database);
      for (const { id, migrations = [] } of await loadPlugins(SITE, plugins, testLog))
        await database.migrate(id, migrations);
    },
  };
}

/** A digest that changes with any of the files. */
function digestOf(paths: readonly string[]): string {
  const digest = createHash('sha256');
  for (const path of paths.flatMap(filesIn)) digest.update(`\0${path}\0`).update(readFileSync(path));
  return digest.digest('hex').slice(0, 12);
}

function filesIn(path: string): readonly string[] {
  if (statSync(path).isFile()) return [path];
  const entries = readdirSync(path, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
