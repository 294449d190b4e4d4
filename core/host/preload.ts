import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { inTime } from '../plugins/supervisor.ts';
import { findLocation, KERNEL_MIGRATIONS, migrationFiles } from './loader.ts';
import { ENVIRONMENT, EXTENSION, readConfiguration, SITE } from './site.ts';

/**
 * Milliseconds before the start continues without the preloaded modules: a plugin with a top-level await may never
 * finish loading.
 */
const LOADING = 10_000;

/**
 * Imports the program and its plugins as a single module graph, before anything imports them separately. For every
 * `import()` Node walks the module's entire graph of some 2,000 modules: importing forty plugins and their migrations
 * one by one took a seventh of the startup time. Never fails: modules that cannot be loaded are reported by whatever
 * imports them later.
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
