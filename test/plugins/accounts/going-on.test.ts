import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Data, definePlugin, sql, type Request } from 'parley-forum';
import { Accounts, Sessions } from 'parley-forum/plugins/accounts';
import { negotiated, pages, redirect } from 'parley-forum/plugins/web';
import type { Client, TestForum } from 'parley-forum/testing';
import type { AccountsService } from '../../../plugins/accounts/accounts/service.ts';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';

describe.each([
  ['the database', { redisUrl: undefined }],
  ['Redis, where there is one', {}],
])('a session in %s that continues under a new id', (_store, environment) => {
  let forum: TestForum;
  let ada: Client;
  let id: string;
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
    forum = await openForum({ extra: [keeping], environment });
    const account = { username: 'ada', email: 'ada@forum.test', password: PASSWORD };
    ({ id } = await forum.app.service(Accounts).create(account));
    ada = forum.client();
    await ada.login('ada', PASSWORD);
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it.each([
    ['its member confirms their identity', '/login/confirm', { password: PASSWORD }, 303],
    ['all other sessions are ended', '/settings/security/sessions/revoke-others', {}, 303],
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
  ])('stays valid at every moment while %s', async (_when, path, body, status) => {
    expect((await ada.get('/kept', { accept: 'application/json' })).status).toBe(200);
    const sessions = forum.app.service(Sessions);
    const looks: (string | undefined)[] = [];
    const change = { done: false };
    const answered = ada.submit(path, body).finally(() => (change.done = true));
    while (!change.done) {
      looks.push((await sessions.reauthenticate(kept))?.username);
      // Without a fetch, it resolves at once.
      await turn();
    }
    expect((await answered).status).toBe(status);
    expect(looks.length).toBeGreaterThan(3);
    expect(looks.filter((name) => name !== 'ada')).toEqual([]);
    expect((await ada.get('/settings/security')).status).toBe(200);
  });

  it('survives two identity confirmations at once', async () => {
    for (const round of [1, 2, 3]) {
      const answers = await Promise.all([1, 2].map(() => ada.submit('/login/confirm', { password: `${PASSWORD}!` })));
      expect(
        answers.map(({ status }) => status),
        `round ${round}`,
      ).toContain(303);
      expect((await ada.get('/settings/security')).status, `round ${round}`).toBe(200);
    }
  });

  /** Ends all other sessions, with other work just before and after; resolves to whether she is still logged in. */
  const endsOthers = async (
    before: () => Promise<unknown>,
    behind: () => Promise<unknown> = async () => undefined,
  ): Promise<boolean> => {
    const accounts = forum.app.service(Accounts) as AccountsService;
    const { endOtherSessions } = accounts;
    const ending = vi.spyOn(accounts, 'endOtherSessions').mockImplementationOnce(async (account) => {
      await before();
      const version = await endOtherSessions.call(accounts, account);
      await behind();
      return version;
    });
    expect((await ada.submit('/settings/security/sessions/revoke-others')).status).toBe(303);
    ending.mockRestore();
    return (await ada.get('/settings/security')).status === 200;
  };
  const change = (group: string) => (): Promise<void> => forum.app.service(Accounts).setGroup(id, group);

  it('survives when the others are ended just after the account changed', async () => {
    expect(await endsOthers(change('moderator'))).toBe(true);
  });

  it('stays ended if it was ended meanwhile, even if the account had just changed', async () => {
    const { redis } = forum.app.cache;
    const endAll = async (): Promise<void> => {
      await forum.app.service(Data).all(sql`delete from accounts_session where account_id = ${id}`);
      for (const key of (await redis?.zrange(`sessions-of:${id}`, '0', '-1')) ?? []) await redis?.del(`session:${key}`);
    };
    expect(await endsOthers(change('member'), endAll)).toBe(false);
  });

  it('ends when the account changes just after the others were ended', async () => {
    await ada.login('ada', `${PASSWORD}!`);
    expect(await endsOthers(async () => undefined, change('moderator'))).toBe(false);
  });
});
