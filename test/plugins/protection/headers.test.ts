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

/** Parts that throw, where a forum has none. */
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
/** `fetch` sends no such header. */
const expecting = (path: string) => async (): Promise<Pick<Answer, 'status' | 'headers'>> => {
  const asked = request(`${forum.url}${path}`, { headers: { Host: 'forum.test', Expect: 'wonders' } }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  answer.resume();
  return { status: answer.statusCode!, headers: new Headers(answer.headers as Record<string, string>) };
};
/** Asked for twice: the second answer comes from what was kept. */
const again =
  (path: string, headers: Readonly<Record<string, string>> = {}) =>
  async (): Promise<Answer> => {
    await guest.get(path, headers);
    return guest.get(path, headers);
  };
/** With the tag of the answer before. */
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

/** `other`: what is different, and why it may be. */
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
  'a page from kept bytes': [200, again('/')],
  'a page from kept bytes, compressed': [200, again('/', { 'accept-encoding': 'gzip' })],
  'a page that has not changed': [304, unchanged('/')],
  'a page as JSON': [401, get('/admin', JSON_ONLY)],
  'a page that does not exist': [404, get('/nowhere')],
  'a page that does not exist, as JSON': [404, get('/nowhere', JSON_ONLY)],
  'a page whose method does not exist': [405, () => guest.request('DELETE', '/login')],
  'a page that failed': [500, get('/faulty')],
  'a page that is away': [503, get('/away')],
  'a redirect to the login': [303, get('/admin')],
  'a redirect after a form': [303, () => guest.submit('/appearance', { scheme: 'dark' })],
  'a refused form': [401, () => guest.submit('/login', { identifier: 'nobody', password: 'nothing' })],
  'a form without its token': [
    403,
    () => guest.request('POST', '/login', { form: { identifier: 'nobody', password: 'nothing' } }),
  ],
  'the methods of a page': [204, () => guest.request('OPTIONS', '/login')],
  'an answer of the API': [200, get('/api/version')],
  'a kept answer of the API': [200, again('/api/categories')],
  'an answer of the API that has not changed': [304, unchanged('/api/categories')],
  'a refusal of the API': [401, get('/api/notifications')],
  'an address that the API does not have': [404, get('/api/nowhere')],
  'a method that the API does not have': [405, () => guest.request('DELETE', '/api/version')],
  'a fault of the API': [500, get('/api/faulty')],
  'the description of the API': [200, get('/api/openapi.json')],
  'the description of the API for people': [200, get('/api/docs')],
  'the live stream': [200, stream],
  'a feed': [200, get('/feed/atom')],
  'a kept feed': [200, again('/feed/rss')],
  'a feed that has not changed': [304, unchanged('/feed/rss')],
  'a feed that does not exist': [404, get('/feed/rss/category/nowhere')],
  'the sitemap': [200, get('/sitemap.xml')],
  'the sitemap, unchanged': [304, unchanged('/sitemap.xml')],
  'a part of the sitemap that does not exist': [404, get('/sitemaps/nowhere.xml')],
  'robots.txt': [200, get('/robots.txt')],
  'a style sheet': [200, async () => guest.get(await sheet())],
  'a style sheet that has not changed': [304, async () => unchanged(await sheet())()],
  'a file that does not exist': [404, get('/assets/p/web@0/nothing.js')],
  // Feed readers and previews of links show pictures on pages of their own.
  'a picture that a member uploaded': [200, () => guest.get(file), { 'cross-origin-resource-policy': 'cross-origin' }],
  'such a picture that has not changed': [
    304,
    () => unchanged(file)(),
    { 'cross-origin-resource-policy': 'cross-origin' },
  ],
  'a file that a member uploaded': [200, () => guest.get(text)],
  'a picture of a link that does not exist': [404, get('/link-previews/nothing')],
  'a request that expects what nobody promises': [200, expecting('/api/version')],
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
 * What a page that has not changed may run was said with the page, under the nonce that stands in it: another one would
 * make it void.
 */
const said: Readonly<Record<string, string>> = {
  'a page that has not changed': "default-src 'none';frame-ancestors 'self'",
};

describe.each(Object.entries(KINDS))('%s', (name, [status, ask, other]) => {
  test('has every protecting header', async () => {
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

describe('what pages may run', () => {
  const policyOf = async (path: string): Promise<string> =>
    (await guest.get(path)).headers.get('content-security-policy') ?? '';

  test.each(['/', '/nowhere', '/faulty', '/login'])(
    'on %s is what bears a nonce of 16 random bytes, and nothing made from text',
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

describe('that only https may be used', () => {
  const promised = async (): Promise<string | null> =>
    (await guest.get('/api/version')).headers.get('strict-transport-security');

  test('holds for hosts below this one too where the setting says so', async () => {
    await forum.app.settings.set({ 'security.hsts_subdomains': true });
    expect(await promised()).toBe('max-age=63072000; includeSubDomains');
    await forum.app.settings.reset(['security.hsts_subdomains']);
    expect(await promised()).toBe('max-age=63072000');
  });

  test('is not said by a site that is served over http', async () => {
    await using plain = await startForum();
    for (const path of ['/', '/api/version', '/healthz', '/robots.txt'])
      expect((await plain.client().get(path)).headers.get('strict-transport-security'), path).toBeNull();
  });
});
