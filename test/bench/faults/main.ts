import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { TestPlace } from '../../kit/database.ts';
import { createDatabase } from '../database.ts';
import { Copies } from './prepared.ts';
import { table, tryOut, type Ground, type Row } from './scenario.ts';
import { scenarios } from './scenarios.ts';

/**
 * `node test/bench/faults/main.ts [--short] [--on server] [--only killed …]`: everything that may break is broken, and
 * what was lost is counted; it must be nothing. On DATABASE_URL's server and REDIS_URL's Redis where they are set, and
 * on the embedded database, or on one of the two.
 */
const {
  values: { short, only, on: chosen },
} = parseArgs({
  args: process.argv.slice(2).filter((word) => word !== '--faults'),
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    on: { type: 'string' },
  },
});

const folderOnly = async (): Promise<TestPlace> => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-faults-'));
  return { url: undefined, folder, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }) };
};
const server = process.env['DATABASE_URL'];
const onServer = async (url: string): Promise<TestPlace> => {
  const [{ folder, remove }, database] = [await folderOnly(), await createDatabase(url)];
  return { url: database.url, folder, remove: () => database.drop().then(remove) };
};
const ground = (database: Ground['database'], place: Ground['place'], redis?: string): Ground => ({
  database,
  place,
  redis,
  long: !short,
  forums: new Copies(place),
});
const grounds = [
  ground('embedded', folderOnly),
  ...(server ? [ground('server', () => onServer(server), process.env['REDIS_URL'])] : []),
];

const rows: Row[] = [];
for (const on of grounds.filter(({ database }) => chosen === undefined || chosen === database)) {
  for (const scenario of scenarios.filter(({ id }) => !only || only.includes(id))) {
    const why = scenario.leftOut(on);
    if (why !== undefined) {
      console.log(`${scenario.name}, ${on.database}: left out, ${why}`);
      continue;
    }
    console.log(`${scenario.name}, ${on.database} …`);
    const { tried, lost } = await tryOut(scenario, on);
    for (const line of lost) console.log(`  LOST ${line}`);
    rows.push({
      name: scenario.name,
      database: on.database,
      tried,
      lost: lost.length === 0 ? 'nothing' : lost.join('; '),
    });
  }
  await on.forums[Symbol.asyncDispose]();
}
console.log(`\n${table(rows)}`);
if (rows.some(({ lost }) => lost !== 'nothing')) process.exitCode = 1;
