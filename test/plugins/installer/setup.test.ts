import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import type { Answer } from 'parley-forum/testing';
import { runCommand } from '../../../core/cli/run-command.ts';
import { makeTestPlace } from '../../kit/database.ts';
import { migrated } from '../../kit/migrated.ts';
import { openSite, PASSWORD, type Site } from './site.ts';

const title = ({ text }: Answer): string => /<h1>([^<]*)/.exec(text)?.[1] ?? '';
const tokenIn = ({ text }: Answer): string => /_csrf" value="([^"]+)/.exec(text)?.[1] ?? '';
const wrong = ({ text }: Answer): readonly string[] =>
  [...text.matchAll(/id="p-[^"]*">([^<]*)/g)].map(([, message]) => message ?? '');

describe('a server without an installation', () => {
  let site: Site;
  beforeAll(async () => void (site = await openSite()));
  afterAll(() => site?.[Symbol.asyncDispose]());

  test('prints one link, and redirects every page to the installer', async () => {
    expect(site.printed).toHaveLength(1);
    expect(site.link).toMatch(/^\/install\?token=[A-Za-z0-9_-]{43}$/);
    for (const path of ['/', '/d/1', '/login', '/admin', '/installed', '/assets/x.css']) {
      const { status, headers } = await site.client().get(path);
      expect([path, status, headers.get('location'), headers.get('x-content-type-options')]).toEqual([
        path,
        302,
        '/install',
        'nosniff',
      ]);
    }
    expect(
      (await site.client().request('POST', '/login', { form: { identifier: 'ada', password: PASSWORD } })).status,
    ).toBe(302);
  });

  test('returns 503 with Retry-After from the API, and passes its health checks', async () => {
    for (const method of ['GET', 'POST']) {
      const { status, headers, body } = await site.client().request(method, '/api/discussions');
      expect([status, headers.get('retry-after')]).toEqual([503, '30']);
      expect(body).toEqual({
        success: false,
        error: 'Nothing is installed here yet',
        code: 'unavailable',
        request_id: headers.get('x-request-id'),
      });
      const counted = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
      expect(counted.map((name) => Number(headers.get(name)) > 0)).toEqual([true, true, true]);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect((await site.client().get('/healthz')).body).toEqual({ success: true });
    expect((await site.client().get('/readyz')).body).toMatchObject({ success: true, checks: { database: 'ok' } });
  });

  test('shows only where to find the link if the right one is missing', async () => {
    const wrongLinks = ['/install?token=x', `/install?token=${'a'.repeat(43)}`];
    for (const path of [
      '/install',
      '/install/',
      '/install/site',
      '/install/progress',
      '/install/nothing',
      ...wrongLinks,
    ]) {
      const answer = await site.client().get(path);
      expect([path, answer.status, title(answer), answer.headers.getSetCookie()]).toEqual([
        path,
        401,
        'The link is on the console',
        [],
      ]);
    }
    expect((await site.client().request('POST', '/install/administrator', { form: { username: 'eve' } })).status).toBe(
      401,
    );
  });

  test('serves installer pages that cannot be framed, send no referrer and load only their stylesheet', async () => {
    const { client } = await site.invited();
    for (const path of ['/install', '/install/site', '/install/nothing', '/install/style.css']) {
      const { headers } = await client.get(path);
      const protecting = {
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      };
      expect(Object.fromEntries(Object.keys(protecting).map((name) => [name, headers.get(name)]))).toEqual(protecting);
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'",
      );
    }
    expect((await client.get('/install/site')).text).not.toMatch(/<script|<style| style=| on[a-z]+=/);
  });

  test('opens the installer by the link, redirects to a URL without it, and scopes the cookie to the installer', async () => {
    const client = site.client();
    const { status, headers } = await client.get(site.link);
    expect([status, headers.get('location')]).toEqual([303, '/install/site']);
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^parley\.install=[^;]{43}; Path=\/install; HttpOnly; SameSite=Lax$/),
    ]);
    expect(title(await client.get('/install/site'))).toBe('The forum');
    const again = await client.get(site.link);
    expect(again.headers.getSetCookie()).toEqual([]);
  });

  test('refuses a form without its own browser’s token, and keeps the input', async () => {
    const [own, other] = [await site.invited(), await site.invited()];
    const token = tokenIn(await other.client.get('/install/site'));
    for (const foreign of ['', token]) {
      const answer = await own.client.request('POST', '/install/site', {
        form: { _csrf: foreign, site_name: 'The <Quay>' },
      });
      expect([answer.status, title(answer)]).toEqual([403, 'The forum']);
      expect(answer.text).toContain('value="The &lt;Quay&gt;"');
    }
  });

  test('enforces the order of the steps', async () => {
    await using site = await openSite();
    const { client, send } = await site.invited();
    expect((await client.get('/install/administrator')).headers.get('location')).toBe('/install/site');
    expect((await client.get('/install/progress')).headers.get('location')).toBe('/install');
    await send('site', { site_name: 'The Quay' });
    expect((await client.get('/install')).headers.get('location')).toBe('/install/services');
    expect((await client.get('/install/administrator')).headers.get('location')).toBe('/install/services');
    expect((await client.get('/install/site')).text).toContain('value="The Quay"');
  });

  test('requires a name for the forum', async () => {
    const { send } = await site.invited();
    const answer = await send('site', { site_name: '' });
    expect([answer.status, wrong(answer)]).toEqual([400, [expect.stringContaining('is required')]]);
  });

  test('reports a password that violates the policy, and keeps name and address but no passwords', async () => {
    await using site = await openSite();
    const { client, ready, install } = await site.invited();
    await ready();
    const pattern = site.running.app!.service(Accounts).passwordPolicy.pattern.replaceAll('<', '&lt;');
    expect((await client.get('/install/administrator')).text).toContain(`pattern="${pattern}"`);
    const weak = await install({ password: 'short-1', password_confirmation: 'short-1' });
    expect([weak.status, wrong(weak)]).toEqual([
      400,
      ['must have at least 10 characters; must contain an uppercase letter'],
    ]);
    expect(weak.text).toContain('value="ada@example.org"');
    expect(weak.text).not.toContain('short-1');
    expect(wrong(await install({ password_confirmation: 'Another-boat 8' }))).toEqual([
      'is not the same as the one above',
    ]);
    expect(wrong(await install({ username: 'a b', email: 'nowhere' }))).toHaveLength(2);
    expect((await site.client().get('/')).status).toBe(302);
  });
});

describe('the link', () => {
  test('stays valid however often it is opened, and when forms are refused', async () => {
    await using site = await openSite();
    const browsers = [await site.invited(), await site.invited(), await site.invited()];
    expect((await browsers[0]!.send('site', { site_name: '' })).status).toBe(400);
    for (const { client } of browsers) expect(title(await client.get('/install/site'))).toBe('The forum');
    expect((await site.client().get(site.link)).status).toBe(303);
  });

  test('belongs to the first browser that submits a step; all others see that it was used', async () => {
    await using site = await openSite();
    const [first, second] = [await site.invited(), await site.invited()];
    const token = tokenIn(await second.client.get('/install/site'));
    const form = { _csrf: token, site_name: 'Mine' };
    expect((await first.send('site', { site_name: 'The Quay' })).status).toBe(303);
    const late = [
      await second.client.request('POST', '/install/site', { form }),
      await second.client.get('/install'),
      await second.client.get('/install/services'),
      await second.client.get(site.link),
      await site.client().get(site.link),
      await site.client().get('/install/progress'),
    ];
    for (const answer of late) {
      expect([answer.status, title(answer), answer.headers.getSetCookie()]).toEqual([403, 'The link was used', []]);
      expect(answer.text).toContain('restart the server. It prints a new link');
      expect(answer.text).not.toMatch(/Mine|The Quay/);
    }
    expect((await site.client().get('/install/style.css')).status).toBe(200);
    expect((await first.client.get('/install')).headers.get('location')).toBe('/install/services');
    await first.ready();
    expect((await first.install()).status).toBe(303);
    expect(site.running.app!.settings.get('site.name')).toBe('The Quay');
  });

  test('belongs to only one of several browsers that submit a step at once', async () => {
    await using site = await openSite();
    const browsers = await Promise.all([0, 1, 2].map(() => site.invited()));
    const tokens = await Promise.all(browsers.map(async ({ client }) => tokenIn(await client.get('/install/site'))));
    const answers = await Promise.all(
      browsers.map(({ client }, at) =>
        client.request('POST', '/install/services', { form: { _csrf: tokens[at]!, database: 'embedded' } }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 403, 403]);
  });

  test('changes when the server restarts, and the installation starts over', async () => {
    const place = await makeTestPlace(migrated());
    try {
      await using before = await openSite({ place });
      const { send } = await before.invited();
      await send('site', { site_name: 'The Quay' });
      await before.running.close();
      await using site = await openSite({ place });
      expect((await site.client().get(before.link)).status).toBe(401);
      const { client } = await site.invited();
      expect((await client.get('/install/site')).text).not.toContain('The Quay');
    } finally {
      await place.remove();
    }
  });
});

describe('installing in a browser', () => {
  test('creates the forum, which runs immediately, and closes the installer for good', async () => {
    await using site = await openSite();
    const { client, ready, install } = await site.invited();
    await ready();
    const done = await install();
    expect([done.status, done.headers.get('location')]).toEqual([303, '/login']);
    const { settings } = site.running.app!;
    const keys = ['site.name', 'site.locale', 'site.timezone', 'security.password_min_length'];
    expect(keys.map((key) => settings.get(key))).toEqual(['The Quay', 'en', 'Europe/Lisbon', 10]);
    const visitor = site.client();
    await visitor.login('ada', PASSWORD);
    expect((await visitor.get('/admin')).status).toBe(200);
    expect((await site.client().get('/api/discussions')).status).toBe(200);
    const shut = [
      [client, '/install'],
      [client, '/install/progress'],
      [site.client(), site.link],
      [site.client(), '/install/nothing'],
    ] as const;
    for (const [browser, path] of shut) {
      const answer = await browser.get(path);
      expect([path, answer.status, title(answer), answer.headers.get('x-frame-options')]).toEqual([
        path,
        403,
        'Already installed',
        'DENY',
      ]);
    }
    expect((await client.request('POST', '/install/administrator', { form: { username: 'eve' } })).status).toBe(403);
    const file = join(site.folder, 'config.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ installed_at: settings.get('kernel.installed_at') });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('falls back to the defaults for an unknown time zone or a language that is not installed', async () => {
    await using site = await openSite();
    const { ready, send, install } = await site.invited();
    await ready();
    await send('site', { site_name: 'The Quay', locale: 'tlh', timezone: 'Mars/Olympus_Mons' });
    await install();
    expect(['site.locale', 'site.timezone'].map((key) => site.running.app!.settings.get(key))).toEqual(['en', 'UTC']);
  });

  test('happens once if the last step is submitted twice at once; the second gets 409', async () => {
    await using site = await openSite();
    const { ready, install } = await site.invited();
    await ready();
    const answers = await Promise.all(
      [0, 1].map((at) => install({ username: `ada${at}`, email: `ada${at}@example.org` })),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 409]);
    expect(answers.find(({ status }) => status === 409)?.text).toContain(
      'Another installation of this forum is in progress',
    );
    const made = await Promise.all(
      ['ada0', 'ada1'].map((name) => site.running.app!.service(Accounts).findByIdentifier(name)),
    );
    expect(made.filter(Boolean)).toHaveLength(1);
  });

  test('ends with a welcome notice on the login page, shown once and only in the same browser', async () => {
    await using site = await openSite();
    const { client, ready, install } = await site.invited();
    await ready();
    await install();
    const greeting = 'Your forum is ready. Log in as ada.';
    expect((await client.get('/login')).text).toContain(greeting);
    expect((await client.get('/login')).text).not.toContain(greeting);
    // The notice cannot be triggered by a URL.
    for (const query of ['?notice=Buy+ropes', '?ready=1&username=Buy+ropes', '?installed']) {
      const { text } = await site.client().get(`/login${query}`);
      expect([text.includes('Buy ropes'), text.includes('is ready')]).toEqual([false, false]);
    }
  });

  test('ends when the forum is installed from the command line: the forum opens and the link is invalid', async () => {
    await using site = await openSite();
    const console = {
      terminal: false,
      columns: 80,
      print: () => undefined,
      progress: () => undefined,
      secret: () => Promise.resolve(undefined),
    };
    await runCommand(
      site.running.app!,
      ['install', '--admin-username', 'ada', '--admin-email', 'ada@example.org', '--admin-password', PASSWORD],
      console,
    );
    expect((await site.client().get('/')).status).toBe(200);
    expect((await site.client().get(site.link)).status).toBe(403);
    expect(JSON.parse(await readFile(join(site.folder, 'config.json'), 'utf8'))).toHaveProperty('installed_at');
  });
});
