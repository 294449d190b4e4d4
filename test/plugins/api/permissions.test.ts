import { describe, expect, test } from 'vitest';
import { SUBSCRIPTION } from '../push/subscription.ts';
import { CALLERS, TABLE, type Things } from './permissions-table.ts';
import { nameOf, useWorld, type Name } from './world.ts';

const world = useWorld({ 'approval.words': ['casino'] });
const WHO: Readonly<Record<(typeof CALLERS)[number], Name | undefined>> = {
  guest: undefined,
  revoked: 'lost',
  banned: 'bad',
  member: 'bob',
  owner: 'ada',
  moderator: 'mia',
  admin: 'root',
};

const things: Things = {
  discussion: async () =>
    (
      await world.must('ada', 'POST', '/discussions', {
        body: { title: 'Of ada', content: 'x', category_id: 'general' },
      })
    ).discussion_id,
  post: async () =>
    (await world.must('ada', 'POST', '/posts', { body: { discussion_id: await things.discussion(), content: 'x' } }))
      .post.id,
  async deleted() {
    const id = await things.discussion();
    await world.must('ada', 'DELETE', '/discussions/:id', { params: { id } });
    return id;
  },
  async deletedPost() {
    const id = await things.post();
    await world.must('ada', 'DELETE', '/posts/:id', { params: { id } });
    return id;
  },
  async tag() {
    await world.must('ada', 'POST', '/discussions', {
      body: { title: 'Of ada', content: 'x', category_id: 'general', tags: ['boats'] },
    });
    return 'boats';
  },
  report: async () =>
    (await world.must('ada', 'POST', '/reports', { body: { post_id: await things.post(), reason: 'spam' } })).report.id,
  upload: () => world.upload('ada'),
  discussionOf: async (post) =>
    (await world.must('ada', 'GET', '/posts/:id', { params: { id: post } })).post.discussion_id,
  bookmark: async () =>
    (await world.must('ada', 'POST', '/bookmarks', { body: { post_id: await things.post() } })).bookmark.id,
  conversation: async () =>
    (
      await world.must('ada', 'POST', '/conversations', {
        body: { to: ['mia'], subject: 'Between us', content: 'x' },
      })
    ).conversation.id,
  message: async () =>
    (
      await world.must('ada', 'POST', '/conversations', {
        body: { to: ['mia'], subject: 'Between us', content: 'x' },
      })
    ).message.id,
  messageReport: async () =>
    (
      await world.must('mia', 'POST', '/message-reports', {
        body: { message_id: await things.message(), reason: 'spam' },
      })
    ).report.id,
  device: async () => (await world.must('ada', 'POST', '/push/devices', { body: SUBSCRIPTION })).id,
  async draft() {
    const key = `reply-${await things.discussion()}`;
    await world.must('ada', 'PUT', '/drafts/:key', { params: { key }, body: { fields: { content: 'Not finished' } } });
    return key;
  },
  async heldPost() {
    // Make room for one more.
    for (const { id } of (await world.must('mia', 'GET', '/approval')).held_posts)
      await world.must('mia', 'POST', '/approval/:id/reject', { params: { id }, body: {} });
    const body = { discussion_id: await things.discussion(), content: 'Casino' };
    return (await world.must('ada', 'POST', '/posts', { body })).held_post.id;
  },
  get ada() {
    return world.ids.ada;
  },
};

test('the table lists every route of the API, and no other', () => {
  expect(TABLE.map(([route]) => route).toSorted()).toEqual(world.routes().map(nameOf).toSorted());
});

describe('who may', () => {
  for (const [route, statuses, ask] of TABLE) {
    test(`${route}: ${statuses}`, async () => {
      const [method = '', path = ''] = route.split(' ');
      const found: Record<string, number> = {};
      for (const caller of CALLERS)
        found[caller] = (await world.call(WHO[caller], method, path, await ask?.(things))).status;
      expect(found).toEqual(Object.fromEntries(CALLERS.map((caller, at) => [caller, Number(statuses.split(' ')[at])])));
    });
  }
});
