import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Data, sql } from 'parley-forum';
import { startForum, type Client, type TestForum } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';
const PAGE = { accept: 'text/html' };

let forum: TestForum;
let ada: Client;
beforeAll(async () => {
  forum = await startForum({ realClock: true });
  await forum.app
    .service(Accounts)
    .create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD, groupId: 'member' });
  ada = forum.client();
  await ada.login('ada', PASSWORD);
  await ada.post('/api/discussions', { title: 'Before', content: 'Written before', category_id: 'general' });
  await become('on');
});
afterAll(() => forum[Symbol.asyncDispose]());

/** As on a standby or a server under maintenance: new sessions, and so new connections, may only read. */
async function become(readOnly: 'on' | 'off'): Promise<void> {
  const data = forum.app.service(Data);
  await data.transaction(async () => {
    await data.all(sql`set transaction read write`);
    const { name } = (await data.one(sql<{ name: string }>`select current_database() as name`))!;
    await data.all(sql`alter database ${sql.ref(name)} set default_transaction_read_only = ${sql.lit(readOnly)}`);
  });
  await data.all(
    sql`select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  await data.all(sql`select pg_terminate_backend(pg_backend_pid())`).catch(() => undefined);
  await vi.waitFor(async () => expect(await forum.app.data.readOnly()).toBe(readOnly === 'on'), { timeout: 10_000 });
}

test('while the database is read-only, guests and members can read everything', async () => {
  const guest = forum.client();
  for (const path of [
    '/',
    '/d/1-before',
    '/categories',
    '/search?q=before',
    '/api/discussions?limit=7',
    '/feed/rss',
    '/sitemap.xml',
  ]) {
    expect([path, (await guest.get(path, PAGE)).status, (await ada.get(path, PAGE)).status]).toEqual([path, 200, 200]);
  }
});

test('writes get a read-only error with Retry-After, in the API and on pages, which preserve the form', async () => {
  const call = await ada.post('/api/posts', { discussion_id: '1', content: 'A reply' });
  expect([call.status, call.headers.get('retry-after'), call.body.code]).toEqual([503, '30', 'read_only']);
  await ada.csrf('/d/1-before');
  const form = await ada.submit('/d/1/reply', { content: 'Typed for an hour' });
  expect([form.status, form.headers.get('retry-after')]).toEqual([503, '30']);
  expect(form.text).toContain('The site is currently read-only');
  expect(form.text).toContain('Typed for an hour');
  const guest = forum.client();
  await guest.csrf('/login');
  expect((await guest.submit('/login', { identifier: 'ada', password: PASSWORD })).status).toBe(503);
});

test('the process stays ready and reports the read-only database; with ?strict it is not ready', async () => {
  const ready = await forum.client().get('/readyz');
  expect([ready.status, ready.body]).toEqual([200, { success: true, checks: { database: 'read-only', redis: 'ok' } }]);
  expect((await forum.client().get('/readyz?strict')).status).toBe(503);
});

test('writes resume by themselves once the database accepts them', async () => {
  await become('off');
  await expect
    .poll(async () => (await ada.post('/api/posts', { discussion_id: '1', content: 'A reply' })).status, {
      timeout: 10_000,
    })
    .toBe(201);
  expect((await forum.client().get('/readyz?strict')).status).toBe(200);
});
