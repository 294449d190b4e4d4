import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { fromBuffer, type Entry, type Options, type ZipFile } from 'yauzl';
import { Data, sql } from 'parley-forum';
import type { Client, TestForum } from 'parley-forum/testing';

export const PASSWORD = 'Plain-Sailing-42';

/** Confirms the member’s password, as the pages of this plugin require. */
export async function confirm(client: Client): Promise<void> {
  await client.csrf('/login/confirm');
  expect((await client.submit('/login/confirm', { password: PASSWORD })).status).toBe(303);
}

/** The member's data as text, by file name in the archive. */
export async function exported(app: TestForum, client: Client): Promise<ReadonlyMap<string, string>> {
  const token = await client.csrf('/settings/privacy');
  const answer = await fetch(`${app.url}/settings/privacy/export`, {
    method: 'POST',
    redirect: 'manual',
    body: new URLSearchParams({ _csrf: token }),
    headers: { cookie: [...client.cookies].map((pair) => pair.join('=')).join('; ') },
  });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip']);
  return unpack(Buffer.from(await answer.arrayBuffer()));
}

export async function unpack(bytes: Buffer): Promise<ReadonlyMap<string, string>> {
  const zip = await promisify<Buffer, Options, ZipFile>(fromBuffer)(bytes, { lazyEntries: true });
  const entries: Entry[] = [];
  zip.on('entry', (entry: Entry) => {
    entries.push(entry);
    zip.readEntry();
  });
  zip.readEntry();
  await once(zip, 'end');
  const open = promisify<Entry, Readable>((entry, done) => zip.openReadStream(entry, done));
  return new Map(
    await Promise.all(entries.map(async (entry) => [entry.fileName, await text(await open(entry))] as const)),
  );
}

/** Runs the job that looks for due deletions, and waits until it has finished. */
export const looked = (forum: TestForum): Promise<void> => forum.runSchedule('privacy/job:erase');

/** Where the database contains a text: `table.column`, over all columns that can hold one. */
export async function places({ app }: TestForum, words: string): Promise<readonly string[]> {
  const data = app.service(Data);
  const columns = await data.all(sql<{ table: string; column: string }>`
    select table_name as "table", column_name as "column" from information_schema.columns
    where table_schema = current_schema()
      and (data_type in ('text', 'character varying', 'json', 'jsonb', 'ARRAY', 'uuid', 'tsvector') or udt_name = 'citext') order by 1, 2`);
  const found: string[] = [];
  for (const { table, column } of columns) {
    const row = await data.one(
      sql`select 1 from ${sql.table(table)} where ${sql.ref(column)}::text ilike ${`%${words}%`} limit 1`,
    );
    if (row) found.push(`${table}.${column}`);
  }
  return found;
}
