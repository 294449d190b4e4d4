import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { vacuumTables } from '../../core/host/databases/vacuum.ts';

let database: PGlite;
const run = async (statement: string) => (await database.exec(statement)).at(-1)!;
const known = async (table: string): Promise<unknown> =>
  (await run(`select reltuples::integer as rows from pg_class where relname = '${table}'`)).rows[0];

beforeAll(async () => {
  database = await PGlite.create();
  await run('create table busy (id integer primary key, text text); create table calm (id integer primary key)');
});
afterAll(() => database.close());

test('the embedded database analyzes tables that have changed a lot, and leaves the others alone', async () => {
  await run(`insert into busy select n, 'text' from generate_series(1, 5000) n; insert into calm values (1)`);
  expect(await vacuumTables(run)).toEqual(['public.busy']);
  expect([await known('busy'), await known('calm')]).toEqual([{ rows: 5000 }, { rows: -1 }]);
  expect(await vacuumTables(run)).toEqual([]);
});

test('the space of deleted rows is reused instead of the table growing', async () => {
  const size = async (): Promise<unknown> => (await run(`select pg_relation_size('busy') as bytes`)).rows[0];
  for (let round = 0; round < 2; round++) {
    await run(`update busy set text = text || '!'`);
    await vacuumTables(run);
  }
  const before = await size();
  for (let round = 0; round < 5; round++) {
    await run(`update busy set text = text || '!'`);
    expect(await vacuumTables(run)).toEqual(['public.busy']);
  }
  expect(await size()).toEqual(before);
});
