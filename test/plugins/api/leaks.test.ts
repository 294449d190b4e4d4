import { beforeAll, describe, expect, test, vi } from 'vitest';
import type { RouteInfo } from 'parley-forum';
import { leastOf } from 'parley-forum/testing';
import { isStream, nameOf, useWorld, type Ask, type Name } from './world.ts';

const world = useWorld();
const TITLE = 'Zanzibar quartermaster';
const SECRET = 'xylophone marmalade';
/** Strings that reveal the hidden discussion, in any response. */
let hidden: readonly string[];
let discussion: { readonly id: string; readonly number: number };
let post: string;
let category: string;
let conversation: string;
let message: string;

/** One of everything, in a category visible only to staff: by mia, mentioning ada, who may not see it. */
beforeAll(async () => {
  const tags = world.routes().some((route) => nameOf(route) === 'GET /tags') ? { tags: ['quasar-tag'] } : {};
  ({ discussion } = await world.must('mia', 'POST', '/discussions', {
    body: { title: TITLE, content: `${SECRET} @ada @bob`, category_id: 'staff', ...tags },
  }));
  ({
    post: { id: post },
  } = await world.must('root', 'POST', '/posts', {
    body: { discussion_id: discussion.id, content: `More ${SECRET} @ada` },
  }));
  category = (await world.must('mia', 'GET', '/categories/:id', { params: { id: 'staff' } })).category.id;
  ({
    conversation: { id: conversation },
    message: { id: message },
  } = await world.must('mia', 'POST', '/conversations', {
    body: { to: ['root'], subject: TITLE, content: SECRET },
  }));
  for (const [route, ask] of AROUND) if (has(route)) await world.must('mia', ...partsOf(route), ask());
  // Those who may see it are notified; members, if they were, would be notified at the same time.
  await world.must('root', 'POST', '/posts', {
    body: { discussion_id: discussion.id, content: `Even more ${SECRET}` },
  });
  await vi.waitUntil(async () => (await world.must('mia', 'GET', '/notifications/count')).count > 0, {
    timeout: 20_000,
  });
  hidden = [
    TITLE,
    'zanzibar-quartermaster',
    SECRET,
    'xylophone',
    'quartermaster',
    discussion.id,
    post,
    `/d/${discussion.number}-`,
    category,
    conversation,
    message,
  ];
});

const has = (name: string): boolean => world.routes().some((route) => nameOf(route) === name);
const partsOf = (route: string): [method: string, path: string] => route.split(' ') as [string, string];
/** What other plugins store about a discussion; only for plugins that are present. */
const AROUND: readonly (readonly [string, () => Ask])[] = [
  ['POST /reactions/toggle', () => ({ body: { post_id: post, reaction: 'like' } })],
  ['POST /subscriptions/toggle', () => ({ body: { discussion_id: discussion.id, level: 'watching' } })],
  ['POST /presence/update', () => ({ body: { page: `/d/${discussion.number}` } })],
  ['POST /typing-indicator/typing', () => ({ body: { discussion_id: discussion.id } })],
  ['POST /bookmarks', () => ({ body: { post_id: post, note: SECRET } })],
  ['POST /reports', () => ({ body: { post_id: post, reason: 'spam', note: SECRET } })],
];

/** Queries that could find it, tried with every read that accepts them. */
const QUERIES: Readonly<Record<string, () => readonly string[]>> = {
  q: () => [
    'quartermaster',
    'xylophone',
    `"${SECRET}"`,
    'mia',
    'category:staff x',
    'tag:quasar-tag x',
    'author:mia marmalade',
  ],
  category_id: () => ['staff', category],
  discussion_id: () => [discussion.id, String(discussion.number)],
  user_id: () => [world.ids.mia, world.ids.root],
  type: () => ['discussions', 'posts', 'users'],
  sort: () => ['latest', 'oldest', 'newest', 'most_replied', 'most_viewed'],
};
const PARAMS: Readonly<Record<string, () => readonly string[]>> = {
  id: () => [
    discussion.id,
    String(discussion.number),
    post,
    category,
    conversation,
    'staff',
    'quasar-tag',
    world.ids.mia,
  ],
  slug: () => ['staff', 'quasar-tag', 'zanzibar-quartermaster'],
  post_id: () => [post],
};

/** Every read of the API with every combination of one value for each of its parameters. */
function reads(): readonly (readonly [path: string, ask: Ask])[] {
  return world
    .routes()
    .filter((route) => route.method === 'get' && !isStream(route))
    .flatMap(({ path, query }) => {
      const names = Object.keys((query as { properties?: object } | undefined)?.properties ?? {}).filter(
        (name) => name in QUERIES,
      );
      const params = combine([...path.matchAll(/:(\w+)/g)].map(([, name = '']) => [name, PARAMS[name]?.() ?? []]));
      const queries = combine(names.map((name) => [name, ['', ...QUERIES[name]!()]]));
      return params.flatMap((one) =>
        queries.map(
          (given) =>
            [
              path,
              { params: one, query: Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')) },
            ] as const,
        ),
      );
    });
}

const combine = (parts: readonly (readonly [string, readonly string[]])[]): readonly Record<string, string>[] =>
  parts.reduce<Record<string, string>[]>(
    (all, [name, values]) => all.flatMap((one) => values.map((value) => ({ ...one, [name]: value }))),
    [{}],
  );

/** Nor are the requested ids in any response, except where an error repeats the request. */
function leaksOf(text: string): readonly string[] {
  return hidden.filter((mark) => text.toLowerCase().includes(mark.toLowerCase()));
}

describe('what only staff may see', () => {
  test('is visible to staff, so that searching for it is meaningful', async () => {
    const found = await Promise.all(
      reads().map(async ([path, ask]) => leaksOf((await world.call('mia', 'GET', path, ask)).text)),
    );
    expect(new Set(found.flat())).toEqual(new Set(hidden));
  });

  test.each([
    ['a guest', undefined],
    ['a member', 'bob'],
    ['a member who is named in it', 'ada'],
  ] as [string, Name | undefined][])('is in no response to %s', async (_name, who) => {
    for (const [path, ask] of reads()) {
      const { text, headers } = await world.call(who, 'GET', path, ask);
      expect(leaksOf(text + JSON.stringify([...headers])), `${path} ${JSON.stringify(ask)}`).toEqual([]);
    }
  });

  test.each([undefined, 'bob'] as (Name | undefined)[])('is in no page, feed or sitemap for %s', async (who) => {
    const paths = [
      '/',
      '/discussions',
      '/categories',
      `/u/mia`,
      '/u/root',
      '/u/mia/posts',
      '/feed/rss',
      '/feed/atom',
      '/feed/json',
      `/rss/user/${world.ids.mia}`,
      '/sitemap.xml',
      '/search?q=quartermaster',
      '/tags',
      '/t/quasar-tag',
      '/c/staff',
      `/d/${discussion.number}`,
    ];
    const client = world.app.client();
    if (who) await client.login(who, 'Plain-Sailing-42');
    for (const path of paths) {
      const { text, status, headers } = await client.get(path);
      expect(status, path).toBeLessThan(500);
      // A page repeats the search query and the requested URL.
      const marks = leaksOf(text + JSON.stringify([...headers])).filter(
        (mark) => !(path.includes('q=') && mark === 'quartermaster'),
      );
      expect(marks, path).toEqual([]);
    }
  });
});

describe('what a caller may not see', () => {
  const absent = '01890000-0000-7000-8000-000000000000';
  const comparable = (text: string): string => text.replace(/"request_id":"[^"]*"/, '');

  type Named = readonly [route: string, hidden: () => Ask, absent: Ask];
  /** Every route that refers to one thing, with a hidden one and a nonexistent one. */
  const NAMED: readonly Named[] = [
    ['GET /categories/:id', () => ({ params: { id: category } }), { params: { id: absent } }],
    ['GET /discussions', () => ({ query: { category_id: category } }), { query: { category_id: absent } }],
    ['GET /discussions/:id', () => ({ params: { id: discussion.id } }), { params: { id: absent } }],
    ['GET /discussions/:id', () => ({ params: { id: String(discussion.number) } }), { params: { id: '999999' } }],
    ['GET /discussions/:id/posts', () => ({ params: { id: discussion.id } }), { params: { id: absent } }],
    ['GET /discussions/:id/related', () => ({ params: { id: discussion.id } }), { params: { id: absent } }],
    ['GET /discussions/:id/participants', () => ({ params: { id: discussion.id } }), { params: { id: absent } }],
    ['GET /posts/:id', () => ({ params: { id: post } }), { params: { id: absent } }],
    [
      'POST /discussions',
      () => ({ body: { title: 'T', content: 'x', category_id: category } }),
      { body: { title: 'T', content: 'x', category_id: absent } },
    ],
    [
      'PUT /discussions/:id',
      () => ({ params: { id: discussion.id }, body: { title: 'x' } }),
      { params: { id: absent }, body: { title: 'x' } },
    ],
    ['DELETE /discussions/:id', () => ({ params: { id: discussion.id } }), { params: { id: absent } }],
    [
      'POST /discussions/bulk',
      () => ({ body: { discussion_ids: [absent], action: 'move', category_id: category } }),
      { body: { discussion_ids: [absent], action: 'move', category_id: absent } },
    ],
    ['POST /discussions/:id/restore', () => ({ params: { id: discussion.id } }), { params: { id: absent } }],
    [
      'POST /discussions/:id/move-posts',
      () => ({ params: { id: discussion.id }, body: { post_ids: [post], title: 'T', category_id: 'general' } }),
      { params: { id: absent }, body: { post_ids: [absent], title: 'T', category_id: 'general' } },
    ],
    [
      'POST /discussions/:id/merge',
      () => ({ params: { id: discussion.id }, body: { into: '1' } }),
      { params: { id: absent }, body: { into: '1' } },
    ],
    [
      'POST /posts',
      () => ({ body: { discussion_id: discussion.id, content: 'x' } }),
      { body: { discussion_id: absent, content: 'x' } },
    ],
    [
      'PUT /posts/:id',
      () => ({ params: { id: post }, body: { content: 'x' } }),
      { params: { id: absent }, body: { content: 'x' } },
    ],
    ['DELETE /posts/:id', () => ({ params: { id: post } }), { params: { id: absent } }],
    ['POST /posts/:id/restore', () => ({ params: { id: post } }), { params: { id: absent } }],
    ['GET /posts/:id/notes', () => ({ params: { id: post } }), { params: { id: absent } }],
    [
      'POST /posts/:id/notes',
      () => ({ params: { id: post }, body: { content: 'x' } }),
      { params: { id: absent }, body: { content: 'x' } },
    ],
    [
      'DELETE /posts/:id/notes/:note',
      () => ({ params: { id: post, note: absent } }),
      { params: { id: absent, note: absent } },
    ],
    ['GET /posts/:id/revisions', () => ({ params: { id: post } }), { params: { id: absent } }],
    [
      'POST /subscriptions/toggle',
      () => ({ body: { discussion_id: discussion.id } }),
      { body: { discussion_id: absent } },
    ],
    [
      'PUT /discussions/:id/answer',
      () => ({ params: { id: discussion.id }, body: { post_id: post } }),
      { params: { id: absent }, body: { post_id: absent } },
    ],
    ['DELETE /discussions/:id/answer', () => ({ params: { id: discussion.id } }), { params: { id: absent } }],
    [
      'POST /subscriptions/follow',
      () => ({ body: { kind: 'category', subject_id: category, following: true } }),
      { body: { kind: 'category', subject_id: absent, following: true } },
    ],
    ['POST /bookmarks', () => ({ body: { post_id: post } }), { body: { post_id: absent } }],
    ...(['GET /conversations/:id', 'DELETE /conversations/:id', 'GET /conversations/:id/messages'] as const).map(
      (route): Named => [route, () => ({ params: { id: conversation } }), { params: { id: absent } }],
    ),
    [
      'PUT /conversations/:id',
      () => ({ params: { id: conversation }, body: { is_muted: true } }),
      { params: { id: absent }, body: { is_muted: true } },
    ],
    [
      'POST /conversations/:id/messages',
      () => ({ params: { id: conversation }, body: { content: 'x' } }),
      { params: { id: absent }, body: { content: 'x' } },
    ],
    [
      'POST /conversations/:id/read',
      () => ({ params: { id: conversation }, body: {} }),
      { params: { id: absent }, body: {} },
    ],
    ...(['GET /messages/:id', 'DELETE /messages/:id'] as const).map((route): Named => [
      route,
      () => ({ params: { id: message } }),
      { params: { id: absent } },
    ]),
    [
      'PUT /messages/:id',
      () => ({ params: { id: message }, body: { content: 'x' } }),
      { params: { id: absent }, body: { content: 'x' } },
    ],
    ...['message-', 'message-edit-'].map((kind): Named => [
      'PUT /drafts/:key',
      () => ({
        params: { key: kind + (kind === 'message-' ? conversation : message) },
        body: { fields: { content: 'x' } },
      }),
      { params: { key: kind + absent }, body: { fields: { content: 'x' } } },
    ]),
    [
      'PUT /drafts/:key',
      () => ({ params: { key: `reply-${discussion.id}` }, body: { fields: { content: 'x' } } }),
      { params: { key: `reply-${absent}` }, body: { fields: { content: 'x' } } },
    ],
    [
      'PUT /drafts/:key',
      () => ({ params: { key: `edit-${post}` }, body: { fields: { content: 'x' } } }),
      { params: { key: `edit-${absent}` }, body: { fields: { content: 'x' } } },
    ],
    ['POST /read-marks/all', () => ({ body: { category_id: category } }), { body: { category_id: absent } }],
    ['POST /posts/:id/unread', () => ({ params: { id: post } }), { params: { id: absent } }],
    [
      'POST /subscriptions/mute',
      () => ({ body: { kind: 'category', subject_id: category, muted: true } }),
      { body: { kind: 'category', subject_id: absent, muted: true } },
    ],
    ['POST /bookmarks', () => ({ body: { discussion_id: discussion.id } }), { body: { discussion_id: absent } }],
    [
      'POST /reactions/toggle',
      () => ({ body: { post_id: post, reaction: 'like' } }),
      { body: { post_id: absent, reaction: 'like' } },
    ],
    ['GET /reactions/post/:post_id', () => ({ params: { post_id: post } }), { params: { post_id: absent } }],
    [
      'GET /reactions/post/:post_id/members',
      () => ({ params: { post_id: post }, query: { reaction: 'like' } }),
      { params: { post_id: absent }, query: { reaction: 'like' } },
    ],
    [
      'POST /typing-indicator/typing',
      () => ({ body: { discussion_id: discussion.id } }),
      { body: { discussion_id: absent } },
    ],
    [
      'POST /typing-indicator/stop',
      () => ({ body: { discussion_id: discussion.id } }),
      { body: { discussion_id: absent } },
    ],
    [
      'GET /typing-indicator/status',
      () => ({ query: { discussion_id: discussion.id } }),
      { query: { discussion_id: absent } },
    ],
    ['GET /live', () => ({ query: { discussion_id: discussion.id } }), { query: { discussion_id: absent } }],
    [
      'POST /reports',
      () => ({ body: { post_id: post, reason: 'spam' } }),
      { body: { post_id: absent, reason: 'spam' } },
    ],
    [
      'POST /message-reports',
      () => ({ body: { message_id: message, reason: 'spam' } }),
      { body: { message_id: absent, reason: 'spam' } },
    ],
  ];

  test('is requested by every route that refers to something that may be hidden', () => {
    const naming = ({ path, query, body }: RouteInfo): boolean => {
      const fields = Object.keys({
        ...(query as { properties?: object } | undefined)?.properties,
        ...(body as { properties?: object } | undefined)?.properties,
      });
      return /:(id|post_id)\b/.test(path) || fields.some((name) => /^(discussion|post|category)_id$/.test(name));
    };
    const open = [
      'GET /users/:id',
      'PUT /users/:id',
      'GET /users/:id/profile',
      'PUT /users/:id/profile',
      'DELETE /users/:id/profile',
      'PUT /users/:id/avatar',
      'DELETE /users/:id/avatar',
      'GET /tags/:id',
      'PUT /reports/:id',
      'PUT /message-reports/:id',
      'DELETE /held-posts/:id',
      'POST /approval/:id/approve',
      'POST /approval/:id/reject',
      'DELETE /uploads/:id',
      'PUT /bookmarks/:id',
      'DELETE /bookmarks/:id',
      'DELETE /push/devices/:id',
    ];
    const routes = world
      .routes()
      .filter(naming)
      .map(nameOf)
      .filter((name) => !open.includes(name));
    expect(routes.filter((name) => !NAMED.some(([route]) => route === name))).toEqual([]);
  });

  for (const [route, hiddenAsk, absentAsk] of NAMED) {
    test(`is answered by ${route} like something that does not exist, with as many statements`, async () => {
      if (!has(route)) return;
      for (const who of ['ada', undefined] as const) {
        const answered = async (ask: Ask) => {
          let answer = '';
          const statements = await leastOf(() =>
            world.app.statements(async () => {
              const { status, text } = await world.call(who, ...partsOf(route), ask);
              answer = `${status} ${comparable(text)}`;
            }),
          );
          return { answer, statements };
        };
        const [seen, missing] = [await answered(hiddenAsk()), await answered(absentAsk)];
        expect(seen).toEqual(missing);
        expect(seen.answer).toMatch(/^40[0134] /);
      }
    });
  }
});
