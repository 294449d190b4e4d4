import { describe, expect, test } from 'vitest';
import { Categories } from 'parley-forum/plugins/discussions';
import type { Client } from 'parley-forum/testing';
import { settled } from '../events/settled.ts';
import { listen } from '../live/listen.ts';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum({ 'notifications.mail_delay': 0, 'search.rate_limit': 100_000 });

/** A discussion that ada and guests have read, followed, marked and been notified of. */
interface Seen {
  /** A word that is only in its title and texts. */
  readonly word: string;
  readonly slug: string;
  readonly category: string;
  readonly id: string;
  readonly number: number;
  readonly first: string;
  readonly reply: string;
}
let count = 0;

async function seen(): Promise<Seen> {
  const word = `zanzibar${'abcdefgh'[count++]}`;
  const slug = `deck-${count}`;
  const { id: category } = await forum.app.app.service(Categories).save({ name: `Deck ${count}`, slug });
  const { discussion, post_id: first } = expectStatus(
    await forum.as.mia.post('/api/discussions', {
      title: `${word} quartermaster`,
      content: `About ${word} for @ada`,
      category_id: category,
      tags: [`tag ${word}`],
    }),
    201,
  ).body;
  const { id, number } = discussion;
  const { id: reply } = await forum.reply('mia', id, `Reply of ${word} for @ada`);
  for (const [path, body] of [
    ['/api/subscriptions/toggle', { discussion_id: id, level: 'watching' }],
    ['/api/subscriptions/follow', { kind: 'category', subject_id: category, following: true }],
    ['/api/reactions/toggle', { post_id: first, reaction: 'like' }],
    ['/api/reactions/toggle', { post_id: reply, reaction: 'like' }],
    ['/api/bookmarks', { post_id: first }],
    ['/api/bookmarks', { post_id: reply }],
    ['/api/reports', { post_id: reply, reason: 'other' }],
    ['/api/presence/update', { page: `/d/${number}` }],
  ] as const)
    expect((await forum.as.ada.post(path, body)).status, path).toBeLessThan(300);
  await settled(forum.app);
  await forum.app.calm();
  return { word, slug, category, id, number, first, reply };
}

/** Paths that may show any of it. */
const addressesOf = ({ word, slug, category, id, number, first, reply }: Seen): readonly string[] =>
  [
    ['', '?sort=newest', '?sort=most_replied', `?category_id=${slug}`].map((query) => `/api/discussions${query}`),
    [id, number].flatMap((one) => [`/api/discussions/${one}`, `/api/discussions/${one}/posts`]),
    [first, reply].flatMap((one) => [`/api/posts/${one}`, `/api/reactions/post/${one}`, `/p/${one}`, `/p/${one}/menu`]),
    ['/api/categories', `/api/categories/${category}`, '/api/tags', `/api/tags/tag-${word}/discussions`],
    ['discussions', 'posts'].flatMap((type) => [word, 'quartermaster'].map((q) => `/api/search?q=${q}&type=${type}`)),
    ['/api/search/suggestions?q=zanz', '/api/search/similar?title=quartermaster', '/api/notifications', '/api/unread'],
    ['bookmarks', 'users/subscriptions', 'users/follows', 'users/reactions', 'events'].map((list) => `/api/${list}`),
    ['/', '/discussions', '/categories', '/tags', `/c/${slug}`, `/d/${number}`, `/d/${number}/2`, '/search?q=zanzibar'],
    ['/notifications', '/bookmarks', '/unread', '/following', '/settings/standing', '/online'],
    ['/u/mia', '/u/mia/posts', '/u/mia/discussions', '/u/ada/reactions', '/u/mia/card'],
    [
      '/feed/rss',
      '/feed/atom',
      '/feed/json',
      `/feed/rss/category/${slug}`,
      `/rss/user/${forum.ids.mia}`,
      '/sitemap.xml',
    ],
  ].flat();

/** The paths that show it to this caller, except for repeating the search query. */
async function showing(client: Client, what: Seen): Promise<readonly string[]> {
  const found: string[] = [];
  for (const path of addressesOf(what)) {
    const { status, text } = await client.get(path);
    expect(status, path).toBeLessThan(500);
    if (text.replaceAll(encodeURIComponent(path), '').replaceAll(path, '').includes(what.word)) found.push(path);
  }
  return found;
}

const restricted = (): Promise<{ readonly id: string }> => forum.start('mia', 'Behind the door', 'staff');
const done = async (answer: Promise<{ readonly status: number }>): Promise<void> =>
  expect((await answer).status).toBe(200);

describe('what was public is in no list, page, feed, notification or stream any more', () => {
  const WAYS: readonly (readonly [string, (what: Seen) => Promise<unknown>])[] = [
    [
      'when its category is closed',
      async ({ category }) => {
        const categories = forum.app.app.service(Categories);
        await categories.save({ ...categories.all().find(({ id }) => id === category)!, view: 'staff' });
      },
    ],
    [
      'when it is moved to a closed category',
      ({ id }) => done(forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'staff' })),
    ],
    ['when it is deleted', ({ id }) => done(forum.as.mia.delete(`/api/discussions/${id}`))],
    [
      'when it is merged into a closed one',
      async ({ id }) => done(forum.as.mia.post(`/api/discussions/${id}/merge`, { into: (await restricted()).id })),
    ],
  ];
  test.each(WAYS)('%s', async (_way, hide) => {
    const what = await seen();
    const { word, id, reply } = what;
    for (const client of [forum.guest, forum.as.ada]) expect((await showing(client, what)).length).toBeGreaterThan(20);
    await using guest = await listen(forum.app, undefined);
    await using member = await listen(forum.app, forum.as.ada);
    await hide(what);
    // Nor do earlier listeners receive what happens there afterwards.
    await forum.as.mia.post('/api/posts', { discussion_id: id, content: `${word} goes on` });
    await forum.as.mia.put(`/api/posts/${reply}`, { content: `${word} changed` });
    await forum.as.mia.post('/api/typing-indicator/typing', { discussion_id: id });
    await forum.start('bob', 'For everybody');
    for (const stream of [guest, member]) await expect.poll(() => stream.names()).toContain('discussion.created');
    expect([await showing(forum.guest, what), await showing(forum.as.ada, what)]).toEqual([[], []]);
    for (const stream of [guest, member]) {
      expect(JSON.stringify(stream.heard)).not.toContain(word);
      expect(stream.signals.some(({ event }) => event === 'typing')).toBe(false);
    }
    const { count: unread } = expectStatus(await forum.as.ada.get('/api/notifications/count'), 200).body;
    const listed = expectStatus(await forum.as.ada.get('/api/notifications?limit=100&unread=true'), 200).body;
    expect(listed.notifications).toHaveLength(unread);
  });
});
