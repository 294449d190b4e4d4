import { expect, test } from 'vitest';
import { Routes, type RouteInfo } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const PAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  '/admin/users/save': {},
  '/admin/users/end-sessions': {},
  '/admin/settings/save': { _group: 'security' },
  '/admin/webhooks/save': {},
  '/admin/single-sign-on/save': {},
  '/admin/categories/save': {},
  '/admin/reactions/save': {},
};

test('a refused staff form does not reveal its page to others', async () => {
  for (const [path, form] of Object.entries(PAGES)) {
    for (const name of ['bob', 'mia', 'bad'] satisfies Name[]) {
      const answer = await forum.as[name].submit(path, { ...form, id: forum.ids.root });
      expect([path, answer.status, /@forum\.test|<form[^>]*action="\/admin|name="login\./.test(answer.text)]).toEqual([
        path,
        403,
        false,
      ]);
    }
    const answer = await forum.guest.submit(path, { ...form, id: forum.ids.root });
    expect([path, answer.status, /@forum\.test|<form[^>]*action="\/admin|name="login\./.test(answer.text)]).toEqual([
      path,
      401,
      false,
    ]);
  }
});

test('a staff form without its CSRF token is returned only to staff', async () => {
  const asked = (name: Name) => forum.as[name].submit('/admin/users/save', { _csrf: 'wrong', id: forum.ids.root });
  expect((await asked('root')).text).toContain('root@forum.test');
  expect((await asked('bob')).text).not.toContain('root@forum.test');
});

test('moderators’ notes on a report are not shown to the reporter, who knows its id', async () => {
  const { postId } = await forum.start('ada', 'Storm');
  const { id } = (await forum.as.bob.post('/api/reports', { post_id: postId, reason: 'abuse' })).body.report;
  await forum.as.mia.submit(`/mod/reports/${id}/notes`, { content: 'Between us' });
  await forum.as.mia.submit(`/mod/reports/${id}/claim`);
  for (const path of ['', '/notes', '/claim']) {
    for (const client of [forum.as.bob, forum.guest])
      expect((await client.submit(`/mod/reports/${id}${path}`)).text).not.toMatch(/Between us|mia/);
  }
});

test('a member whose session has just ended gets back what they typed', async () => {
  const account = await forum.app.app
    .service(Accounts)
    .create({ username: 'late', email: 'late@forum.test', password: 'Plain-Sailing-42' });
  const client = forum.app.client();
  await client.login('late', 'Plain-Sailing-42');
  await forum.app.app.service(Accounts).endSessions(account.id);
  const answer = await client.submit('/new', {
    title: 'Not lost',
    content: 'All that I wrote',
    category_id: 'general',
  });
  expect(answer.status).toBe(401);
  expect(answer.text).toContain('All that I wrote');
  // Next to it is a login form that leaves the page as it is.
  const login = /<form[^>]*action="\/login"[^]*?<\/form>/;
  expect(login.exec(answer.text)?.[0]).toMatch(/name="return_to"[^]*name="password"[^]*formtarget="_blank"/);
  expect((await forum.as.bob.submit('/new', { title: '' })).text).not.toMatch(login);
  expect((await forum.guest.get('/')).text).not.toMatch(login);
});

test('a button pressed on an outdated page says so, and links back', async () => {
  const pressed = (referer: string) =>
    forum.as.bob.request('POST', '/notifications/read', { form: { _csrf: 'wrong' }, headers: { referer } });
  const answer = await pressed('http://forum.test/notifications');
  expect([answer.status, answer.text.includes('Your group')]).toEqual([403, false]);
  expect(answer.text).toMatch(/<h1>Please try that again<\/h1>[^]*href="\/notifications">Back to the page/);
  expect((await pressed('http://forum.test//evil.example/')).text).not.toContain('evil.example');
});

test('a colour scheme chosen on a refused form leads back to the page of that form', async () => {
  const answer = await forum.as.bob.request('POST', '/settings/profile', {
    form: { _csrf: 'wrong', bio: 'x' },
    headers: { referer: 'http://forum.test/settings' },
  });
  expect(answer.text).toMatch(/action="\/appearance"[^]*name="return_to" value="\/settings"/);
});

test('a moderator’s choices for a pin and text for a lock are preserved when refused', async () => {
  const { number } = await forum.start('ada', 'Which rope');
  const path = `/d/${number}/moderate`;
  const asked = (form: object) => forum.as.mia.submit(path, { ...form });
  const pin = await asked({ action: 'pin', pinned_in: 'category', pinned_until: '2020-02-29' });
  expect(pin.status).toBe(400);
  expect(pin.text).toMatch(/<option value="category" selected>[^]*value="2020-02-29"/);
  expect(pin.text).not.toContain('discussions:');
  const lock = await asked({ action: 'lock', lock_reason: 'Said & done', _csrf: 'wrong' });
  expect([lock.status, lock.text.includes('value="Said &amp; done"')]).toEqual([403, true]);
  expect(lock.text).toContain(`<form method="post" action="${path}"`);
  expect((await asked({ action: 'restore', _csrf: 'wrong' })).text).toContain('name="action" value="restore"');
  expect((await asked({ action: 'sink' })).status).toBe(400);
});

/** Fields that no one types: they say what a button does. */
const BUTTONS = /^(id|.*_id|key|listener|action|level|reaction|return_to|preview)$/;
/** Buttons whose other fields are for API clients, or are chosen by pressing them. */
const PRESSED = [
  '/read-marks',
  '/p/:id/bookmark',
  '/bookmarks/remove',
  '/drafts/discard',
  '/messages/:id/mute',
  '/p/:id/answer',
  '/follows',
  '/mod/log/export',
  '/p/:id/notes/remove',
  '/auth/:provider',
];

test('every form with typed or chosen values can be redisplayed', () => {
  const fieldsOf = ({ body }: RouteInfo): readonly string[] =>
    Object.keys((body as { properties?: object } | undefined)?.properties ?? {});
  const typed = (route: RouteInfo): boolean => fieldsOf(route).some((name) => !BUTTONS.test(name));
  const lost = forum.app.app
    .service(Routes)
    .list()
    .filter(
      (route) => route.surface.id === 'pages' && route.method === 'post' && typed(route) && !route.options['rerender'],
    );
  expect(lost.map(({ path }) => path).filter((path) => !PRESSED.includes(path))).toEqual([]);
});

test('notification settings are preserved', async () => {
  const { status, text } = await forum.as.bob.submit('/settings/notifications', {
    _csrf: 'wrong',
    'channels[mention]': 'off',
    'channels[none]': 'pigeon',
    digest: 'weekly',
  });
  expect(status).toBe(403);
  expect(text).toContain('Nothing is lost: please send it again.');
  expect(text).toMatch(/name="channels\[mention\]" value="off" checked/);
  expect(text).toMatch(/<option value="weekly" selected/);
  const stored = (await forum.as.bob.get('/settings/notifications', { accept: 'application/json' })).body;
  expect([stored.channels.mention, stored.digest]).not.toContain('off');
});

test('appearance choices and a moderator’s reason for a deletion are preserved', async () => {
  const looks = await forum.guest.submit('/appearance', { _csrf: 'wrong', scheme: 'dark', density: 'compact' });
  expect([looks.status, looks.headers.getSetCookie().some((line) => line.startsWith('appearance='))]).toEqual([
    403,
    false,
  ]);
  expect(looks.text).toMatch(/value="dark" checked[^]*value="compact" checked/);
  const { number, postId } = await forum.start('ada', 'Fog');
  for (const path of [`/p/${postId}/delete`, `/d/${number}/delete`]) {
    const answer = await forum.as.mia.submit(path, { _csrf: 'wrong', reason: 'It says nothing' });
    expect([path, answer.status, answer.text.includes('value="It says nothing"')]).toEqual([path, 403, true]);
    expect((await forum.as.bob.submit(path, { _csrf: 'wrong', reason: 'Mine' })).text).toContain(
      'Please send it again'.toLowerCase(),
    );
  }
  expect((await forum.guest.get(`/d/${number}`)).status).not.toBe(404);
});

test('the period for redelivery is preserved', async () => {
  const { status, text } = await forum.as.root.submit('/admin/webhooks/redeliver', {
    _csrf: 'wrong',
    webhook_id: '',
    from: '2026-01-01T10:00',
    to: '2026-01-02T10:00',
  });
  expect([status, text.includes('value="2026-01-01T10:00"'), text.includes('value="2026-01-02T10:00"')]).toEqual([
    403,
    true,
    true,
  ]);
});

test('form errors name their fields and link to them, and are shown at the fields too', async () => {
  const { number, postId } = await forum.start('ada', 'Swell');
  await forum.as.bob.submit(`/d/${number}/reply`, { content: 'Some' });
  const long = 'x'.repeat(2_500);
  const many = 'a1,b2,c3,d4,e5,f6';
  const text = { title: 'Neap', content: 'A little water' };
  const asked: readonly (readonly [Name, string, Readonly<Record<string, string>>, readonly string[]])[] = [
    ['ada', '/new', { ...text, category_id: 'general', tags: many }, ['tags']],
    ['ada', `/d/${number}/reply`, { content: '' }, ['content']],
    ['mia', `/p/${postId}/edit`, { content: 'Mended', reason: long }, ['reason']],
    ['mia', `/d/${number}/edit`, { category_id: 'x' }, ['category_id']],
    ['mia', `/d/${number}/edit`, { tags: many }, ['tags']],
    ['mia', `/d/${number}/move`, { to: 'new' }, ['post_ids']],
    ['root', '/admin/categories/save', { name: '', description: long }, ['name', 'description']],
    ['root', '/admin/tags/save', { name: '' }, ['name']],
    ['root', '/admin/reactions/save', { emoji: long }, ['slug', 'emoji']],
    ['root', '/admin/webhooks/save', { url: 'nowhere' }, ['url']],
    ['root', '/admin/single-sign-on/save', { issuer: 'nowhere' }, ['issuer']],
    ['root', '/admin/webhooks/save', { url: 'https://example.org/', 'events[]': 'nothing' }, ['events']],
  ];
  for (const [name, path, form, fields] of asked) {
    const { text: html } = await forum.as[name].submit(path, form);
    const links = [...html.matchAll(/<li><a href="#f-([^"]+)">([^<]*)<\/a>/g)];
    const found = links.map(([, field]) => field!);
    expect([path, ...found]).toEqual([path, ...fields]);
    for (const [, field, words] of links)
      expect([path, field, words, html.includes(`id="f-${field}"`), html.includes(`id="f-${field}-problem"`)]).toEqual([
        path,
        field,
        expect.stringMatching(field === 'tags' ? /tags/ : /^[A-Z][^:]*\??: /),
        true,
        true,
      ]);
  }
});

const asBrowser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

test('reloading the URL of a form redirects to its page', async () => {
  const { postId } = await forum.start('ada', 'Calm');
  const places: Readonly<Record<string, string>> = {
    '/settings/security/two-factor/confirm': '/settings/security/two-factor',
    '/settings/security/api-token/revoke': '/settings/security',
    '/settings/security/api-token': '/settings/security',
    '/admin/users/save': '/admin/users',
    '/mod/members/ada/warn': '/mod/members/ada',
    '/logout': '/',
    '//settings//security/api-token/': '/settings/security',
    [`/p/${postId}/react`]: `/p/${postId}`,
  };
  for (const [path, place] of Object.entries(places)) {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await forum.as.bob.request(method, path, { headers: asBrowser });
      expect([path, status, headers.get('location'), headers.get('cache-control')]).toEqual([
        path,
        303,
        place,
        'no-store',
      ]);
    }
  }
  expect((await forum.as.bob.get('/')).text).toContain('Account of bob');
});

test('API clients, other methods and the API get 405 with the allowed methods', async () => {
  const asked = [
    await forum.as.bob.get('/logout'),
    await forum.as.bob.get('/logout', { accept: 'application/json' }),
    await forum.as.bob.request('PUT', '/login', { headers: asBrowser }),
    await forum.as.bob.get('/api/posts', asBrowser),
    await forum.as.bob.get('/api/subscriptions/toggle', asBrowser),
  ];
  expect(asked.map(({ status }) => status)).toEqual([405, 405, 405, 405, 405]);
  for (const { headers } of asked) expect(headers.get('allow')).toContain('OPTIONS');
});
