import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { definePlugin, HttpError } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { api } from 'parley-forum/plugins/api';
import { pages } from 'parley-forum/plugins/web';
import type { Answer, Client } from 'parley-forum/testing';
import { startForum, type TestForum } from 'parley-forum/testing';
import { install } from '../discussions/forum.ts';
import { picture, send } from '../uploads/forum.ts';

/** Routes that throw, of which a forum has none. */
const faulty = definePlugin({
  id: 'faulty',
  setup(_services, plugin) {
    plugin.route(pages, { method: 'get', path: '/faulty', can: 'public' })(() => Promise.reject(new Error('a fault')));
    plugin.route(api, { method: 'get', path: '/faulty', can: 'public', summary: 'Throws' })(() =>
      Promise.reject(new Error('a fault')),
    );
    plugin.route(pages, { method: 'get', path: '/away', can: 'public' })(() =>
      Promise.reject(new HttpError(503, 'Come back later')),
    );
  },
});

const PASSWORD = 'Plain-Sailing-42';

let forum: TestForum;
let guest: Client;
let file: string;
let text: string;
beforeAll(async () => {
  forum = await startForum({ environment: { baseUrl: 'https://forum.test' } });
  await install(forum, faulty);
  guest = forum.client();
  await forum.app.service(Accounts).create({ username: 'ada', email: 'ada@forum.test', password: PASSWORD });
  const member = forum.client();
  await member.login('ada', PASSWORD);
  file = new URL((await send(member, await picture(), 'picture.png')).body.upload.url).pathname;
  text = new URL((await send(member, 'Only words', 'words.txt')).body.upload.url).pathname;
});
afterAll(() => forum[Symbol.asyncDispose]());

const get =
  (path: string, headers: Readonly<Record<string, string>> = {}) =>
  (): Promise<Answer> =>
    guest.get(path, headers);
/** `fetch` does not send this header. */
const expecting = (path: string) => async (): Promise<Pick<Answer, 'status' | 'headers'>> => {
  const asked = request(`${forum.url}${path}`, { headers: { Host: 'forum.test', Expect: 'wonders' } }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return { status: answer.statusCode!, headers: new Headers(answer.headers as Record<string, string>) };
};
/** Requested twice: the second response is a cached one. */
const again =
  (path: string, headers: Readonly<Record<string, string>> = {}) =>
  async (): Promise<Answer> => {
    await guest.get(path, headers);
    return guest.get(path, headers);
  };
/** With the ETag of the previous response. */
const unchanged = (path: string) => async (): Promise<Answer> => {
  const { headers } = await guest.get(path);
  return guest.get(path, { 'if-none-match': headers.get('etag') ?? '' });
};
const assetOf = (pattern: RegExp) => async (): Promise<string> =>
  pattern.exec((await guest.get('/')).text)?.[0] ?? '/no-such-asset';
const sheet = assetOf(/\/assets\/[^"]+\.css/);
const JSON_ONLY = { accept: 'application/json' };

async function stream(): Promise<Answer> {
  const stop = new AbortController();
  const { status, headers } = await fetch(`${forum.url}/api/live`, { signal: stop.signal });
  stop.abort();
  return { status, headers, text: '', body: undefined };
}
const report = (type: string) => async (): Promise<Answer> => {
  const { status, headers } = await fetch(`${forum.url}/reports/csp`, {
    method: 'POST',
    headers: { 'content-type': type },
    body: '{"csp-report":{}}',
  });
  return { status, headers, text: '', body: undefined };
};

/** `other`: headers that differ, as they may. */
const KINDS: Readonly<
  Record<
    string,
    readonly [
      status: number,
      ask: () => Promise<Pick<Answer, 'status' | 'headers'>>,
      other?: Readonly<Record<string, string>>,
    ]
  >
> = {
  'a page': [200, get('/')],
  'a cached page': [200, again('/')],
  'a cached page, compressed': [200, again('/', { 'accept-encoding': 'gzip' })],
  'an unchanged page': [304, unchanged('/')],
  'a page as JSON': [401, get('/admin', JSON_ONLY)],
  'a page that does not exist': [404, get('/nowhere')],
  'a page that does not exist, as JSON': [404, get('/nowhere', JSON_ONLY)],
  'a page with an unsupported method': [405, () => guest.request('DELETE', '/login')],
  'a page that fails': [500, get('/faulty')],
  'a page that is unavailable': [503, get('/away')],
  'a redirect to the login page': [303, get('/admin')],
  'a redirect after a form': [303, () => guest.submit('/appearance', { scheme: 'dark' })],
  'a refused form': [401, () => guest.submit('/login', { identifier: 'nobody', password: 'nothing' })],
  'a form without its CSRF token': [
    403,
    () => guest.request('POST', '/login', { form: { identifier: 'nobody', password: 'nothing' } }),
  ],
  'an OPTIONS request to a page': [204, () => guest.request('OPTIONS', '/login')],
  'an API response': [200, get('/api/version')],
  'a cached API response': [200, again('/api/categories')],
  'an unchanged API response': [304, unchanged('/api/categories')],
  'an API request without authentication': [401, get('/api/notifications')],
  'an unknown API path': [404, get('/api/nowhere')],
  'an unsupported API method': [405, () => guest.request('DELETE', '/api/version')],
  'an internal error of the API': [500, get('/api/faulty')],
  'the API description': [200, get('/api/openapi.json')],
  'the API documentation page': [200, get('/api/docs')],
  'the live stream': [200, stream],
  'a feed': [200, get('/feed/atom')],
  'a cached feed': [200, again('/feed/rss')],
  'an unchanged feed': [304, unchanged('/feed/rss')],
  'a feed that does not exist': [404, get('/feed/rss/category/nowhere')],
  'the sitemap': [200, get('/sitemap.xml')],
  'the sitemap, unchanged': [304, unchanged('/sitemap.xml')],
  'a part of the sitemap that does not exist': [404, get('/sitemaps/nowhere.xml')],
  'robots.txt': [200, get('/robots.txt')],
  'a style sheet': [200, async () => guest.get(await sheet())],
  'an unchanged style sheet': [304, async () => unchanged(await sheet())()],
  'a file that does not exist': [404, get('/assets/p/web@0/nothing.js')],
  // Feed readers and link previews show pictures on their own pages.
  'a picture that a member uploaded': [200, () => guest.get(file), { 'cross-origin-resource-policy': 'cross-origin' }],
  'an unchanged picture that a member uploaded': [
    304,
    () => unchanged(file)(),
    { 'cross-origin-resource-policy': 'cross-origin' },
  ],
  'a file that a member uploaded': [200, () => guest.get(text)],
  'a link preview picture that does not exist': [404, get('/link-previews/nothing')],
  'a request with an unknown Expect header': [200, expecting('/api/version')],
  'an uploaded file that does not exist': [404, get('/uploads/nothing/nothing.png')],
  'the installer without its link': [
    401,
    get('/install'),
    { 'x-frame-options': 'DENY', 'referrer-policy': 'no-referrer' },
  ],
  'a report': [204, report('application/csp-report')],
  'a refused report': [415, report('text/plain')],
  health: [200, get('/healthz')],
  readiness: [200, get('/readyz')],
};

/**
 * An unchanged page keeps the policy that was sent with it, under the nonce it contains: another policy would
 * invalidate that nonce.
 */
const said: Readonly<Record<string, string>> = {
  'an unchanged page': "default-src 'none';frame-ancestors 'self'",
};

describe.each(Object.entries(KINDS))('%s', (name, [status, ask, other]) => {
  test('has every security header', async () => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    const { headers } = answer;
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'x-xss-protection': '0',
      'referrer-policy': expect.stringMatching(/^(strict-origin-when-cross-origin|no-referrer)$/),
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'strict-transport-security': 'max-age=63072000',
      ...other,
    });
    for (const header of ['server', 'x-powered-by']) expect(headers.get(header), header).toBeNull();
    const policy = headers.get('content-security-policy') ?? said[name] ?? '';
    expect(policy).toMatch(/(^|;)default-src 'none'(;|$)/);
    expect(policy).toMatch(/frame-ancestors '(none|self)'/);
    expect(policy).not.toMatch(/script-src[^;]*'unsafe|'unsafe-eval'/);
  });
});

describe('the content security policy', () => {
  const policyOf = async (path: string): Promise<string> =>
    (await guest.get(path)).headers.get('content-security-policy') ?? '';

  test.each(['/', '/nowhere', '/faulty', '/login'])(
    'on %s allows only scripts with a nonce of 16 random bytes, and requires trusted types',
    async (path) => {
      const [one, other] = [await policyOf(path), await policyOf(path)];
      const [, nonce = ''] = /script-src 'nonce-([^']+)' 'strict-dynamic';/.exec(one) ?? [];
      expect(Buffer.from(nonce, 'base64')).toHaveLength(16);
      expect(other).not.toContain(nonce);
      for (const part of [
        "style-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        'upgrade-insecure-requests',
      ]) {
        expect(one).toContain(part);
      }
    },
  );

  test('is reported to the forum itself', async () => {
    const { headers } = await guest.get('/');
    expect(headers.get('content-security-policy')).toContain('report-to csp;report-uri /reports/csp');
    expect(headers.get('reporting-endpoints')).toBe('csp="/reports/csp"');
    expect((await guest.get('/api/version')).headers.get('reporting-endpoints')).toBeNull();
  });
});

describe('strict transport security', () => {
  const promised = async (): Promise<string | null> =>
    (await guest.get('/api/version')).headers.get('strict-transport-security');

  test('includes subdomains when the setting says so', async () => {
    await forum.app.settings.set({ 'security.hsts_subdomains': true });
    expect(await promised()).toBe('max-age=63072000; includeSubDomains');
    await forum.app.settings.reset(['security.hsts_subdomains']);
    expect(await promised()).toBe('max-age=63072000');
  });

  test('is not sent by a site served over http', async () => {
    await using plain = await startForum();
    for (const path of ['/', '/api/version', '/healthz', '/robots.txt'])
      expect((await plain.client().get(path)).headers.get('strict-transport-security'), path).toBeNull();
  });
});
