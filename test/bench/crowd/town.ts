import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild, type Child } from '../child.ts';
import { createDatabase } from '../database.ts';
import type { Load, Measured } from './generator.ts';
import type { Population } from './population.ts';

/** A forum of 2,000 discussions and 500 members in a database of its own, with bare Express and a load beside it. */
export interface Town extends AsyncDisposable {
  readonly population: Population;
  /** What the processes of the forum need to know. */
  readonly environment: Readonly<Record<string, string>>;
  readonly bare: Child;
  /** Throws where an answer was not good. */
  load(load: Load): Promise<Measured>;
}

export async function openTown(server: string | undefined): Promise<Town> {
  await using opened = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  opened.defer(() => rm(dataDir, { recursive: true, force: true }));
  const database = server ? await createDatabase(server) : undefined;
  opened.defer(() => database?.drop() ?? Promise.resolve());
  // At another address each process would begin to look through all posts for pictures that are the forum's own now.
  const BASE_URL = 'http://town.example';
  const environment = { BASE_URL, DATA_DIR: dataDir, DATABASE_URL: database?.url ?? '', REDIS_URL: '' };
  const population = await populated(environment);
  const bare = opened.use(await startChild('bare.ts'));
  const generator = opened.use(await startChild('crowd/generator.ts'));
  const resources = opened.move();
  return {
    population,
    environment,
    bare,
    async load(load) {
      const measured = await generator.ask<Measured>(load);
      if (measured.error !== undefined) throw new Error(`${measured.error}, so the figure would mean nothing`);
      return measured;
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

/**
 * Filled by a process that ends, so that what it needed for that is no part of what is measured, nor what it leaves to
 * be done later.
 */
async function populated(environment: Town['environment']): Promise<Population> {
  await using forum = await startChild('forum.ts', environment);
  const population = await forum.ask<Population>({ do: 'populate' });
  await forum.ask({ do: 'calm' });
  return population;
}
