import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { definePlugin, definePermission, Routes, Settings, sql, Type, type RouteInfo } from 'parley-forum';
import { pages, negotiated, redirect } from 'parley-forum/plugins/web';
import { expectStatus, install, useForum, type Name } from '../discussions/forum.ts';
import type { Client } from 'parley-forum/testing';

const PASSWORD = 'Plain-Sailing-42';
const forum = useForum({ 'login.rate_limit': 100_000, 'login.account_rate_limit': 100_000 });
const asJson = { accept: 'application/json' };
const MINUTE = 60_000;

const log = async (name: Name = 'root'): Promise<Client> => {
  const client = forum.app.client();
  await client.csrf();
  expectStatus(await client.submit('/login', { identifier: name, password: PASSWORD, remember: '1' }), 303);
  await client.csrf('/');
  return client;
};
/** A client that entered its password `minutes` ago. */
const late = async (minutes: number, name: Name = 'root'): Promise<Client> => {
  const client = await log(name);
  forum.app.clock.advance(minutes * MINUTE);
  await client.csrf('/');
  return client;
};
const confirm = (client: Client, more: object = {}) =>
  client.post('/login/confirm', { password: PASSWORD, ...more }, asJson);
const hidden = (text: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';

/** Everything that administrators can change, as one text. */
const TABLES = [
  'account',
  'setting',
  'plugin_state',
  'category',
  'tag',
  'reaction_type',
  'webhook',
  'two_factor',
  'mail_message',
] as const;
const state = async (): Promise<string> => {
  const found = TABLES.map(
    (table) => `select '${table}' as kind, (to_jsonb(t) - 'last_seen_at')::text as text from ${table} t`,
  ).join(' union all ');
  return (await forum.app.app.data.all(sql.raw<{ text: string }>(`${found} order by 1, 2`)))
    .map(({ text }) => text)
    .join('\n');
};

/** A third-party plugin that knows nothing about confirmations. */
const stranger = definePlugin({
  id: 'stranger',
  setup(_services, plugin) {
    const can = definePermission('stranger.do', { label: 'do it', default: 'admin' });
    for (const method of ['post', 'put', 'patch', 'delete'] as const) {
      plugin.route(pages, { method, path: '/admin/stranger/:id', can })(() =>
        negotiated(redirect('/'), { success: true, done: method }),
      );
      plugin.route(pages, { method, path: '/:first/stranger-without-a-name', can: 'public' })(() =>
        negotiated(redirect('/'), { success: true, done: method }),
      );
    }
    plugin.route(pages, {
      method: 'post',
      path: '/admin/open',
      can: 'public',
      body: Type.Object({ text: Type.String(), api_key: Type.Optional(Type.String()) }),
    })(({ body }) => negotiated(redirect('/', { notice: `Got ${body.text} and ${body.api_key}` }), { success: true }));
  },
});
beforeAll(() => install(forum.app, stranger));

const writes = (): readonly RouteInfo[] =>
  forum.app.app
    .service(Routes)
    .list()
    .filter(({ surface, method, path }) => surface.id === 'pages' && method !== 'get' && /^\/admin(\/|$)/.test(path));

/** A body for each of the forum's own routes that would change something. */
const bodies = (): Readonly<Record<string, object>> => ({
  '/admin/users/save': { id: forum.ids.bob, group_id: 'moderator' },
  '/admin/users/end-sessions': { id: forum.ids.bob },
  '/admin/users/reset-two-factor': { id: forum.ids.bob },
  '/admin/settings/save': { 'site.name': 'Taken' },
  '/admin/settings/reset': { key: 'site.name' },
  '/admin/plugins/disable': { id: 'two-factor' },
  '/admin/plugins/enable': { id: 'demo' },
  '/admin/plugins/release': { id: 'tags' },
  '/admin/jobs/retry': { listener: 'mail/deliver' },
  '/admin/categories/save': { name: 'Boats' },
  '/admin/categories/delete': { id: 'general', move_to: 'help' },
  '/admin/tags/save': { name: 'boats' },
  '/admin/tags/delete': { id: 'boats' },
  '/admin/reactions/save': { slug: 'heart', enabled: 'false' },
  '/admin/webhooks/save': { url: 'https://example.org/hook', events: 'post.created' },
  '/admin/webhooks/test': { id: 'x' },
  '/admin/webhooks/delete': { id: 'x' },
  '/admin/webhooks/rotate-secret': { id: 'x' },
  '/admin/webhooks/redeliver': { delivery_id: 'x' },
  '/admin/single-sign-on/save': { slug: 'quay', name: 'Quay', issuer: 'https://example.org', client_id: 'x' },
  '/admin/single-sign-on/check': { id: 'x' },
  '/admin/single-sign-on/delete': { id: 'x' },
});

describe('a session whose password was entered an hour ago', () => {
  let client: Client;
  beforeEach(async () => void (client = await late(60)));

  test('changes nothing below /admin, by form or JSON, in any plugin’s routes', async () => {
    const before = await state();
    const found = writes();
    expect(
      found
        .filter(({ plugin }) => plugin !== 'stranger')
        .map(({ path }) => path)
        .sort(),
    ).toEqual(Object.keys(bodies()).sort());
    for (const { method, path } of found) {
      const [own, at] = [bodies()[path] ?? {}, path.replace(':id', '1')];
      const json = await client.request(method.toUpperCase(), at, { json: own, headers: asJson });
      expect([path, json.status, json.body.code]).toEqual([path, 403, 'confirmation_needed']);
      const plain = await client.request(method.toUpperCase(), at, { json: own });
      expect([path, plain.status, plain.body?.code]).toEqual([path, 403, 'confirmation_needed']);
      const form = await client.request(method.toUpperCase(), at, {
        form: { _csrf: await client.csrf('/'), ...own } as Record<string, string>,
      });
      expect([path, form.status, form.text.includes('Confirm it is you')]).toEqual([path, 403, true]);
    }
    expect(await state()).toBe(before);
  });

  test('cannot bypass this with other spellings of a path', async () => {
    const spellings = [
      '//admin//stranger/1',
      '/admin/stranger/1/',
      '/%61dmin/stranger/1',
      '/admin/%73tranger/1',
      '/admin/stranger-without-a-name',
      '//admin/stranger-without-a-name/',
      '/%61dmin/stranger-without-a-name',
      '/%61%64%6D%69%6e//stranger-without-a-name',
    ];
    for (const path of spellings) {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        const { status, text } = await client.request(method, path, { json: {}, headers: asJson });
        expect([path, method, text.includes('"done"'), [403, 404, 405].includes(status)]).toEqual([
          path,
          method,
          false,
          true,
        ]);
      }
    }
    expect((await client.post('/elsewhere/stranger-without-a-name', {}, asJson)).body).toMatchObject({ done: 'post' });
  });

  test('is checked for a CSRF token first; a bearer token does not work in the panel', async () => {
    const forged = await client.request('POST', '/admin/settings/save', {
      json: { 'site.name': 'x' },
      headers: { ...asJson, 'x-csrf-token': 'wrong' },
    });
    expect([forged.status, forged.body.code]).toEqual([403, 'csrf_failed']);
    await confirm(client);
    const { token } = (await client.post('/settings/security/api-token', {}, asJson)).body;
    const bearer = await forum.app
      .client({ authorization: `Bearer ${token}` })
      .post('/admin/settings/save', { 'site.name': 'x' }, asJson);
    expect([bearer.status, bearer.body.code]).toEqual([401, 'login_needed']);
  });

  test('confirms by JSON and repeats the request; the session gets a new id', async () => {
    const id = client.cookies.get('parley.sid');
    const answer = await confirm(client);
    expect(answer.body).toEqual({
      success: true,
      confirmed_until: new Date(forum.app.clock.now() + 15 * MINUTE).toISOString(),
    });
    expect(client.cookies.get('parley.sid')).not.toBe(id);
    expectStatus(await client.post('/admin/tags/save', { name: 'ropes' }, asJson), 201);
    forum.app.clock.advance(14 * MINUTE);
    expectStatus(await client.post('/admin/tags/save', { name: 'knots' }, asJson), 201);
    forum.app.clock.advance(1 * MINUTE);
    expectStatus(await client.post('/admin/tags/save', { name: 'sails' }, asJson), 403);
  });

  test('confirms on a page without JavaScript, and gets the form back as it was sent', async () => {
    const form = {
      id: '',
      name: 'Harbours & <quays>',
      slug: 'quays',
      description: 'Where\nships lie',
      hue: '45',
      view: 'staff',
      create: 'staff',
      reply: 'staff',
      position: '7',
    };
    const asked = await client.request('POST', '/admin/categories/save', {
      form: { _csrf: await client.csrf('/'), ...form },
      headers: { referer: `${forum.app.url}/admin/categories?x=1` },
    });
    expect(asked.status).toBe(403);
    expect(asked.text).toContain('Nothing has been done yet.');
    expect([
      hidden(asked.text, 'return_to'),
      hidden(asked.text, 'pending').startsWith('v1.'),
      asked.text.includes('quays'),
    ]).toEqual(['/admin/categories?x=1', true, false]);
    const wrong = await client.submit('/login/confirm', {
      password: 'Wrong-1-password',
      return_to: '/admin',
      pending: hidden(asked.text, 'pending'),
    });
    expect([wrong.status, hidden(wrong.text, 'pending')]).toEqual([400, hidden(asked.text, 'pending')]);
    const back = await client.submit('/login/confirm', {
      password: PASSWORD,
      return_to: '/admin/categories',
      pending: hidden(wrong.text, 'pending'),
    });
    expect([back.status, back.headers.get('cache-control')]).toEqual([200, 'private, no-store']);
    expect(back.text).toContain('What you typed is still here');
    expect(back.text).toMatch(
      /name="name"[^>]*value="Harbours &amp; &lt;quays&gt;"[^]*Where\nships lie[^]*value="45" selected[^]*value="staff" selected/,
    );
    expect((await forum.app.app.data.all(sql`select 1 from category where slug = 'quays'`)).length).toBe(0);
    expectStatus(await client.submit('/admin/categories/save', form), 303);
    expect((await forum.app.app.data.all(sql`select 1 from category where slug = 'quays'`)).length).toBe(1);
  });

  test('gets a button that repeats a button’s request, labelled with its action', async () => {
    const sent = async (path: string, form: Readonly<Record<string, string>>) => {
      const asked = await client.submit(path, form);
      return (await client.submit('/login/confirm', { password: PASSWORD, pending: hidden(asked.text, 'pending') }))
        .text;
    };
    const text = await sent('/admin/users/save', { id: forum.ids.bob, group_id: 'moderator' });
    expect(text).toMatch(
      /<form method="post" action="\/admin\/users\/save"[^]*name="id" value="[^"]+"[^]*name="group_id" value="moderator"[^]*<button class="button primary">Continue: Move a member to another group/,
    );
    expect(
      (
        await forum.app.app.data.one(
          sql<{ group: string }>`select group_id as group from account where id = ${forum.ids.bob}`,
        )
      )?.group,
    ).toBe('member');
    forum.app.clock.advance(60 * MINUTE);
    const open = await sent('/admin/open', { text: 'a&b', api_key: 'sesame-open' });
    expect([
      open.includes('name="text" value="a&amp;b"'),
      open.includes('sesame-open'),
      /name="api_key" type="password"/.test(open),
    ]).toEqual([true, false, true]);
    expect(open).toContain('Passwords and other secrets are not kept: enter them again.');
  });

  test('does not preserve secrets, but settings whose names only resemble secrets', async () => {
    const form = {
      _group: 'security',
      'security.password_min_length': '11',
      'security.password_reset_token_ttl': '60',
    };
    const asked = await client.submit('/admin/settings/save', form);
    const back = await client.submit('/login/confirm', { password: PASSWORD, pending: hidden(asked.text, 'pending') });
    expect(back.text).toMatch(/name="security.password_min_length"[^>]*value="11"/);
    forum.app.clock.advance(60 * MINUTE);
    const secret = await client.submit('/admin/settings/save', {
      _group: 'webhooks',
      'webhooks.inbound_secret': 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtMTIz',
    });
    const after = await client.submit('/login/confirm', {
      password: PASSWORD,
      pending: hidden(secret.text, 'pending'),
    });
    expect([after.text.includes('whsec_c2V'), after.text.includes('except passwords and other secrets')]).toEqual([
      false,
      true,
    ]);
  });

  test('cannot use another session’s pending form, or a forged or expired one', async () => {
    const sealed = hidden((await client.submit('/admin/open', { text: 'of root' })).text, 'pending');
    const other = await log('mia');
    for (const form of [sealed, `${sealed.slice(0, -4)}AAAA`, 'v1.x', '']) {
      const answer = await other.submit('/login/confirm', {
        password: PASSWORD,
        pending: form,
        return_to: '/settings',
      });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings']);
    }
    forum.app.clock.advance(61 * MINUTE);
    expect((await client.submit('/login/confirm', { password: PASSWORD, pending: sealed })).status).toBe(303);
  });
});

/** Outside the panel: routes that add or remove a way into an account, or that export or delete all of its data. */
const GUARDED = [
  '/settings/feeds',
  '/settings/privacy/delete',
  '/settings/privacy/export',
  '/settings/security/api-token',
  '/settings/security/email',
  '/settings/security/first-password',
  '/settings/security/linked-accounts/:provider/link',
  '/settings/security/linked-accounts/:provider/unlink',
  '/settings/security/sessions/revoke',
  '/settings/security/sessions/revoke-others',
  '/settings/security/two-factor/begin',
  '/settings/security/two-factor/codes',
  '/settings/security/two-factor/confirm',
  '/settings/security/two-factor/off',
];
/**
 * Routes that only affect appearance or notifications, give up a way in, or include the password or a link from a
 * mail.
 */
const UNGUARDED = [
  '/settings/about',
  '/settings/avatar',
  '/settings/avatar/remove',
  '/settings/feeds/revoke',
  '/settings/held-posts/:id/withdraw',
  '/settings/keyboard',
  '/settings/language',
  '/settings/messages',
  '/settings/notifications',
  '/settings/notifications/devices/remove',
  '/settings/privacy',
  '/settings/profile',
  '/settings/security/api-token/revoke',
  '/settings/security/email/confirm/:token',
  '/settings/security/password',
  '/settings/uploads',
  '/settings/uploads/delete',
];

test('an old session can change only settings that give no access to the account or its data', async () => {
  await forum.app.app.service(Settings).set({ 'pro.enabled': true });
  const client = await late(60, 'ada');
  const paths = forum.app.app
    .service(Routes)
    .list()
    .filter(({ surface, method, path }) => surface.id === 'pages' && method !== 'get' && path.startsWith('/settings/'))
    .map(({ path }) => path);
  expect(paths.sort()).toEqual([...GUARDED, ...UNGUARDED].sort());
  const refused: string[] = [];
  for (const path of paths.filter((one) => one !== '/settings/security/password')) {
    const asked = path.replace(':token', '0'.repeat(64));
    const json = await client.post(asked, {}, asJson);
    const form = await client.submit(asked);
    const both = [json.body?.code === 'confirmation_needed', form.text.includes('Confirm it is you')];
    expect([path, new Set(both).size]).toEqual([path, 1]);
    if (both[0]) refused.push(path);
  }
  expect(refused).toEqual(GUARDED);
});

test('the panel shows how long a confirmation lasts, and can end it', async () => {
  const client = await late(14);
  const page = await client.get('/admin');
  expect(page.text).toContain(`<time datetime="${new Date(forum.app.clock.now() + MINUTE).toISOString()}"`);
  expectStatus(await client.post('/admin/tags/save', { name: 'anchors' }, asJson), 201);
  const ended = await client.submit('/login/confirm/end', { return_to: '/admin' });
  expect([ended.status, ended.headers.get('location')]).toEqual([303, '/admin']);
  expect((await client.get('/admin')).text).toContain('Changes require your password.');
  expect((await client.post('/admin/tags/save', { name: 'masts' }, asJson)).body.code).toBe('confirmation_needed');
});

test('guests get 401, and members without permission 403', async () => {
  await forum.guest.csrf();
  for (const path of ['/admin/settings/save', '/admin/open'])
    expect((await forum.guest.post(path, {}, asJson)).status).toBe(401);
  const member = await log('ada');
  expect((await member.post('/admin/settings/save', { 'site.name': 'x' }, asJson)).body.code).toBe('forbidden');
});
