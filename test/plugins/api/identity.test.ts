import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startApi, type ApiForum } from './probe.ts';

let forum: ApiForum;
let token: string;
beforeAll(async () => {
  forum = await startApi();
  await forum.member('mira');
  await forum.member('otto', 'moderator');
  token = await forum.token('mira');
});
afterAll(() => forum[Symbol.asyncDispose]());
const bearer = (value: string): Record<string, string> => ({ authorization: `Bearer ${value}` });

describe('a bearer token', () => {
  it('identifies the caller, whatever the case of its scheme', async () => {
    expect((await forum.client().get('/api/probe/fresh', bearer(token))).body.who).toBe('mira');
    expect((await forum.client().get('/api/probe/fresh', { authorization: `bEARER  ${token}` })).body.who).toBe('mira');
  });

  it('that is malformed, unknown or empty gets 401 everywhere, even on public and unknown paths', async () => {
    for (const value of ['unknown', '', 'two words', `${token}x`, 'ü'.normalize('NFD').replace(/[^\x20-\x7e]/g, '')]) {
      for (const path of ['/api/version', '/api/probe/member', '/api/nothing']) {
        const answer = await forum.client().get(path, { authorization: `Bearer ${value}`.trim() });
        expect([answer.status, answer.body.success, answer.body.code], `${value} ${path}`).toEqual([
          401,
          false,
          'invalid_token',
        ]);
        expect(answer.headers.get('www-authenticate')).toContain('Bearer');
      }
    }
  });

  it('requires no CSRF token to write', async () => {
    expect((await forum.client().post('/api/probe/form', { name: 'boat' }, bearer(token))).status).toBe(201);
  });

  it('takes precedence over the session of the same request', async () => {
    const otto = await forum.session('otto');
    expect((await otto.get('/api/probe/fresh')).body.who).toBe('otto');
    expect((await otto.get('/api/probe/fresh', bearer(token))).body.who).toBe('mira');
    expect(
      (
        await otto.request('POST', '/api/probe/form', {
          json: { name: 'boat' },
          headers: { ...bearer(token), 'x-csrf-token': 'wrong' },
        })
      ).status,
    ).toBe(201);
    expect((await otto.get('/api/probe/fresh', bearer('unknown'))).status).toBe(401);
  });

  it('is ignored with any scheme other than Bearer', async () => {
    expect((await forum.client().get('/api/probe/fresh', { authorization: 'Basic bWlyYTp4' })).body.who).toBeNull();
    expect((await forum.client().get('/api/probe/member', { authorization: 'Basic bWlyYTp4' })).body.code).toBe(
      'unauthenticated',
    );
  });
});

describe('a session', () => {
  it('identifies the caller, and writes only with the CSRF token', async () => {
    const mira = await forum.session('mira');
    expect((await mira.get('/api/probe/member')).body.who).toBe('mira');
    expect((await mira.post('/api/probe/form', { name: 'boat' })).status).toBe(201);
    for (const value of ['', 'wrong', token]) {
      const answer = await mira.post('/api/probe/form', { name: 'boat' }, { 'x-csrf-token': value });
      expect([answer.status, answer.body.code]).toEqual([403, 'csrf_failed']);
    }
  });

  it('that has become invalid reads as a guest and gets 401 elsewhere', async () => {
    await forum.member('ines');
    const ines = await forum.session('ines');
    await forum.app
      .service(Accounts)
      .setPassword((await forum.app.service(Accounts).findByIdentifier('ines'))!.id, 'Another-horse-8');
    const read = await ines.get('/api/probe/fresh');
    expect([read.status, read.body.who]).toEqual([200, null]);
    expect((await ines.get('/api/probe/member')).status).toBe(401);

    const again = forum.client();
    await again.login('ines', 'Another-horse-8');
    await forum.app
      .service(Accounts)
      .setPassword((await forum.app.service(Accounts).findByIdentifier('ines'))!.id, 'A-third-horse-9');
    expect((await again.post('/api/probe/heartbeat', { name: 'boat' })).status).toBe(401);
  });
});

describe('the order of checks', () => {
  it('is login, CSRF token, existence, permission, input', async () => {
    const guest = forum.client();
    const mira = await forum.session('mira');
    const otto = await forum.session('otto');
    const status = async (
      client: typeof guest,
      id: string,
      json: unknown,
      headers?: Record<string, string>,
    ): Promise<number> => (await client.put(`/api/probe/things/${id}`, json, headers)).status;

    expect(await status(guest, '2', {}, { 'x-csrf-token': 'wrong' })).toBe(401);
    expect(await status(mira, '2', {}, { 'x-csrf-token': 'wrong' })).toBe(403);
    expect(await status(mira, '2', {})).toBe(404);
    expect(await status(mira, 'far-too-long-for-an-id', {})).toBe(404);
    expect(await status(mira, '1', {})).toBe(403);
    expect(await status(otto, '1', {})).toBe(400);
    expect(await status(otto, '1', { name: 'boat' })).toBe(200);
  });

  it('does not read a body before the caller is known to be allowed to write', async () => {
    const mira = await forum.session('mira');
    expect(
      (await mira.request('PUT', '/api/probe/things/1', { headers: { 'content-type': 'application/json' } })).status,
    ).toBe(403);
  });

  it('requires guests to log in where only members are allowed, and to send a CSRF token where guests may write', async () => {
    expect((await forum.client().get('/api/probe/login')).status).toBe(401);
    const guest = forum.client();
    expect((await guest.post('/api/probe/heartbeat', { name: 'boat' })).body.code).toBe('csrf_failed');
    await guest.csrf();
    expect((await guest.post('/api/probe/heartbeat', { name: 'boat' })).status).toBe(200);
    expect((await forum.client().post('/api/markdown/parse', { content: '*hi*' })).body).toEqual({
      success: true,
      html: '<p dir="auto"><em>hi</em></p>\n',
    });
  });
});

describe('a form', () => {
  it('is accepted if the route allows it, with its own CSRF token', async () => {
    const mira = await forum.session('mira');
    const answer = await mira.submit('/api/probe/form', { name: 'boat', 'tags[]': 'wood' });
    expect([answer.status, answer.body]).toEqual([201, { success: true, name: 'boat', tags: ['wood'] }]);
    expect((await mira.submit('/api/probe/form', { name: 'boat', _csrf: 'wrong' })).body.code).toBe('csrf_failed');
  });
});
