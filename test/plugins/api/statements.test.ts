import { beforeAll, describe, expect, test } from 'vitest';
import { isList, nameOf, useWorld, type Ask, type Name } from './world.ts';

const world = useWorld({ 'approval.words': ['casino'] });
const MANY = 24;

interface Made {
  readonly discussion: string;
  readonly post: string;
  readonly conversation: string;
  readonly message: string;
}
type Row = readonly [route: string, who: Name | undefined, ask?: (made: Made) => Ask];

/** Every list of the API, as a caller who can see many of its rows. */
const LISTS: readonly Row[] = [
  ['GET /categories', undefined],
  ['GET /discussions', undefined],
  ['GET /discussions/:id', undefined, ({ discussion }) => ({ params: { id: discussion } })],
  ['GET /discussions/:id/posts', undefined, ({ discussion }) => ({ params: { id: discussion } })],
  ['GET /discussions/:id/participants', undefined, ({ discussion }) => ({ params: { id: discussion } })],
  ['GET /posts/:id/revisions', 'bob', ({ post }) => ({ params: { id: post } })],
  ['GET /users/search', undefined, () => ({ query: { q: 'a' } })],
  ['GET /users/discussions', 'ada'],
  ['GET /users/posts', 'ada'],
  ['GET /users/subscriptions', 'ada'],
  ['GET /users/follows', 'ada'],
  ['GET /users/mutes', 'ada'],
  ['GET /events', undefined, () => ({ query: { event: 'post.created' } })],
  ['GET /tags', undefined],
  ['GET /tags/:slug/discussions', undefined, () => ({ params: { slug: 'many' } })],
  ['GET /notifications', 'ada'],
  ['GET /search', undefined, () => ({ query: { q: 'number' } })],
  ['GET /members', undefined],
  ['GET /reactions/post/:post_id', undefined, ({ post }) => ({ params: { post_id: post } })],
  [
    'GET /reactions/post/:post_id/members',
    undefined,
    ({ post }) => ({ params: { post_id: post }, query: { reaction: 'like' } }),
  ],
  ['GET /users/reactions', 'ada'],
  ['GET /bookmarks', 'ada'],
  ['GET /drafts', 'ada'],
  ['GET /conversations', 'ada'],
  ['GET /conversations/:id/messages', 'ada', ({ conversation }) => ({ params: { id: conversation } })],
  ['GET /unread', 'ada'],
  ['GET /reports', 'mia'],
  ['GET /message-reports', 'root'],
  ['GET /held-posts', 'bob'],
  ['GET /approval', 'mia'],
  ['GET /uploads', 'ada'],
  ['GET /typing-indicator/status', undefined, ({ discussion }) => ({ query: { discussion_id: discussion } })],
  ['GET /presence/visitors', undefined],
  ['GET /presence/bots', undefined],
];

let made: Made;
/** One discussion with two posts by different members. */
async function fill(title: string): Promise<Made> {
  const { discussion_id: discussion } = await world.must('ada', 'POST', '/discussions', {
    body: { title, content: 'x @bob', category_id: 'general', tags: ['many', title] },
  });
  const {
    post: { id: post },
  } = await world.must('bob', 'POST', '/posts', {
    body: { discussion_id: discussion, content: `About ${title} @ada` },
  });
  const { conversation, message } = await world.must('bob', 'POST', '/conversations', {
    body: { to: ['ada', 'mia'], subject: title, content: `About ${title}` },
  });
  return { discussion, post, conversation: conversation.id, message: message.id };
}
beforeAll(async () => {
  made = await fill('The first one');
  for (let at = 0; at < MANY; at++) {
    const { post, message } = await fill(`Number ${at}`);
    await world.must('ada', 'POST', '/reactions/toggle', { body: { post_id: post, reaction: 'like' } });
    await world.must('ada', 'POST', '/bookmarks', { body: { post_id: post, note: `Note ${at}` } });
    await world.must('ada', 'PUT', '/drafts/:key', {
      params: { key: `edit-${post}` },
      body: { fields: { content: `Draft ${at}` } },
    });
    const tag = { kind: 'tag', subject_id: `number-${at}` };
    await (at % 2
      ? world.must('ada', 'POST', '/subscriptions/follow', { body: { ...tag, following: true } })
      : world.must('ada', 'POST', '/subscriptions/mute', { body: { ...tag, muted: true } }));
    await world.upload('ada');
    await world.must('ada', 'POST', '/reports', { body: { post_id: post, reason: 'spam' } });
    await world.must('ada', 'POST', '/message-reports', { body: { message_id: message, reason: 'spam' } });
    // A member can have at most ten held posts.
    if (at < 10)
      await world.must('bob', 'POST', '/posts', { body: { discussion_id: made.discussion, content: `Casino ${at}` } });
    await world.must(at % 2 ? 'bob' : 'mia', 'PUT', '/posts/:id', {
      params: { id: made.post },
      body: { content: `Otherwise ${at}` },
    });
    await world.must(at % 2 ? 'ada' : 'mia', 'POST', '/conversations/:id/messages', {
      params: { id: made.conversation },
      body: { content: `Word ${at}` },
    });
    await world.must(at % 2 ? 'ada' : 'mia', 'POST', '/posts', {
      body: { discussion_id: made.discussion, content: `Word ${at} @bob` },
    });
  }
});

test('the table lists every list of the API, and no other', () => {
  expect(LISTS.map(([route]) => route).toSorted()).toEqual(world.routes().filter(isList).map(nameOf).toSorted());
});

describe('many rows take no more statements than few for', () => {
  for (const [route, who, ask] of LISTS) {
    test(`${route}, requested by ${who ?? 'a guest'}`, async () => {
      const [method = '', path = ''] = route.split(' ');
      const asked = ask?.(made) ?? {};
      const count = async (limit: number): Promise<readonly [statements: number, rows: number]> => {
        let rows = 0;
        const statements = await world.app.statements(async () => {
          const { status, body, text } = await world.call(who, method, path, {
            ...asked,
            query: { ...asked.query, limit: String(limit) },
          });
          expect(status, text).toBe(200);
          rows = body.count;
        });
        return [statements, rows];
      };
      // The first request after a purge refills the cache, so the lowest count of several tries is used; each try has a
      // page of its own, which is not cached yet.
      const least = async (limits: readonly number[]): Promise<readonly [number, number]> => {
        const found: (readonly [number, number])[] = [];
        for (const limit of limits) found.push(await count(limit));
        return [Math.min(...found.map(([statements]) => statements)), Math.max(...found.map(([, rows]) => rows))];
      };
      // From here on, the authors are cached.
      await count(MANY);
      const [few, many] = [await least([2, 3, 4, 5]), await least([20, 21, 22, 23])];
      expect(few[1]).toBeLessThanOrEqual(5);
      // It may be fewer: if there are not that many rows, the longer pages are all the same one, which is cached by
      // then.
      expect(many[0], `statements for up to ${many[1]} rows, where up to ${few[1]} take ${few[0]}`).toBeLessThanOrEqual(
        few[0],
      );
    });
  }
});
