import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { formWith, send } from './forum.ts';

const forum = useForum({ 'uploads.rate_limit': 8, 'uploads.member_files': 3, 'uploads.member_bytes': 2_000 });
const statuses = async (answers: readonly Promise<{ readonly status: number }>[]): Promise<readonly number[]> =>
  (await Promise.all(answers)).map(({ status }) => status).toSorted((a, b) => a - b);
const kept = async (): Promise<number> =>
  (await readdir(join(forum.app.app.environment.dataDir, 'uploads/files'), { recursive: true }).catch(() => [])).filter(
    (name) => name.includes('/'),
  ).length;

test('concurrent uploads do not exceed the quota', async () => {
  const { ada } = forum.as;
  expect(await statuses(Array.from({ length: 6 }, (_, at) => send(ada, `file ${at}`, `${at}.txt`)))).toEqual([
    201, 201, 201, 409, 409, 409,
  ]);
  expect([(await ada.get('/api/uploads')).body.count, await kept()]).toEqual([3, 3]);
});

test('deleting a file frees its space', async () => {
  const { ada } = forum.as;
  const [first] = (await ada.get('/api/uploads')).body.uploads;
  expectStatus(await ada.delete(`/api/uploads/${first.id}`), 200);
  expectStatus(await send(ada, 'again', 'again.txt'), 201);
  expect(await kept()).toBe(3);
});

test('the quota limits bytes as well as files, with a helpful error', async () => {
  const { bob } = forum.as;
  expect(await statuses([send(bob, 'x'.repeat(1_500), '1.txt'), send(bob, 'x'.repeat(1_500), '2.txt')])).toEqual([
    201, 409,
  ]);
  expect((await send(bob, 'x'.repeat(501), '3.txt')).body.error).toBe(
    'You may have 3 files, 2 KiB in total; delete some under Settings → Files first',
  );
  expectStatus(await send(bob, 'x'.repeat(500), '4.txt'), 201);
});

test('uploads have their own rate limit, shared by the page and the API', async () => {
  const { mia, root } = forum.as;
  const first = await send(mia, 'x', 'x.exe');
  expect([first.headers.get('x-ratelimit-limit'), first.status]).toEqual(['40', 400]);
  const { bob } = forum.as;
  const left = (await send(bob, 'x', 'x.exe')).headers.get('x-ratelimit-remaining');
  for (let at = Number(left); at > 0; at--) expect((await send(bob, 'x', 'x.exe')).status).toBe(400);
  const refused = await send(bob, 'x', 'x.txt');
  expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([429, true]);
  const body = formWith('x', 'x.txt');
  body.append('_csrf', await bob.csrf('/settings/uploads'));
  expect((await bob.request('POST', '/settings/uploads', { body })).status).toBe(429);
  expect((await send(root, 'x', 'x.txt')).status).toBe(201);
});
