import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import configuration from '../../config/forum.ts';
import { loadPlugins } from '../../core/host/loader.ts';
import { migrateKernel } from './database.ts';
import { testLog, type Template } from './template.ts';

/** A database on which the migrations of the kernel and of every configured plugin have run, and nothing else has. */
export function migrated(root: string): Template {
  return {
    name: digestOf([join(root, 'migrations'), join(root, 'config/forum.ts')]),
    async fill(database) {
      await migrateKernel(database);
      for (const { id, migrations = [] } of await loadPlugins(root, configuration.plugins, testLog))
        await database.migrate(id, migrations);
    },
  };
}

/** Changes with any of the files. */
function digestOf(paths: readonly string[]): string {
  const digest = createHash('sha256');
  for (const path of paths.flatMap(filesIn)) digest.update(`\0${path}\0`).update(readFileSync(path));
  return digest.digest('hex').slice(0, 12);
}

function filesIn(path: string): readonly string[] {
  if (path.endsWith('.ts')) return [path];
  const entries = readdirSync(path, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
