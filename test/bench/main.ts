import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { browserPath } from '../../config/tools/suites.ts';
import { startChild } from './child.ts';
import { measureCold } from './crowd/cold.ts';
import { measureLife } from './crowd/life.ts';
import { measureBrowser } from './browser.ts';
import { createDatabase } from './database.ts';
import type { Prepared } from './data.ts';
import { measureFeeds } from './feeds.ts';
import { measureHostile } from './hostile.ts';
import { measureKernel } from './kernel.ts';
import { measureIsolation } from './isolation.ts';
import { measureDurable } from './durable.ts';
import { measureLarge, SMALL } from './large.ts';
import { measureLive } from './live.ts';
import { compare, comparisonTable, LEAST } from './against.ts';
import { generator } from './load.ts';
import { login, measureLists, measureReads } from './reads.ts';
import { met, report, table, type Result } from './report.ts';
import { measureDemo, measureStart } from './start.ts';
import { measureWebhooks } from './webhooks.ts';
import { measureWrites } from './writes.ts';

/**
 * `npm run bench [-- --quick] [-- --json] [-- --only feeds --only webhooks]`: every goal beside its figure, or those of
 * some parts. On DATABASE_URL's server, else embedded. With `--against <commit>` the same parts are measured of that
 * commit, too, in turns, and how much better this tree is stands beside each figure. With `--faults` nothing is measured; everything that may break
 * is broken instead (`faults/main.ts`).
 */
/** What a commit is compared by where nothing is named: what the bench measures within minutes. */
const COMPARED = [
  'kernel',
  'reads',
  'lists',
  'feeds',
  'writes',
  'streams',
  'webhooks',
  'durable',
  'starts',
  'cold',
  'life',
];
/** Parts that fill a forum of their own, or need none. */
const ALONE: ReadonlySet<string> = new Set(['demo', 'large', 'cold', 'life']);
if (process.argv.includes('--faults')) {
  await import('./faults/main.ts');
  process.exit();
}
const {
  values: { quick, json: asJson, only, against },
} = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true },
    against: { type: 'string' },
  },
});
if (against !== undefined) {
  const compared = await compare(against, only ?? COMPARED, { quick, say: (line) => console.log(line) });
  console.log(`\n${comparisonTable(compared)}`);
  process.exit(compared.some(({ ratio }) => ratio < LEAST) ? 1 : 0);
}
const say = (line: string): void => void (asJson || console.log(line));
const server = process.env['DATABASE_URL'];
const seconds = quick ? 4 : 12;

say(
  `${server ? 'PostgreSQL of DATABASE_URL, in a database of its own' : 'The embedded database; set DATABASE_URL to measure on PostgreSQL'}; load from ${generator}.`,
);
const dataDir = await mkdtemp(join(tmpdir(), 'parley-bench-'));
const database = server ? await createDatabase(server) : undefined;
const environment = { DATA_DIR: dataDir, DATABASE_URL: database?.url ?? '', REDIS_URL: '' };
const results: Result[] = [];
const add = async (what: string, measure: () => Promise<readonly Result[]>): Promise<void> => {
  if (only && !only.includes(what)) return;
  say(`measuring ${what} …`);
  const measured = await measure();
  results.push(...measured);
  say(table(measured));
};

/** The parts of one forum, filled once for all of them. */
async function measurePrepared(): Promise<void> {
  let prepared: Prepared;
  // The very first start strips the types of every module and keeps the compiler that does it, some 20 MiB, until it
  // ends.
  await (await startChild('forum.ts', environment))[Symbol.asyncDispose]();
  {
    await using forum = await startChild('forum.ts', environment);
    prepared = await forum.ask<Prepared>({ do: 'prepare', ...SMALL });
    const member = await login(forum.url);
    await add('reads', () => measureReads(forum, prepared, member, seconds));
    await add('lists', () => measureLists(forum, prepared, member, quick));
    await add('feeds', () => measureFeeds(forum, seconds));
    if (existsSync(browserPath(process.env, existsSync)))
      await add('browser', () => measureBrowser(forum.url, prepared));
    else say('There is no Chromium, so that no page is measured in it; set CHROMIUM_PATH.');
    await add('hostile', () => measureHostile(forum, prepared, member, quick));
    if (database) await add('writes', () => measureWrites(forum, database.url, prepared, member, seconds));
    await add('memory', async () => [
      {
        name: 'resident memory after the load',
        value: await forum.memory(),
        unit: 'MiB',
        ratio: undefined,
        goal: 220,
        atMost: true,
      },
    ]);
  }
  await add('streams', () => measureLive(environment, prepared));
  await add('webhooks', () => measureWebhooks(environment, prepared, quick));
  await add('isolation', () => measureIsolation(environment, prepared, quick ? 2 : 8));
  await add('kernel', () => measureKernel(environment));
  await add('durable', () => measureDurable(environment, seconds));
  await add('starts', () => measureStart(environment, database !== undefined));
}

try {
  if (!only?.every((part) => ALONE.has(part))) await measurePrepared();
  await add('demo', measureDemo);
  await add('large', () => measureLarge(server, quick));
  await add('cold', () => measureCold(server, quick));
  await add('life', () => measureLife(server, quick ? undefined : process.env['REDIS_URL'], quick ? 12 : 60));
} finally {
  await database?.drop();
  await rm(dataDir, { recursive: true, force: true });
}
console.log(asJson ? JSON.stringify(report(server ? 'postgresql' : 'embedded', results)) : `\n${table(results)}`);
if (results.some((result) => met(result) === false)) process.exitCode = 1;
