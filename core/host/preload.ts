import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inTime } from '../plugins/supervisor.ts';
import { findLocation, KERNEL_MIGRATIONS, migrationFiles } from './loader.ts';
import { ENVIRONMENT, EXTENSION, readConfiguration, SITE } from './site.ts';

/** Milliseconds after which what is imported goes on alone: a plugin that waits at its top level may never be done. */
const LOADING = 10_000;

/**
 * Imports the program and its plugins as one graph of modules, before anything imports them by itself. For every
 * `import()` Node walks all that the module needs, some 2,000 modules: forty plugins and their migrations one by one
 * were a seventh of a start. Never fails: whatever then imports what cannot be loaded reports it.
 */
export async function preload(milliseconds = LOADING): Promise<void> {
  await inTime(importTogether, milliseconds, 'the modules').catch(() => undefined);
}

async function importTogether(): Promise<void> {
  const { plugins } = await readConfiguration(SITE);
  const found = plugins.flatMap((entry) => (typeof entry === 'string' ? (findLocation(SITE, entry) ?? []) : []));
  const migrations = await Promise.all(
    [KERNEL_MIGRATIONS, ...found.map((location) => location.migrations)].map(migrationFiles),
  );
  const files = [
    join(import.meta.dirname, `serve${EXTENSION}`),
    ENVIRONMENT,
    ...found.map(({ module }) => module),
    ...migrations.flat(),
  ];
  const source = files.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)};`).join('\n');
  await import(`data:text/javascript,${encodeURIComponent(source)}`);
}
