import { beforeAll, describe, expect, test } from 'vitest';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum({ 'presence.public': true });
const here = async (name: Name | 'guest'): Promise<readonly (string | undefined)[]> => {
  const { visitors } = expectStatus(
    await (name === 'guest' ? forum.guest : forum.as[name]).get('/api/presence/visitors'),
    200,
  ).body;
  return visitors.map(({ user }: { user: { username: string } | null }) => user?.username);
};
const seen = async (name: Name | 'guest'): Promise<string | null> =>
  expectStatus(await (name === 'guest' ? forum.guest : forum.as[name]).get(`/api/users/${forum.ids.ada}`), 200).body
    .user.last_seen_at;
const choose = async (choices: Readonly<Record<string, string>>): Promise<void> =>
  void expectStatus(await forum.as.ada.submit('/settings/privacy', choices), 303);

beforeAll(async () => {
  for (const name of ['ada', 'bob'] as const)
    expectStatus(await forum.as[name].post('/api/presence/update', { page: '/' }), 200);
});

describe('privacy choices', () => {
  test('can only be made by the member', async () => {
    expect((await forum.guest.get('/settings/privacy')).headers.get('location')).toBe(
      '/login?return_to=%2Fsettings%2Fprivacy',
    );
    expect((await forum.as.bob.get('/settings/profile')).text).toContain('href="/settings/privacy"');
    expect((await forum.as.ada.request('POST', '/settings/privacy', { form: { hide_presence: 'true' } })).status).toBe(
      403,
    );
    expect((await forum.as.ada.submit('/settings/privacy', { hide_presence: 'perhaps' })).status).toBe(400);
    expect(await here('guest')).toContain('ada');
    expect(await seen('guest')).not.toBeNull();
  });

  test('a member who hides their presence is still counted, and shown as a guest', async () => {
    const before = expectStatus(await forum.guest.get('/api/presence/stats'), 200).body;
    await choose({ hide_presence: 'true' });
    for (const name of ['guest', 'bob', 'root'] as const) expect(await here(name)).not.toContain('ada');
    expect(await here('guest')).toContain('bob');
    expect((await forum.as.bob.get('/api/presence/members?usernames=ada,bob')).body.usernames).toEqual(['bob']);
    expect(expectStatus(await forum.guest.get('/api/presence/stats'), 200).body.authenticated).toBe(
      before.authenticated,
    );
    expect((await forum.guest.get('/online')).text).not.toContain('/u/ada');
    expect(await seen('guest')).not.toBeNull();
  });

  test('a member who hides when they were last seen shows it to administrators only', async () => {
    await choose({ hide_last_seen: 'true' });
    expect(await here('guest')).toContain('ada');
    for (const name of ['guest', 'bob', 'mia'] as const) expect(await seen(name)).toBeNull();
    for (const name of ['ada', 'root'] as const) expect(await seen(name)).not.toBeNull();
    const { users } = expectStatus(await forum.guest.get('/api/users/search?q=ada'), 200).body;
    expect(users[0].last_seen_at).toBeNull();
  });

  test('are saved and shown in the settings', async () => {
    await choose({ hide_presence: 'true', hide_last_seen: 'true' });
    const { text } = await forum.as.ada.get('/settings/privacy');
    expect(text.match(/role="switch" name="hide_\w+" value="true" checked/g)).toHaveLength(2);
    const { body } = await forum.as.ada.get('/settings/privacy', { accept: 'application/json' });
    expect(body).toEqual({ success: true, hide_presence: true, hide_last_seen: true });
    await choose({});
    expect(await here('guest')).toContain('ada');
    expect(await seen('guest')).not.toBeNull();
  });
});
