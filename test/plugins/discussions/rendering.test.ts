import { expect, test, vi } from 'vitest';
import { sql } from 'parley-forum';
import type { Client } from 'parley-forum/testing';
import { SWELLING } from '../markdown/hostile.ts';
import { useForum } from './forum.ts';

const forum = useForum({}, { trustedProxies: ['127.0.0.1'] });
const preview = (client: Client, content: string, headers = {}) =>
  client.post('/api/markdown/parse', { content }, headers);

test('posting does not wait for the most expensive previews of guests and members', async () => {
  const { id } = await forum.start('ada', 'Busy');
  const content = `*long* ${'word '.repeat(1_000)}`;
  const order: string[] = [];
  const named = (name: string, work: Promise<unknown>) => work.then(() => void order.push(name));
  // All threads are started, so that only the waiting is compared.
  await Promise.all([preview(forum.guest, 'x'), preview(forum.as.bob, content), forum.reply('ada', id, content)]);
  const worst = '!['.repeat(32 * 1024);
  const busy = [
    ...Array.from({ length: 20 }, () => named('preview', preview(forum.as.bob, worst))),
    ...SWELLING.map((text, index) =>
      named('guest', preview(forum.guest, text.slice(0, 8_192), { 'x-forwarded-for': `198.51.100.${index}` })),
    ),
  ];
  await named('post', forum.reply('ada', id, content));
  await Promise.all(busy);
  expect(order).toHaveLength(21 + SWELLING.length);
  expect(order.indexOf('post')).toBeLessThan(order.lastIndexOf('preview'));
});

const restart = async () => {
  for (const id of (await forum.app.app.kernel.disable('discussions')).toReversed())
    await forum.app.app.kernel.enable(id);
};
const ruleOfAll = () => forum.app.app.data.one(sql`select rule from post_pictures`);

test('posts stored before the picture rules lose pictures that would call a route, once and in the background', async () => {
  const { id, number, postId } = await forum.start('ada', 'Old pictures');
  const other = await forum.reply('ada', id, 'other');
  const { data } = forum.app.app;
  const shown = '<p><img src="/uploads/1/a.png" alt="kept" loading="lazy" decoding="async" /></p>';
  const put = (post: string, html: string) => data.all(sql`update post set html = ${html} where id = ${post}`);
  const stored = async (post: string) =>
    (await data.one(
      sql<{ html: string; updated: string }>`select html, updated_at::text as updated from post where id = ${post}`,
    ))!;
  await put(
    postId,
    `${shown}<p><img src="/api/discussions?x=1&amp;y=2" alt="list" /> <img src="http://forum.test/logout" alt="" /></p>`,
  );
  await put(other.id, shown);
  const before = [await stored(postId), await stored(other.id)];
  await data.all(sql`update post_pictures set rule = '1 http://elsewhere.test'`);
  expect((await forum.guest.get(`/d/${number}-old-pictures`)).text).toContain('src="/api/discussions?x');
  await restart();
  await vi.waitFor(async () => expect((await stored(postId)).html).not.toContain('/api/discussions'), {
    timeout: 20_000,
  });
  expect(await stored(postId)).toEqual({
    html: `${shown}<p>list http://forum.test/logout</p>`,
    updated: before[0]!.updated,
  });
  expect(await stored(other.id)).toEqual(before[1]);
  await expect.poll(ruleOfAll).toEqual({ rule: '1 http://forum.test' });
  const page = (await forum.guest.get(`/d/${number}-old-pictures`)).text;
  expect([
    page.includes('src="/api/'),
    page.includes('http://forum.test/logout'),
    page.includes('<img src="/uploads/1/a.png"'),
  ]).toEqual([false, true, true]);
});

test('a job left from a check by other rules does not count as one by the current rules', async () => {
  const { postId } = await forum.start('ada', 'Half checked');
  const { data } = forum.app.app;
  const html = '<p><img src="/api/discussions" alt="list" /></p>';
  await data.all(sql`update post set html = ${html} where id = ${postId}`);
  await data.all(sql`update post_pictures set rule = '1 http://elsewhere.test'`);
  for (const [key, payload] of [
    ['pictures', { after: postId }],
    ['1 http://elsewhere.test', { rule: '1 http://elsewhere.test', after: postId }],
  ] as const)
    await data.all(sql`insert into job (id, listener, key, payload)
      values (gen_random_uuid(), 'discussions/job:pictures', ${key}, ${JSON.stringify(payload)}::jsonb)`);
  await restart();
  await expect.poll(ruleOfAll, { timeout: 20_000 }).toEqual({ rule: '1 http://forum.test' });
  expect(await data.one(sql`select html from post where id = ${postId}`)).toEqual({ html: '<p>list</p>' });
  await expect
    .poll(() => data.one(sql`select count(*)::int as left from job where listener = 'discussions/job:pictures'`))
    .toEqual({ left: 0 });
});
