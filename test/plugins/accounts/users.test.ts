import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definePlugin, Type } from 'parley-forum';
import { Accounts, userFields, type Account } from 'parley-forum/plugins/accounts';
import type { TestForum } from 'parley-forum/testing';
import { openForum } from './forum.ts';

const PASSWORD = 'Quiet-harbour-42';
const NAMES = ['Anna', 'annabel', 'Joanna', 'Hanna_x', 'Bob', 'Hannax'];

describe('users in the API', () => {
  let forum: TestForum;
  const accounts = new Map<string, Account>();
  const asked: (readonly string[])[] = [];
  const counting = definePlugin({
    id: 'counting',
    setup: (_services, plugin) =>
      plugin.extend(userFields, {
        name: 'boats',
        result: Type.Integer(),
        loadMany: (ids) => (asked.push(ids), Promise.resolve(ids.map((_id, index) => index))),
      }),
  });
  beforeAll(async () => {
    forum = await openForum({ extra: [counting] });
    for (const username of NAMES)
      accounts.set(
        username,
        await forum.app.service(Accounts).create({
          username,
          email: `${username}@example.org`,
          password: PASSWORD,
          ip: '192.0.2.1',
          ...(username === 'Bob' && { groupId: 'admin' }),
        }),
      );
  });
  afterAll(() => forum[Symbol.asyncDispose]());
  const search = async (query: string) => forum.client().get(`/api/users/search?${query}`);
  const names = async (query: string): Promise<readonly string[]> =>
    (await search(query)).body.users.map(({ username }: { username: string }) => username);

  it('are found by any part of their name, prefix matches first', async () => {
    expect(await names('q=ANNA')).toEqual(['Anna', 'annabel', 'Hanna_x', 'Hannax', 'Joanna']);
    expect(await names('q=nna_x')).toEqual(['Hanna_x']);
    expect(await names('q=%25')).toEqual([]);
  });

  it('are found by the beginning of their name alone for fewer than three letters', async () => {
    expect(await names('q=an')).toEqual(['Anna', 'annabel']);
  });

  it('are listed in pages of at most twenty', async () => {
    expect((await search('q=anna&limit=2')).body).toMatchObject({ count: 2, hasMore: true });
    expect(await names('q=anna&limit=2&offset=2')).toEqual(['Hanna_x', 'Hannax']);
    const { next_cursor: cursor } = (await search('q=anna&limit=2')).body;
    expect(await names(`q=anna&limit=2&cursor=${cursor}`)).toEqual(['Hanna_x', 'Hannax']);
    expect((await search('q=anna&limit=500')).body).toMatchObject({ count: 5, hasMore: false });
  });

  it.each([['q='], [''], ['q=%20'], ['q=a&limit=0'], ['q=a&limit=x'], ['q=a&offset=-1'], ['q=a&cursor=x']])(
    'refuse the search "%s"',
    async (query) => {
      expect((await search(query)).status).toBe(400);
    },
  );

  it('show others only public fields', async () => {
    const { body } = await forum.client().get(`/api/users/${accounts.get('Anna')!.id}`);
    expect(Object.keys(body.user).sort()).toEqual([
      'avatar_url',
      'bio',
      'boats',
      'discussion_count',
      'display_name',
      'group',
      'id',
      'joined_at',
      'last_seen_at',
      'post_count',
      'username',
    ]);
    expect(body.user).toMatchObject({
      username: 'Anna',
      group: { id: 'member', name: 'Member' },
      joined_at: '2026-01-15T12:00:00.000Z',
      last_seen_at: null,
    });
  });

  it('show their e-mail address to themselves, and IP addresses to admins', async () => {
    const path = `/api/users/${accounts.get('Anna')!.id}`;
    const anna = forum.client();
    await anna.login('anna', PASSWORD);
    const own = (await anna.get(path)).body.user;
    expect(own.email).toBe('Anna@example.org');
    expect(own).not.toHaveProperty('last_ip');
    const admin = forum.client();
    await admin.login('bob', PASSWORD);
    expect((await admin.get(path)).body.user).toMatchObject({
      email: 'Anna@example.org',
      registration_ip: '192.0.2.1',
      last_ip: '127.0.0.1',
    });
    expect((await admin.get(path)).text).not.toMatch(/password|api_token/);
  });

  it('load other plugins’ fields in one batch', async () => {
    asked.length = 0;
    expect((await search('q=anna')).body.users[1].boats).toBe(1);
    expect(asked.map((ids) => ids.length)).toEqual([5]);
  });

  it('are described in OpenAPI with those fields', async () => {
    const { body } = await forum.client().get('/api/openapi.json');
    expect(JSON.stringify(body.paths['/api/users/{id}'].get.responses['200'])).toMatch(/"last_seen_at".*"boats"/);
  });

  it('are 404 for an unknown id', async () => {
    expect((await forum.client().get('/api/users/xyz')).status).toBe(404);
    expect((await forum.client().get('/api/users/00000000-0000-7000-8000-000000000000')).status).toBe(404);
  });
});
