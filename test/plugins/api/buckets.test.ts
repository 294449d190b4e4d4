import { expect, test } from 'vitest';
import { nameOf, useWorld } from './world.ts';

const world = useWorld({
  'presence.rate_limit': 7,
  'markdown.rate_limit': 6,
  'search.rate_limit': 9,
  'api.rate_limit_user': 100_000,
});

/** The default rate limits. */
const DEFAULTS = {
  'api.rate_limit_user': 120,
  'api.rate_limit_ip': 60,
  'posts.rate_limit': 20,
  'discussions.rate_limit': 10,
  'presence.rate_limit': 60,
  'markdown.rate_limit': 60,
  'login.rate_limit': 5,
  'login.account_rate_limit': 10,
  'login.attempt_rate_limit': 30,
  'registration.rate_limit': 3,
  'password_reset.rate_limit': 3,
};
/** Routes outside the general bucket, with the bucket they share. */
const OWN: Readonly<Record<string, string>> = {
  'POST /markdown/parse': 'markdown.rate_limit',
  'POST /uploads': 'uploads.rate_limit',
  'PUT /users/:id/avatar': 'uploads.rate_limit',
  'GET /search': 'search.rate_limit',
  'GET /search/similar': 'search.suggestion_rate_limit',
  'GET /search/suggestions': 'search.suggestion_rate_limit',
  'POST /presence/update': 'presence.rate_limit',
  'GET /presence/stats': 'presence.rate_limit',
  'GET /presence/visitors': 'presence.rate_limit',
  'GET /presence/members': 'presence.rate_limit',
  'GET /presence/bots': 'presence.rate_limit',
  'POST /typing-indicator/typing': 'presence.rate_limit',
  'POST /typing-indicator/stop': 'presence.rate_limit',
  'GET /typing-indicator/status': 'presence.rate_limit',
  'PUT /drafts/:key': 'drafts.rate_limit',
  'DELETE /drafts/:key': 'drafts.rate_limit',
  'POST /bookmarks': 'bookmarks.rate_limit',
  'PUT /bookmarks/:id': 'bookmarks.rate_limit',
  'DELETE /bookmarks/:id': 'bookmarks.rate_limit',
};

test('rate limits have the intended defaults and are settings', () => {
  const found = new Map(
    world.app.app.settings.list().map(({ key, schema }) => [key, (schema as { default?: unknown }).default]),
  );
  expect(Object.fromEntries(Object.keys(DEFAULTS).map((key) => [key, found.get(key)]))).toEqual(DEFAULTS);
});

test('only these routes have buckets of their own', () => {
  const own = world.routes().filter(({ options }) => options['bucket'] !== undefined);
  expect(
    Object.fromEntries(own.map((route) => [nameOf(route), (route.options['bucket'] as { limit: string }).limit])),
  ).toEqual(OWN);
});

test.each(['presence.rate_limit', 'markdown.rate_limit', 'search.rate_limit'])(
  'the bucket of %s refuses at its limit, for moderators at five times that, and leaves the general one alone',
  async (setting) => {
    const route = Object.keys(OWN).find((name) => OWN[name] === setting)!;
    const [method = '', path = ''] = route.split(' ');
    const ask = { ...(method === 'POST' && { body: { content: 'x', page: '/' } }), query: { q: 'words' } };
    const limit = world.app.app.settings.get(setting) as number;
    for (const [who, holds] of [
      ['bob', limit],
      ['mia', 5 * limit],
    ] as const) {
      for (let call = 1; call <= holds; call++) {
        const { status, headers } = await world.call(who, method, path, ask);
        expect([status, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual([
          200,
          String(holds),
          String(holds - call),
        ]);
      }
      const refused = await world.call(who, method, path, ask);
      expect([refused.status, refused.body.code, refused.headers.get('x-ratelimit-remaining')]).toEqual([
        429,
        'rate_limited',
        '0',
      ]);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await world.call(who, 'GET', '/version')).status).toBe(200);
    }
  },
);
