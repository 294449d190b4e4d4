import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Protection } from 'parley-forum/plugins/protection';
import type { Client } from 'parley-forum/testing';
import { guardedFetch } from '../../../plugins/single-sign-on/openid/guarded-fetch.ts';
import { ADMIN, hasSession, JSON_ONLY, LINKED, PASSWORD, target, useSignOn } from './forum.ts';
import { CLIENT } from './identity-provider.ts';
import { startLyingProvider, type Lies, type LyingProvider } from './lying-provider.ts';

const forum = useSignOn();
let liar: LyingProvider;
let id: string;

beforeAll(async () => {
  liar = await startLyingProvider(CLIENT.id);
  const { provider } = (
    await forum.save({ slug: 'other', name: 'Other', issuer: liar.issuer, client_id: CLIENT.id, client_secret: 'any' })
  ).body;
  id = provider.id;
});
afterAll(() => liar[Symbol.asyncDispose]());

/** Returns from it, as whoever it claims. */
async function comeBack(lies: Lies) {
  const client = forum.visitor();
  const location = await forum.leave(client, '/auth/other');
  liar.lies = lies;
  const answer = await forum.back(client, liar.answer(location));
  liar.lies = {};
  return { client, answer };
}
/** The reasons of failed logins, from the log. */
const problems = (): readonly unknown[] =>
  forum.forum.lines
    .filter(({ message }) => message === 'a login at an identity provider failed')
    .map(({ problem }) => problem);
const hour = 3_600;
const now = (): number => Math.floor(Date.now() / 1_000);

describe('a provider’s response', () => {
  it('is accepted when everything in it is valid', async () => {
    const { answer } = await comeBack({});
    expect([answer.status, target(answer)]).toEqual([303, '/login/link']);
  });

  it('verifies only the address that comes with email_verified from the same source', async () => {
    await forum.save({ id, trusts_email: true });
    const proven = async (lies: Lies) => {
      await comeBack(lies);
      const rows = await forum.forum.app.data.all(
        sql<{
          email: string | null;
        }>`select proven_email as email from single_sign_on_pending order by expires_at desc, key limit 1`,
      );
      return rows[0]!.email;
    };
    const userInfo = { email: 'liz@elsewhere.test' };
    expect(await proven({ userInfo: { ...userInfo, email_verified: true } })).toBe('liz@elsewhere.test');
    expect(await proven({ claims: { email_verified: true }, userInfo })).toBe(null);
  });

  it.each<readonly [string, RegExp, Lies]>([
    ['for another login', /nonce/, { claims: { nonce: 'of another' } }],
    ['without a nonce', /nonce/, { claims: { nonce: undefined } }],
    ['for another client', /"aud"/, { claims: { aud: 'another-client' } }],
    [
      'for several clients, without this one as authorized party',
      /untrusted audiences/,
      { claims: { aud: [CLIENT.id, 'another-client'] } },
    ],
    ['authorized for another client', /issued for another client/, { claims: { azp: 'another-client' } }],
    ['from another issuer', /"iss"/, { claims: { iss: 'http://127.0.0.1:1' } }],
    ['that has expired', /timestamp/, { claims: { iat: now() - 2 * hour, exp: now() - hour } }],
    ['without an expiry', /"exp"/, { claims: { exp: undefined } }],
    ['without a subject', /"sub"/, { claims: { sub: undefined } }],
    ['with control characters in the subject', /an invalid subject/, { claims: { sub: 'ada\u0000' } }],
    ['with a subject that is too long', /an invalid subject/, { claims: { sub: 'a'.repeat(256) } }],
    ['signed with another key', /signature verification failed/, { forged: true }],
    ['without a signature', /"alg"/, { header: { alg: 'none' } }],
    ['with an HMAC signature, made with the public key', /"alg"/, { header: { alg: 'HS256' } }],
    [
      'that is missing',
      /ID|id_token/,
      {
        tokens: (res) =>
          res.setHeader('content-type', 'application/json').end('{"access_token":"any","token_type":"Bearer"}'),
      },
    ],
    ['in a response that is not JSON', /content-type/, { tokens: (res) => res.end('<p>Come in') }],
    [
      'replaced by an error response',
      /status code|error in the response/,
      { tokens: (res) => res.writeHead(500).end() },
    ],
    [
      'behind a redirect',
      /status code|error in the response/,
      { tokens: (res) => res.writeHead(302, { location: '/jwks' }).end() },
    ],
  ])('is refused with a token %s', async (_what, reason, lies) => {
    const { client, answer } = await comeBack(lies);
    expect(answer.status).toBe(502);
    expect(problems().at(-1)).toMatch(reason);
    expect(answer.text).toContain('The response from Other was invalid, so you were not logged in');
    expect(hasSession(client)).toBe(false);
    expect(target(await client.get('/login/link'))).toBe('/login');
  });

  it('is limited in size, and fails when the connection is closed', async () => {
    for (const tokens of [
      (res: Parameters<NonNullable<Lies['tokens']>>[0]) => res.end('x'.repeat(300_000)),
      (res: Parameters<NonNullable<Lies['tokens']>>[0]) => res.destroy(),
    ]) {
      const { answer } = await comeBack({ tokens });
      expect(answer.status).toBe(502);
      expect(answer.text).toContain('Other is currently unreachable');
    }
  });

  it('is never shown on a page, and is logged without secrets', async () => {
    const description = 'Ask <b>root</b> for the password';
    const tokens: Lies['tokens'] = (res) =>
      res
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: 'invalid_client', error_description: description }));
    const { answer } = await comeBack({ tokens });
    expect(answer.status).toBe(502);
    expect(answer.text).not.toContain('root</b>');
    const lines = JSON.stringify(forum.forum.lines);
    expect(lines).toContain('a login at an identity provider failed');
    expect(lines).not.toContain(CLIENT.secret);
  });

  it('times out', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const guard = forum.forum.app.service(Protection).urlGuard({
      allowedHosts: ['127.0.0.1'],
      allowedPorts: [],
      variables: { hosts: 'SSO_ALLOWED_HOSTS' },
      secure: true,
    });
    const ask = guardedFetch(guard, new AbortController().signal);
    const request = { method: 'GET', headers: {}, body: undefined, redirect: 'manual' } as const;
    await expect(ask(url, { ...request, signal: AbortSignal.timeout(50) })).rejects.toThrow('cannot be reached');
    server.closeAllConnections();
    server.close();
  });
});

describe('a response in progress when the provider changes its issuer', () => {
  const moved = () =>
    forum.save({ id, issuer: forum.elsewhere.issuer, client_id: CLIENT.id, client_secret: CLIENT.secret });
  const back = async () => {
    await forum.forum.app.data.all(sql`delete from single_sign_on_identity`);
    await forum.save({ id, issuer: liar.issuer, client_secret: 'any' });
  };

  it('logs no one in as the member with the same subject at the new issuer', async () => {
    const victim = forum.visitor();
    await forum.create('zoe');
    await victim.login('zoe', PASSWORD);
    const { client, answer } = await comeBack({
      claims: { sub: 'zoe there' },
      meanwhile: async () => {
        await moved();
        await forum.signOn(victim, 'zoe there', `${LINKED}/other/link`);
      },
    });
    expect((await victim.get(LINKED, JSON_ONLY)).body.linked_accounts).toHaveLength(1);
    expect([answer.status, hasSession(client)]).toEqual([303, false]);
    await back();
  });

  it('neither signs up nor links anyone', async () => {
    const { client: guest } = await comeBack({ claims: { sub: 'yves there' }, meanwhile: moved });
    expect(target(await guest.get('/login/link'))).toBe('/login');
    await back();
    const member = forum.visitor();
    await forum.create('yves');
    await member.login('yves', PASSWORD);
    const location = await forum.leave(member, `${LINKED}/other/link`);
    liar.lies = { meanwhile: moved };
    const answer = await forum.back(member, liar.answer(location));
    liar.lies = {};
    expect(answer.status).toBe(404);
    expect((await member.get(LINKED, JSON_ONLY)).body.linked_accounts).toEqual([]);
    await back();
  });
});

it('an account is not linked to a member whose password was reset in the meantime', async () => {
  const { id: account } = await forum.create('xaver');
  const intruder = forum.visitor();
  await intruder.login('xaver', PASSWORD);
  const location = await forum.leave(intruder, `${LINKED}/other/link`);
  const accounts = forum.forum.app.service(Accounts);
  liar.lies = { claims: { sub: 'intruder' }, meanwhile: () => accounts.resetPassword(account, 'Another-harbour-43') };
  const answer = await forum.back(intruder, liar.answer(location));
  liar.lies = {};
  expect([answer.status, answer.text.includes('This session has ended')]).toEqual([401, true]);
  const rows = sql`select 1 from single_sign_on_identity where account_id = ${account}`;
  expect(await forum.forum.app.data.all(rows)).toEqual([]);
});

it('a session is confirmed only if the provider reports a recent auth_time', async () => {
  await forum.create('ada');
  const client = forum.visitor();
  await client.login('ada', PASSWORD);
  const come = async (path: string, claims: Record<string, unknown>) => {
    const location = await forum.leave(client, path);
    liar.lies = { claims };
    const answer = await forum.back(client, liar.answer(location));
    liar.lies = {};
    return answer;
  };
  expect(target(await come(`${LINKED}/other/link`, {}))).toBe(LINKED);
  for (const claims of [{}, { auth_time: now() - hour }, { auth_time: now(), sub: 'another' }])
    expect([claims, (await come('/auth/other/confirm', claims)).status]).toEqual([claims, 403]);
  expect((await come('/auth/other/confirm', { auth_time: now() })).status).toBe(303);
});

it('a login with an old auth_time succeeds, but requires a confirmation for sensitive actions', async () => {
  await forum.create('olga');
  const client = forum.visitor();
  await client.login('olga', PASSWORD);
  const come = async (visitor: Client, path: string, claims: Record<string, unknown>): Promise<void> => {
    const location = await forum.leave(visitor, path);
    liar.lies = { claims: { sub: 'olga', ...claims } };
    await forum.back(visitor, liar.answer(location));
    liar.lies = {};
  };
  await come(client, `${LINKED}/other/link`, {});
  const loggedIn = async (claims: Record<string, unknown>) => {
    const visitor = forum.visitor();
    await come(visitor, '/auth/other', claims);
    await visitor.csrf('/');
    return [hasSession(visitor), (await visitor.post(`${LINKED}/other/link`, {}, JSON_ONLY)).body.code];
  };
  expect(await loggedIn({ auth_time: now() })).toEqual([true, undefined]);
  expect(await loggedIn({})).toEqual([true, undefined]);
  expect(await loggedIn({ auth_time: now() - hour })).toEqual([true, 'confirmation_needed']);
  expect(await loggedIn({ auth_time: now() + hour })).toEqual([true, undefined]);
});

describe('checking a provider', () => {
  const check = async (document: object, keys?: Lies['keys']): Promise<string> => {
    liar.lies = { document: document as Record<string, unknown>, ...(keys && { keys }) };
    const { findings } = (await forum.root.post(`${ADMIN}/check`, { id }, JSON_ONLY)).body;
    liar.lies = {};
    return findings.map(({ state, text }: { state: string; text: string }) => `${state}: ${text}`).join('\n');
  };

  it.each<readonly [string, object, string]>([
    ['nothing is wrong', {}, 'good: Its key for signatures can be fetched'],
    ['its issuer does not match', { issuer: 'http://127.0.0.1:1' }, 'bad: It calls itself otherwise than'],
    ['it has no token endpoint', { token_endpoint: undefined }, 'bad: It does not say its token_endpoint'],
    [
      'it does not support the authorization code flow',
      { response_types_supported: ['id_token'] },
      'bad: It does not say that it knows the authorization code flow',
    ],
    [
      'it does not support PKCE',
      { code_challenge_methods_supported: undefined },
      'warning: It does not say that it knows PKCE',
    ],
    [
      'it does not support a scope',
      { scopes_supported: ['openid', 'email'] },
      'warning: It does not name these scopes: profile',
    ],
    ['it has no keys', { jwks_uri: undefined }, 'bad: It does not say its jwks_uri'],
  ])('reports that %s', async (_what, document, words) => {
    expect(await check(document)).toContain(words);
  });

  it('reports why its keys cannot be fetched', async () => {
    expect(await check({}, (res) => res.end('{"keys":[]}'))).toContain('bad: It has no keys for signatures');
    expect(await check({ jwks_uri: 'http://10.0.0.1/jwks' })).toContain(
      'bad: Its keys for signatures cannot be fetched',
    );
  });

  it('does not redirect to an authorization endpoint that is not a web page', async () => {
    liar.lies = { document: { authorization_endpoint: 'javascript:alert(1)' } };
    // Its previous document is cached for a while.
    await forum.save({ id, name: 'Other still' });
    const client = forum.visitor();
    await client.csrf();
    const answer = await client.submit('/auth/other');
    liar.lies = {};
    expect(answer.status).toBe(502);
    expect(answer.text).not.toContain('javascript:');
  });
});
