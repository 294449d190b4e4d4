import { beforeAll, describe, expect, test } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Answers } from 'parley-forum/ports/imports';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { Answer, Client } from 'parley-forum/testing';
import { useForum } from '../discussions/forum.ts';
import { formWith, picture } from '../uploads/forum.ts';
import { SUBSCRIPTION } from '../push/subscription.ts';

const PASSWORD = 'Plain-Sailing-42';
const asJson = { accept: 'application/json' };
const forum = useForum({ 'pro.enabled': true });
let image: Buffer;

interface Started {
  readonly id: string;
  readonly number: number;
}
/** A member with something of each kind, their own and by others. */
interface Person {
  readonly name: string;
  readonly id: string;
  readonly client: Client;
  readonly discussions: readonly [Started, Started];
  readonly replies: readonly [string, string];
  /** Ada's reply to the first of their discussions. */
  readonly answer: string;
  readonly upload: string;
  readonly foreign: Started & { readonly postId: string };
  /** With ada, who started it. */
  readonly conversation: string;
  /** Ada's message in it. */
  readonly message: string;
  readonly ownMessages: readonly [string, string];
}
type Body = object | ((person: Person) => object);
interface Write {
  /** As the routes are listed: `POST /api/posts/:id`. */
  readonly route: string;
  readonly path?: (person: Person) => string;
  readonly body?: Body;
  readonly file?: boolean;
}

const DONE: unknown = expect.toBeOneOf([200, 201, 303]);
/** Writes that others see, in an order in which one member can do all of them. */
const VISIBLE: readonly Write[] = [
  { route: 'POST /api/discussions', body: { title: 'Mine', content: 'x', category_id: 'general' } },
  {
    route: 'PUT /api/discussions/:id',
    path: ({ discussions: [one] }) => `/api/discussions/${one.id}`,
    body: { title: 'Other' },
  },
  { route: 'POST /api/posts', body: ({ foreign }) => ({ discussion_id: foreign.id, content: 'x' }) },
  { route: 'PUT /api/posts/:id', path: ({ replies: [one] }) => `/api/posts/${one}`, body: { content: 'Other' } },
  {
    route: 'PUT /api/discussions/:id/answer',
    path: ({ discussions: [one] }) => `/api/discussions/${one.id}/answer`,
    body: ({ answer }) => ({ post_id: answer }),
  },
  {
    route: 'DELETE /api/discussions/:id/answer',
    path: ({ discussions: [one] }) => `/api/discussions/${one.id}/answer`,
  },
  { route: 'POST /p/:id/answer', path: ({ answer }) => `/p/${answer}/answer`, body: { accepted: 'true' } },
  { route: 'POST /api/reactions/toggle', body: ({ foreign }) => ({ post_id: foreign.postId, reaction: 'like' }) },
  { route: 'POST /api/reports', body: ({ foreign }) => ({ post_id: foreign.postId, reason: 'spam' }) },
  { route: 'POST /api/subscriptions/follow', body: { kind: 'category', subject_id: 'general', following: true } },
  { route: 'POST /api/subscriptions/mute', body: { kind: 'category', subject_id: 'general', muted: true } },
  { route: 'POST /api/subscriptions/toggle', body: ({ foreign }) => ({ discussion_id: foreign.id }) },
  { route: 'POST /api/typing-indicator/typing', body: ({ foreign }) => ({ discussion_id: foreign.id }) },
  { route: 'POST /api/typing-indicator/stop', body: ({ foreign }) => ({ discussion_id: foreign.id }) },
  { route: 'POST /api/uploads', file: true },
  { route: 'DELETE /api/uploads/:id', path: ({ upload }) => `/api/uploads/${upload}` },
  { route: 'POST /api/conversations', body: { to: ['ada'], subject: 'Mine', content: 'x' } },
  {
    route: 'POST /api/conversations/:id/messages',
    path: ({ conversation }) => `/api/conversations/${conversation}/messages`,
    body: { content: 'x' },
  },
  {
    route: 'PUT /api/messages/:id',
    path: ({ ownMessages: [one] }) => `/api/messages/${one}`,
    body: { content: 'Other' },
  },
  {
    route: 'POST /messages/edit/:id',
    path: ({ ownMessages: [one] }) => `/messages/edit/${one}`,
    body: { content: 'Once more' },
  },
  { route: 'DELETE /api/messages/:id', path: ({ ownMessages: [one] }) => `/api/messages/${one}` },
  { route: 'POST /messages/remove/:id', path: ({ ownMessages: [, two] }) => `/messages/remove/${two}`, body: {} },
  { route: 'POST /api/message-reports', body: ({ message }) => ({ message_id: message, reason: 'spam' }) },
  {
    route: 'POST /messages/report/:id',
    path: ({ message }) => `/messages/report/${message}`,
    body: { reason: 'spam' },
  },
  { route: 'POST /messages/new', body: { to: 'ada', subject: 'Mine', content: 'x' } },
  { route: 'POST /messages/:id', path: ({ conversation }) => `/messages/${conversation}`, body: { content: 'y' } },
  { route: 'POST /new', body: { title: 'Mine', content: 'x', category_id: 'general' } },
  { route: 'POST /d/:address/reply', path: ({ foreign }) => `/d/${foreign.number}/reply`, body: { content: 'y' } },
  {
    route: 'POST /d/:address/edit',
    path: ({ discussions: [one] }) => `/d/${one.number}/edit`,
    body: { title: 'Another', category_id: 'general' },
  },
  { route: 'POST /p/:id/edit', path: ({ replies: [one] }) => `/p/${one}/edit`, body: { content: 'Another' } },
  { route: 'POST /p/:id/react', path: ({ foreign }) => `/p/${foreign.postId}/react`, body: { reaction: 'love' } },
  { route: 'POST /p/:id/report', path: ({ foreign }) => `/p/${foreign.postId}/report`, body: { reason: 'spam' } },
  { route: 'POST /follows', body: { kind: 'category', subject_id: 'general', level: 'following' } },
  { route: 'POST /subscriptions', body: ({ foreign }) => ({ discussion_id: foreign.id, level: 'tracking' }) },
  { route: 'POST /settings/profile', body: { bio: 'Buy my ropes' } },
  { route: 'PUT /api/users/:id', path: ({ id }) => `/api/users/${id}`, body: { display_name: 'Buy my ropes' } },
  { route: 'POST /settings/about', body: { about: 'Buy my ropes' } },
  {
    route: 'PUT /api/users/:id/profile',
    path: ({ id }) => `/api/users/${id}/profile`,
    body: { links: ['https://ropes.example/'] },
  },
  { route: 'POST /settings/avatar', file: true },
  { route: 'PUT /api/users/:id/avatar', path: ({ id }) => `/api/users/${id}/avatar`, file: true },
  { route: 'POST /settings/uploads', file: true },
  { route: 'POST /p/:id/delete', path: ({ replies: [one] }) => `/p/${one}/delete`, body: {} },
  { route: 'DELETE /api/posts/:id', path: ({ replies: [, other] }) => `/api/posts/${other}` },
  { route: 'POST /d/:address/delete', path: ({ discussions: [one] }) => `/d/${one.number}/delete`, body: {} },
  { route: 'DELETE /api/discussions/:id', path: ({ discussions: [, other] }) => `/api/discussions/${other.id}` },
  { route: 'POST /p/:id/restore', path: ({ replies: [one] }) => `/p/${one}/restore`, body: {} },
  { route: 'POST /api/posts/:id/restore', path: ({ replies: [, other] }) => `/api/posts/${other}/restore`, body: {} },
  {
    route: 'POST /api/discussions/:id/restore',
    path: ({ discussions: [, other] }) => `/api/discussions/${other.id}/restore`,
    body: {},
  },
];

/**
 * Writes that concern no one else: security, reading, taking back their own content and leaving. In this order,
 * ending with the logout.
 */
const OWN: readonly (Write & { readonly status?: number })[] = [
  { route: 'POST /api/presence/update', body: { page: '/' } },
  { route: 'POST /api/session', body: {} },
  { route: 'POST /api/markdown/parse', body: { content: '*x*' } },
  { route: 'POST /api/notifications/mark-read' },
  { route: 'POST /api/bookmarks', body: ({ foreign }) => ({ post_id: foreign.postId }) },
  { route: 'PUT /api/bookmarks/:id', status: 404, path: () => '/api/bookmarks/none', body: { note: 'x' } },
  { route: 'DELETE /api/bookmarks/:id', status: 404, path: () => '/api/bookmarks/none' },
  { route: 'POST /p/:id/bookmark', path: ({ foreign }) => `/p/${foreign.postId}/bookmark`, body: { kept: 'true' } },
  { route: 'POST /bookmarks/:id', status: 404, path: () => '/bookmarks/none', body: { note: 'x' } },
  { route: 'POST /bookmarks/remove', body: {} },
  { route: 'PUT /api/drafts/:key', path: () => '/api/drafts/new', body: { fields: { content: 'x' } } },
  { route: 'DELETE /api/drafts/:key', path: () => '/api/drafts/new' },
  { route: 'POST /drafts/discard', body: { key: 'new' } },
  { route: 'DELETE /api/held-posts/:id', status: 404, path: () => '/api/held-posts/none' },
  { route: 'POST /settings/held-posts/:id/withdraw', status: 404, path: () => '/settings/held-posts/none/withdraw' },
  {
    route: 'POST /api/read-marks',
    body: ({ foreign }) => ({ read_marks: [{ discussion_id: foreign.id, number: 1 }] }),
  },
  { route: 'POST /api/read-marks/all', body: {} },
  { route: 'POST /api/posts/:id/unread', path: ({ foreign }) => `/api/posts/${foreign.postId}/unread`, body: {} },
  { route: 'POST /read-marks', body: ({ foreign }) => ({ discussion_id: foreign.id, number: 1 }) },
  { route: 'POST /read-marks/all', body: {} },
  { route: 'POST /p/:id/unread', path: ({ foreign }) => `/p/${foreign.postId}/unread`, body: {} },
  {
    route: 'PUT /api/conversations/:id',
    path: ({ conversation }) => `/api/conversations/${conversation}`,
    body: { is_muted: true },
  },
  {
    route: 'POST /api/conversations/:id/read',
    path: ({ conversation }) => `/api/conversations/${conversation}/read`,
    body: {},
  },
  { route: 'DELETE /api/conversations/:id', status: 404, path: () => '/api/conversations/none' },
  {
    route: 'POST /messages/:id/mute',
    path: ({ conversation }) => `/messages/${conversation}/mute`,
    body: { muted: false },
  },
  { route: 'POST /messages/:id/leave', path: ({ conversation }) => `/messages/${conversation}/leave`, body: {} },
  { route: 'POST /settings/messages', body: { open: false } },
  { route: 'POST /notifications/read', body: {} },
  { route: 'POST /appearance', body: {} },
  { route: 'POST /settings/keyboard', body: {} },
  { route: 'POST /settings/language', body: {} },
  { route: 'POST /first-steps/hide' },
  { route: 'POST /login/confirm/end', body: {} },
  { route: 'POST /login/confirm', body: { password: PASSWORD } },
  { route: 'POST /settings/notifications', body: {} },
  { route: 'POST /api/push/devices', body: SUBSCRIPTION },
  { route: 'DELETE /api/push/devices/:id', status: 404, path: () => '/api/push/devices/none' },
  {
    route: 'POST /settings/notifications/devices/remove',
    status: 404,
    body: { id: '0190a000-0000-7000-8000-000000000000' },
  },
  { route: 'POST /settings/privacy', body: {} },
  { route: 'POST /settings/avatar/remove' },
  { route: 'DELETE /api/users/:id/avatar', path: ({ id }) => `/api/users/${id}/avatar` },
  { route: 'PUT /api/notifications/preferences', body: { digest: 'none' } },
  { route: 'POST /settings/uploads/delete', body: ({ upload }) => ({ id: upload }) },
  { route: 'POST /settings/feeds', body: { name: 'Reader' } },
  { route: 'POST /settings/feeds/revoke', status: 404, body: { id: '0190a000-0000-7000-8000-000000000000' } },
  { route: 'POST /settings/security/two-factor/begin' },
  { route: 'POST /settings/security/two-factor/confirm', status: 400, body: { code: '000000' } },
  { route: 'POST /settings/security/two-factor/codes', status: 409 },
  { route: 'POST /settings/security/two-factor/off', status: 400, body: { code: '000000' } },
  { route: 'POST /settings/security/api-token' },
  { route: 'POST /settings/security/api-token/revoke' },
  { route: 'POST /settings/security/email', body: ({ name }) => ({ email: `${name}@elsewhere.test` }) },
  {
    route: 'POST /settings/security/email/confirm/:token',
    status: 404,
    path: () => `/settings/security/email/confirm/${'a'.repeat(64)}`,
    body: {},
  },
  { route: 'POST /settings/security/sessions/revoke', status: 404, body: { id: '0'.repeat(64) } },
  { route: 'POST /settings/security/sessions/revoke-others' },
  { route: 'POST /settings/security/password', body: { current_password: PASSWORD, password: 'Fair-Winds-4312' } },
  { route: 'POST /settings/security/first-password', status: 409, body: { password: 'Fair-Winds-4312' } },
  {
    route: 'POST /settings/security/linked-accounts/:provider/link',
    status: 404,
    path: () => '/settings/security/linked-accounts/none/link',
  },
  {
    route: 'POST /settings/security/linked-accounts/:provider/unlink',
    status: 404,
    path: () => '/settings/security/linked-accounts/none/unlink',
  },
  { route: 'POST /auth/:provider/confirm', status: 404, path: () => '/auth/none/confirm', body: {} },
  { route: 'POST /login/link', status: 401 },
  { route: 'POST /settings/privacy/export' },
  { route: 'POST /logout' },
];
/** Requires the member's name and logs the member out, so it is tested separately. */
const LEAVING = 'POST /settings/privacy/delete';
/** For callers who are not logged in, or not members. */
const FOR_OTHERS = new Set([
  'POST /login',
  'POST /login/two-factor',
  'POST /login/verify',
  'POST /register',
  'POST /register/confirm/:token',
  'POST /register/link',
  'POST /auth/:provider',
  'POST /password/forgot',
  'POST /password/reset/:token',
  'POST /api/webhooks',
  'POST /notifications/stop/:user/:kind/:token',
]);

async function send(person: Person, { route, path, body, file }: Write): Promise<Answer> {
  const [method = '', pattern = ''] = route.split(' ');
  const to = path?.(person) ?? pattern;
  if (file) return person.client.request(method, to, { body: formWith(image, 'boat.png'), headers: asJson });
  const json = typeof body === 'function' ? (body as (person: Person) => object)(person) : body;
  return person.client.request(method, to, { ...(json && { json }), headers: asJson });
}

let count = 0;
async function person(): Promise<Person> {
  const name = `deckhand${++count}`;
  const { id } = await forum.app.app
    .service(Accounts)
    .create({ username: name, email: `${name}@forum.test`, password: PASSWORD });
  const client = forum.app.client();
  await client.login(name, PASSWORD);
  const foreign = await forum.start('ada', `For ${name}`);
  const start = async (): Promise<Started> =>
    (await client.post('/api/discussions', { title: `By ${name}`, content: 'x', category_id: 'help' })).body.discussion;
  const reply = async (): Promise<string> =>
    (await client.post('/api/posts', { discussion_id: foreign.id, content: 'Before' })).body.post.id;
  const between = { to: [name], subject: `Between us, ${name}`, content: 'x' };
  const { conversation, message } = (await forum.as.ada.post('/api/conversations', between)).body;
  const say = async (): Promise<string> =>
    (await client.post(`/api/conversations/${conversation.id}/messages`, { content: 'Mine' })).body.message.id;
  const { upload } = (await client.request('POST', '/api/uploads', { body: formWith(image, 'own.png') })).body;
  const discussions = [await start(), await start()] as const;
  return {
    name,
    id,
    client,
    discussions,
    answer: (await forum.reply('ada', discussions[0].id, 'Like this')).id,
    replies: [await reply(), await reply()],
    upload: upload.id,
    foreign,
    conversation: conversation.id,
    message: message.id,
    ownMessages: [await say(), await say()],
  };
}

const SANCTIONS = {
  async suspended(): Promise<Person> {
    const one = await person();
    await forum.app.app
      .service(Access)
      .suspend({ userId: one.id, until: new Date(forum.app.clock.now() + 86_400_000), reason: 'Rude words' });
    return one;
  },
  async banned(): Promise<Person> {
    const one = await person();
    await forum.app.app.service(Accounts).setGroup(one.id, 'banned');
    const client = forum.app.client();
    await client.login(one.name, PASSWORD);
    return { ...one, client };
  },
};

beforeAll(async () => {
  image = await picture();
  const { id } = (await forum.guest.get('/api/categories/help')).body.category;
  await forum.app.app.service(Answers).ask(id, true);
});

test('the tables list every write that the forum offers to members', () => {
  const least = new Set(['everyone', 'member']);
  const offered = forum.app.app.routes
    .list()
    .filter(
      ({ method, surface, can }) =>
        method !== 'get' &&
        ['api', 'pages'].includes(surface.id) &&
        (typeof can === 'string' || least.has(can.default)),
    )
    .map(({ method, surface, path }) => `${method.toUpperCase()} ${surface.prefix.replace(/\/$/, '')}${path}`);
  const named = [...VISIBLE, ...OWN].map(({ route }) => route);
  expect([...named, LEAVING, ...FOR_OTHERS].toSorted()).toEqual(offered.toSorted());
});

test('an ordinary member may do all writes that others see', async () => {
  const one = await person();
  const answers: unknown[] = [];
  for (const write of VISIBLE) answers.push([write.route, (await send(one, write)).status]);
  expect(answers).toEqual(VISIBLE.map(({ route }) => [route, DONE]));
});

describe.each(Object.entries(SANCTIONS))('a %s member', (kind, make) => {
  test('is refused all writes that others would see, with a reason', async () => {
    const one = await make();
    const answers: unknown[] = [];
    for (const write of VISIBLE) {
      const { status, body } = await send(one, write);
      answers.push([write.route, status, typeof body?.error]);
    }
    expect(answers).toEqual(VISIBLE.map(({ route }) => [route, 403, 'string']));
    const bio = await send(one, { route: 'POST /settings/profile', body: { bio: 'x' } });
    expect([bio.body.code, bio.body.error]).toEqual([
      kind,
      expect.stringContaining(kind === 'banned' ? 'You are banned' : 'Rude words'),
    ]);
    const profile = (await one.client.get('/settings/profile')).text;
    expect(profile).toContain('You cannot change your public profile');
    expect(profile).not.toContain('action="/settings/profile"');
    const page = async (): Promise<unknown> => {
      const { status, text } = await one.client.submit('/settings/profile', { bio: 'x' });
      return [status, text];
    };
    await expect
      .poll(page)
      .toEqual([403, expect.stringContaining(kind === 'banned' ? 'You are banned' : 'Rude words')]);
    expect((await forum.app.app.service(Accounts).find(one.id))?.bio).toBe('');
  });

  test('can set language and time zone, by the API as on the page, but nothing else with them', async () => {
    const one = await make();
    const change = (body: object): Promise<Answer> => one.client.put(`/api/users/${one.id}`, body);
    const { status, body } = await change({ language: 'de', timezone: 'Europe/Lisbon' });
    expect([status, body.user]).toEqual([200, expect.objectContaining({ language: 'de', timezone: 'Europe/Lisbon' })]);
    const refused = await change({ language: 'en', bio: 'Buy my ropes' });
    expect([refused.status, refused.body.code]).toEqual([403, kind]);
    expect((await change({ display_name: null })).status).toBe(403);
    expect((await one.client.put(`/api/users/${forum.ids.ada}`, { language: 'de' })).status).toBe(403);
    const { language, timezone, bio } = (await forum.app.app.service(Accounts).find(one.id))!;
    expect([language, timezone, bio]).toEqual(['de', 'Europe/Lisbon', '']);
    expect((await change({ language: 'tlh' })).status).toBe(400);
  });

  test('can read, secure the account, export the data and log out', async () => {
    const one = await make();
    for (const path of [
      '/',
      `/d/${one.foreign.number}`,
      `/u/${one.name}`,
      '/settings/security',
      '/settings/standing',
      '/settings/privacy',
      '/notifications',
    ]) {
      expect([path, (await one.client.get(path)).status]).toEqual([path, expect.toBeOneOf([200, 301])]);
    }
    const answers: unknown[] = [];
    for (const write of OWN) answers.push([write.route, (await send(one, write)).status]);
    expect(answers).toEqual(OWN.map(({ route, status = DONE }) => [route, status]));
  });

  test('can delete the account', async () => {
    const one = await make();
    const answer = await send(one, { route: LEAVING, body: { username: one.name, mode: 'anonymise' } });
    expect(answer.body ?? answer.text).toMatchObject({ success: true });
  });
});
