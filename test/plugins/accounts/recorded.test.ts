import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { definePlugin, type Action } from 'parley-forum';
import {
  Accounts,
  ipAddressesViewed,
  emailChanged,
  groupChanged,
  identityConfirmed,
  loggedIn,
  loggedOut,
  loginRefused,
  passwordChanged,
  sessionEnded,
  sessionsRevoked,
  statusChanged,
  tokenIssued,
  tokenRevoked,
  type Account,
} from 'parley-forum/plugins/accounts';
import type { AuditRecord } from 'parley-forum/plugins/audit';
import type { Client, TestForum } from 'parley-forum/testing';
import { settled } from '../audit/settled.ts';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const SOMEBODY = '00000000-0000-7000-8000-000000000001';
const asJson = { accept: 'application/json' };
const recorded: { readonly action: string; readonly payload: object }[] = [];
const ACTIONS: readonly Action<any>[] = [
  ipAddressesViewed,
  emailChanged,
  groupChanged,
  identityConfirmed,
  loggedIn,
  loggedOut,
  loginRefused,
  passwordChanged,
  sessionEnded,
  sessionsRevoked,
  statusChanged,
  tokenIssued,
  tokenRevoked,
];

const listener = definePlugin({
  id: 'test-listener',
  setup(_services, plugin) {
    for (const action of ACTIONS)
      plugin.on(action, (payload) => void recorded.push({ action: action.id, payload: payload as object }));
  },
});

describe('account actions', () => {
  let forum: TestForum;
  let ada: Account;
  let client: Client;
  let member = 0;
  const address = (): string => `198.51.100.${member}`;
  const accounts = (): Accounts => forum.app.service(Accounts);
  const visitor = (headers: Record<string, string> = {}): Client =>
    forum.client({ 'x-forwarded-for': address(), ...headers });

  beforeAll(async () => {
    forum = await openForum({ extra: [listener], environment: { trustedProxies: ['127.0.0.1'] } });
  });
  beforeEach(async () => {
    const username = `Ada-${++member}`;
    ada = await accounts().create({ username, email: `${username}@example.org`, password: PASSWORD });
    client = visitor();
    await client.login(username, PASSWORD);
    recorded.length = 0;
  });
  afterAll(() => forum[Symbol.asyncDispose]());

  it('are raised for a login and a logout', async () => {
    await visitor().login(ada.username, PASSWORD);
    await client.submit('/logout');
    expect(recorded).toEqual([
      { action: 'account.logged-in', payload: { id: ada.id, address: address() } },
      { action: 'account.logged-out', payload: { id: ada.id, address: address() } },
    ]);
  });

  it('are raised for a refused login, alike for unknown accounts, and never with what was typed', async () => {
    const guest = visitor();
    await guest.csrf();
    for (const identifier of [ada.username, 'nobody-here'])
      await guest.post('/login', { identifier, password: 'Wrong-harbour-1' }, asJson);
    expect(recorded).toEqual([
      { action: 'account.login-refused', payload: { id: ada.id, address: address(), confirming: false } },
      { action: 'account.login-refused', payload: { id: undefined, address: address(), confirming: false } },
    ]);
    expect(JSON.stringify(recorded)).not.toContain('harbour');
  });

  it('are raised for confirming the password, right or wrong', async () => {
    await client.post('/login/confirm', { password: 'Wrong-harbour-1' }, asJson);
    await client.post('/login/confirm', { password: PASSWORD }, asJson);
    expect(recorded).toEqual([
      { action: 'account.login-refused', payload: { id: ada.id, address: address(), confirming: true } },
      { action: 'account.confirmed', payload: { id: ada.id, address: address() } },
    ]);
  });

  it.each([
    ['fingerprint', { 'user-agent': 'another' }, 0],
    ['address', { 'x-forwarded-for': '203.0.113.1' }, 0],
    ['idle', {}, 3_600_000],
  ])('are raised for a session that ended by its rules, with the cause: %s', async (cause, headers, milliseconds) => {
    forum.clock.advance(milliseconds);
    await visitor({ cookie: `parley.sid=${client.cookies.get('parley.sid')}`, ...headers }).get('/');
    await client.get('/');
    expect(recorded).toMatchObject([{ action: 'account.session-ended', payload: { id: ada.id, cause } }]);
  });

  it('are raised once, however many requests find a session invalid at once', async () => {
    forum.clock.advance(3_600_000);
    const copy = visitor({ cookie: `parley.sid=${client.cookies.get('parley.sid')}` });
    await Promise.all(Array.from({ length: 6 }, () => copy.get('/')));
    expect(recorded).toHaveLength(1);
  });

  it('are raised for a changed password and e-mail address, without either', async () => {
    await client.post(
      '/settings/security/password',
      { current_password: PASSWORD, password: 'Next-harbour-43' },
      asJson,
    );
    await client.post('/settings/security/email', { email: `new-${member}@example.org` }, asJson);
    expect(recorded).toEqual([
      { action: 'account.password-changed', payload: { id: ada.id, by: ada.id, session: expect.any(String) } },
      { action: 'account.email-changed', payload: { id: ada.id, by: ada.id } },
    ]);
  });

  it('are raised for a token that is issued or revoked, but not when there was none', async () => {
    for (const path of ['revoke', '', 'revoke', 'revoke'])
      await client.post(`/settings/security/api-token${path && `/${path}`}`, undefined, asJson);
    expect(recorded.map(({ action }) => action)).toEqual(['account.token-issued', 'account.token-revoked']);
  });

  it('are raised for revoked sessions, with who revoked them', async () => {
    await visitor().login(ada.username, PASSWORD);
    await client.post('/settings/security/sessions/revoke-others', undefined, asJson);
    await accounts().endSessions(ada.id, SOMEBODY);
    expect(recorded.slice(1)).toEqual([
      {
        action: 'account.sessions-revoked',
        payload: { id: ada.id, by: ada.id, which: 'others', session: expect.any(String) },
      },
      { action: 'account.sessions-revoked', payload: { id: ada.id, by: SOMEBODY, which: 'all' } },
    ]);
  });

  it('are raised for a changed group or status, with who changed it, but not if nothing changed', async () => {
    for (let time = 0; time < 2; time++) {
      await accounts().setGroup(ada.id, 'moderator', SOMEBODY);
      await accounts().setStatus(ada.id, 'disabled');
    }
    expect(recorded).toEqual([
      { action: 'account.group-changed', payload: { id: ada.id, from: 'member', to: 'moderator', by: SOMEBODY } },
      { action: 'account.status-changed', payload: { id: ada.id, from: 'active', to: 'disabled', by: undefined } },
    ]);
  });

  it('are raised when IP addresses are shown to someone else, and only then', async () => {
    const username = `Chief-${member}`;
    const admin = await accounts().create({
      username,
      email: `${username}@example.org`,
      password: PASSWORD,
      groupId: 'admin',
      ip: address(),
    });
    const chief = visitor();
    await chief.login(admin.username, PASSWORD);
    recorded.length = 0;
    await client.get(`/api/users/${admin.id}`);
    await chief.get(`/api/users/${admin.id}`);
    await chief.get(`/u/${ada.username}`);
    expect(recorded).toEqual([]);
    expect((await chief.get(`/api/users/${ada.id}`)).body.user.last_ip).toBe(address());
    await chief.get(`/api/users/search?q=Ada-${member}`);
    expect(await accounts().ipAddresses(admin.id, ada.id)).toEqual({
      registration: address(),
      lastLogin: address(),
    });
    expect(recorded).toEqual([
      { action: 'account.addresses-viewed', payload: { ids: [ada.id], by: admin.id } },
      { action: 'account.addresses-viewed', payload: { ids: [ada.id], by: admin.id } },
      { action: 'account.addresses-viewed', payload: { ids: [admin.id], by: ada.id } },
    ]);
  });

  it('are raised for each view of IP addresses, repeated ones included, with every member shown', async () => {
    const admin = await accounts().create({
      username: `Chief-${member}`,
      email: `chief-${member}@example.org`,
      password: PASSWORD,
      groupId: 'admin',
    });
    const chief = visitor();
    await chief.login(admin.username, PASSWORD);
    const crew = await accounts().importAccounts(
      Array.from({ length: 12 }, (_, at) => ({
        username: `Crew-${member}-${at}`,
        email: `crew-${member}-${at}@example.org`,
      })),
    );
    await settled(forum);
    const looks = async (): Promise<readonly string[]> => {
      await settled(forum);
      const { entries } = (await chief.get(`/admin/audit?actor=${admin.id}&action=account.addresses-viewed`, asJson))
        .body as { entries: readonly AuditRecord[] };
      return entries.flatMap(({ details, subject }) =>
        subject ? [subject.id] : String(details['members']).split(' '),
      );
    };
    for (let time = 1; time <= 2; time++) {
      expect((await chief.get(`/api/users/search?q=Crew-${member}-&limit=20`)).body.users[0]).toHaveProperty('last_ip');
      expect((await looks()).toSorted()).toEqual(
        Array.from({ length: time }, () => crew)
          .flat()
          .toSorted(),
      );
    }
    expect((await client.get(`/api/users/search?q=Crew-${member}-`)).body.users[0]).not.toHaveProperty('last_ip');
    expect(await looks()).toHaveLength(2 * crew.length);
  });

  it('reach administrators in the audit log, without passwords and e-mail addresses', async () => {
    const chief = await accounts().create({
      username: `Chief-${member}`,
      email: `chief-${member}@example.org`,
      password: PASSWORD,
      groupId: 'admin',
    });
    const admin = visitor();
    await admin.login(chief.username, PASSWORD);
    await client.post('/login/confirm', { password: 'Wrong-harbour-1' }, asJson);
    await client.post('/settings/security/email', { email: `new-${member}@example.org` }, asJson);
    await accounts().setGroup(ada.id, 'moderator', chief.id);
    await client.get('/');
    await settled(forum);
    const { entries } = (await admin.get(`/admin/audit?subject=account:${ada.id}`, asJson)).body as {
      entries: readonly AuditRecord[];
    };
    expect(entries.map(({ action }) => action).sort((a, b) => a.localeCompare(b))).toEqual([
      'account.email-changed',
      'account.group-changed',
      'account.logged-in',
      'account.login-refused',
      'account.registered',
      'account.session-ended',
    ]);
    expect(entries).toContainEqual(
      expect.objectContaining({
        action: 'account.group-changed',
        actor: { id: chief.id, username: chief.username },
        details: { from: 'member', to: 'moderator' },
      }),
    );
    expect(entries).toContainEqual(
      expect.objectContaining({
        action: 'account.session-ended',
        details: { cause: 'permissions changed' },
        address: address(),
      }),
    );
    expect(JSON.stringify(entries)).not.toMatch(/harbour|@/);
  });
});
