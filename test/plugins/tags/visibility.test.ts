import { beforeAll, describe, expect, test } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { createTags } from 'parley-forum/plugins/tags';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';

const forum = useForum();
let made: { id: string; number: number; tags: readonly { id: string }[] };
let id: string;
const start = async (client: Client, category: string, tags: readonly string[]): Promise<any> =>
  expectStatus(
    await client.post('/api/discussions', {
      title: `About ${tags.join(' and ')}`,
      content: 'Something to find',
      category_id: category,
      tags,
    }),
    201,
  ).body.discussion;

beforeAll(async () => {
  await start(forum.as.ada, 'general', ['Open']);
  made = await start(forum.as.mia, 'staff', ['Hush hush', 'Open']);
  id = made.tags[0]!.id;
});

/** Where the tag's name or slug could appear. */
const LISTS = [
  '/',
  '/tags',
  '/categories',
  '/c/general',
  '/sitemap.xml',
  '/api/tags?limit=100',
  '/api/discussions?limit=100',
  '/feed/rss',
  '/feed/json',
  '/rss/tag/open',
  '/api/tags/open',
  '/t/open',
  '/online',
  '/api/presence/visitors',
];
const NOWHERE = [
  '/t/hush-hush',
  '/api/tags/hush-hush',
  '/api/tags/hush-hush/discussions',
  '/rss/tag/hush-hush',
  '/atom/tag/hush-hush',
];
const own = (): readonly string[] => [
  ...NOWHERE,
  `/t/${id}`,
  `/api/tags/${id}`,
  `/api/tags/${id}/discussions`,
  `/rss/tag/${id}`,
  `/atom/tag/${id}`,
];

describe('a tag used only in discussions that a visitor may not see', () => {
  test.each(['guest', 'ada'] as const)('does not exist for %s', async (who) => {
    const client = who === 'guest' ? forum.guest : forum.as[who];
    // A moderator is on its page, which must not be revealed either.
    expectStatus(await forum.as.mia.get('/t/hush-hush'), 200);
    for (const path of own()) expect([path, (await client.get(path)).status]).toEqual([path, 404]);
    for (const path of LISTS)
      expect([path, /hush/i.test(expectStatus(await client.get(path), 200).text)]).toEqual([path, false]);
    expect((await client.get('/api/tags/open')).body.tag.discussion_count).toBe(1);
    for (const q of ['tag:hush-hush', `tag:${id}`, 'tag:hush-hush something']) {
      const [hidden, unknown] = [
        await client.get(`/api/search?q=${encodeURIComponent(q)}`),
        await client.get('/api/search?q=tag:nothing'),
      ];
      expect({ ...hidden.body, request_id: '' }).toEqual({ ...unknown.body, request_id: '' });
    }
  });

  test('exists for members who may see one of them', async () => {
    for (const path of own().filter((one) => !/^\/(?:rss|atom)\/tag\/hush/.test(one)))
      expect([path, (await forum.as.mia.get(path)).status]).toEqual([path, 200]);
    expect((await forum.as.mia.get('/tags')).text).toContain('Hush hush');
    expect((await forum.as.mia.get('/api/tags/open')).body.tag.discussion_count).toBe(2);
  });

  test('cannot be guessed by a member who may only use existing tags', async () => {
    const access = forum.app.app.service(Access);
    await access.decide('member', createTags, false);
    const refusal = async (tag: string) =>
      JSON.stringify(
        (await forum.as.ada.post('/api/discussions', { title: 'x', content: 'x', category_id: 'general', tags: [tag] }))
          .body.details,
      );
    expect((await refusal('hush hush')).replace('hush hush', 'never')).toBe(await refusal('never'));
    expect((await refusal(id)).replace(id, 'never')).toBe(await refusal('never'));
    await access.decide('member', createTags, undefined);
  });

  test('appears and disappears with the discussion', async () => {
    const status = async (client: Client = forum.guest) => (await client.get('/api/tags/hush-hush')).status;
    await forum.as.mia.put(`/api/discussions/${made.id}`, { category_id: 'general' });
    expect([await status(), (await forum.guest.get('/sitemap.xml')).text.includes('/t/hush-hush')]).toEqual([
      200,
      true,
    ]);
    await forum.as.mia.delete(`/api/discussions/${made.id}`);
    expect([
      await status(),
      await status(forum.as.mia),
      (await forum.guest.get('/sitemap.xml')).text.includes('/t/hush-hush'),
    ]).toEqual([404, 404, false]);
    await forum.as.mia.post(`/api/discussions/${made.id}/restore`);
    expect(await status()).toBe(200);
    await forum.as.mia.put(`/api/discussions/${made.id}`, { category_id: 'staff' });
    expect(await status()).toBe(404);
  });

  test('has a slug distinct from other tags’ ids', async () => {
    const {
      tags: [tag],
    } = await start(forum.as.ada, 'general', [made.tags[1]!.id.slice(0, 30)]);
    expect((await forum.guest.get(`/api/tags/${made.tags[1]!.id}`)).body.tag.slug).toBe('open');
    expect(tag.slug).not.toBe(made.tags[1]!.id);
  });
});
