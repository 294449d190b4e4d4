import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { migrationFiles, pluginFile, type AppConfiguration } from './loader.ts';
import { ROOT } from './root.ts';

/**
 * Imports the program and its plugins as one graph of modules, before anything imports them by itself. For every
 * `import()` Node walks all that the module needs, some 2,000 modules: forty plugins and their migrations one by one
 * were a seventh of a start. Never fails: whoever then imports what cannot be loaded tells of it.
 */
export async function preload(): Promise<void> {
  await importTogether().catch(() => undefined);
}

async function importTogether(): Promise<void> {
  const {
    default: { plugins },
  } = (await import(join(ROOT, 'config/forum.ts'))) as { default: AppConfiguration };
  const migrations = await Promise.all(
    ['kernel', ...plugins].map((id) => migrationFiles(join(ROOT, 'migrations', id))),
  );
  const files = [
    join(import.meta.dirname, 'serve.ts'),
    join(ROOT, 'config/environment.ts'),
    ...plugins.map((id) => pluginFile(ROOT, id)),
    ...migrations.flat(),
  ];
  const source = files.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};`).join('\n');
  await import(`data:text/javascript,${encodeURIComponent(source)}`);
}
