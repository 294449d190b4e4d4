import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definePlugin, type Request } from 'parley-forum';
import { Accounts, Sessions } from 'parley-forum/plugins/accounts';
import { negotiated, pages, redirect } from 'parley-forum/plugins/web';
import type { Client, TestForum } from 'parley-forum/testing';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';

describe('a session that goes on under another id', () => {
  let forum: TestForum;
  let ada: Client;
  let kept: Request;
  const keeping = definePlugin({
    id: 'keeping',
    setup: (_services, plugin) =>
      plugin.route(pages, { method: 'get', path: '/kept', can: 'member' })(({ req }) => {
        kept = req;
        return negotiated(redirect('/'), {});
      }),
  });
  beforeAll(async () => {
    forum = await openForum({ extra: [keeping] });
    await forum.app.service(Accounts).create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD });
    ada = forum.client();
    await ada.login('ada', PASSWORD);
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it.each([
    ['its member confirms who they are', '/login/confirm', { password: PASSWORD }, 303],
    ['all others are ended', '/settings/security/sessions/revoke-others', {}, 303],
    [
      'a new password is refused',
      '/settings/security/password',
      { current_password: PASSWORD, password: 'short', password_confirmation: 'short' },
      400,
    ],
    [
      'the password is changed',
      '/settings/security/password',
      { current_password: PASSWORD, password: `${PASSWORD}!`, password_confirmation: `${PASSWORD}!` },
      303,
    ],
  ])('is good at every moment while %s', async (_when, path, body, status) => {
    expect((await ada.get('/kept', { accept: 'application/json' })).status).toBe(200);
    const sessions = forum.app.service(Sessions);
    const looks: (string | undefined)[] = [];
    const change = { done: false };
    const answered = ada.submit(path, body).finally(() => (change.done = true));
    while (!change.done) looks.push((await sessions.reauthenticate(kept))?.username);
    expect((await answered).status).toBe(status);
    expect(looks.length).toBeGreaterThan(3);
    expect(looks.filter((name) => name !== 'ada')).toEqual([]);
    expect((await ada.get('/settings/security')).status).toBe(200);
  });
});
