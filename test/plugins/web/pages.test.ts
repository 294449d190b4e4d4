import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { member, startGallery, type Gallery } from './start.ts';

let app: Gallery;
let guest: Client;
beforeAll(async () => {
  app = await startGallery();
  guest = app.client();
});
afterAll(() => app[Symbol.asyncDispose]());

const nonceOf = (policy: string | null): string => /'nonce-([^']+)'/.exec(policy ?? '')?.[1] ?? '';

describe('every page', () => {
  it('has its metadata in its head', async () => {
    const { text, status, headers } = await guest.get('/');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    const parts = [
      '<html lang="en" dir="ltr"',
      '<title>Test forum</title>',
      '<link rel="canonical" href="http://forum.test/">',
      'property="og:title"',
      '<link rel="alternate" type="application/rss+xml" title="RSS" href="/feed/rss">',
      '<main id="main" tabindex="-1">',
    ];
    for (const part of parts) expect(text).toContain(part);
    expect(text).toMatch(/<meta name="csrf-token" content="[\w-]{20,}">/);
    expect(text.match(/<h1/g)).toHaveLength(1);
  });

  it('has the same security headers, with its own nonce', async () => {
    const [first, second] = [await guest.get('/d'), await guest.get('/d')];
    const policy = first.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none';script-src 'nonce-[\w+/]{22}==' 'strict-dynamic';style-src 'self';/);
    const parts = [
      "require-trusted-types-for 'script'",
      'trusted-types forum-html;',
      'upgrade-insecure-requests',
      "frame-ancestors 'self'",
      "base-uri 'none'",
    ];
    for (const part of parts) expect(policy).toContain(part);
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'SAMEORIGIN',
      'referrer-policy': 'strict-origin-when-cross-origin',
      'x-xss-protection': '0',
      'cross-origin-opener-policy': 'same-origin',
    });
    expect(first.headers.get('strict-transport-security')).toBeNull();
    expect(first.headers.get('x-request-id')).not.toBe(second.headers.get('x-request-id'));
    expect(Buffer.from(nonceOf(policy), 'base64')).toHaveLength(16);
    expect(nonceOf(policy)).not.toBe(nonceOf(second.headers.get('content-security-policy')));
    expect(first.text).toContain(`nonce="${nonceOf(policy)}"`);
  });

  it('cannot break out of its data block', async () => {
    const { text } = await guest.get('/d');
    expect(text).toContain('<script type="application/ld+json">');
    expect(text).not.toContain('</script><b>');
  });

  it('has what plugins add, requested once for all places', async () => {
    app.log.batches.length = 0;
    const { text } = await guest.get('/?sort=x');
    expect(app.log.batches).toEqual([8]);
    expect(text).toContain('<span>solved</span>');
    expect(text).toContain(
      '<aside class="rail" aria-label="Sidebar"><section><h2>From the view</h2><p>Sort: x</p></section><section><h2>Online now</h2>',
    );
    expect(text).toContain('href="/c/engines"');
    expect(text).not.toMatch(/<!--s/);
  });

  it('answers HEAD without a body and refuses other methods', async () => {
    const head = await guest.request('HEAD', '/d');
    expect([head.status, head.text]).toEqual([200, '']);
    const wrong = await guest.request('PUT', '/d', { headers: { accept: 'application/json' } });
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });

  it('shows members their account, and guests the login link', async () => {
    const { text } = await app.client(member).get('/d');
    expect(text).toContain('Account of mira.k');
    expect(text).toContain('action="/logout"');
    expect((await guest.get('/d')).text).toContain('href="/login?return_to=%2Fd"');
  });
});

describe('a form', () => {
  it('is accepted with its token, and confirmed on the next page only', async () => {
    const client = app.client();
    await client.get('/pieces');
    const sent = await client.submit('/pieces', { title: 'Boats & ropes' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, '/pieces']);
    expect((await client.get('/pieces')).text).toContain('Saved Boats &amp; ropes');
    expect((await client.get('/pieces')).text).not.toContain('Saved Boats');
  });

  it('preserves its values when its token has expired', async () => {
    const client = app.client();
    await client.get('/pieces');
    const { status, text } = await client.submit('/pieces', { _csrf: 'old', title: 'Typed for an hour' });
    expect(status).toBe(403);
    expect(text).toContain('value="Typed for an hour"');
    expect(text).toContain('Nothing is lost');
  });

  it('preserves its values when refused, and names the fields', async () => {
    const client = app.client();
    await client.get('/pieces');
    const { status, text } = await client.submit('/pieces', { title: 'ab' });
    expect(status).toBe(400);
    expect(text).toContain('href="#f-title"');
    expect(text).toContain('value="ab"');
  });

  it('responds with JSON to API clients, whatever the format of the request', async () => {
    const client = app.client({ accept: 'application/json' });
    await client.csrf('/pieces');
    expect((await client.post('/pieces', { title: 'Hello', list: [{ name: 'a' }] })).body).toEqual({
      success: true,
      body: { title: 'Hello', list: [{ name: 'a' }] },
    });
    expect((await client.post('/pieces', { title: 'a' })).body).toMatchObject({
      success: false,
      code: 'validation_failed',
      details: [{ field: 'title' }],
    });
    expect((await client.post('/pieces', { title: 'abc' }, { 'x-csrf-token': 'x' })).body).toMatchObject({
      success: false,
      code: 'csrf_failed',
    });
  });

  it('refuses a body that is too large, of another type or malformed', async () => {
    const client = app.client({ accept: 'application/json' });
    const token = await client.csrf('/pieces');
    const headers = (type: string) => ({
      accept: 'application/json',
      'content-type': type,
      'x-csrf-token': token,
      cookie: 'visitor=fresh',
    });
    const send = async (type: string, body: string) =>
      (await fetch(`${app.url}/pieces`, { method: 'POST', body, headers: headers(type) })).status;
    expect(await send('application/json', JSON.stringify({ title: 'x'.repeat(1024 * 1024) }))).toBe(413);
    expect(await send('text/csv', 'title')).toBe(415);
    expect(await send('application/json', '{"title"')).toBe(400);
  });
});

describe('a members-only page', () => {
  it('sends guests to log in, and back', async () => {
    const { status, headers } = await guest.get('/settings?tab=1');
    expect([status, headers.get('location')]).toEqual([303, '/login?return_to=%2Fsettings%3Ftab%3D1']);
    expect((await guest.get('/settings', { accept: 'application/json' })).body).toMatchObject({
      success: false,
      code: 'login_needed',
    });
    expect((await app.client(member).get('/settings')).status).toBe(200);
  });
  it('preserves the text if the session has ended', async () => {
    const ended = app.client({ cookie: 'session=ended' });
    const { status, text } = await ended.submit('/members/ann%20b', { _csrf: 'x', text: 'A long letter' });
    expect(status).toBe(401);
    expect(text).toContain('A long letter');
    expect(text).toContain('You are no longer logged in');
  });
  it('sends guests without permission to log in, and back', async () => {
    const { status, headers } = await guest.get('/closed');
    expect([status, headers.get('location')]).toEqual([303, '/login?return_to=%2Fclosed']);
    expect((await app.client(member).get('/closed')).status).toBe(200);
  });
});

describe('errors', () => {
  it('a missing page is shown in the theme, and as an envelope to API clients', async () => {
    const { status, text } = await guest.get('/nowhere/"><script>');
    expect(status).toBe(404);
    expect(text).toContain('Page not found');
    expect(text).not.toContain('"><script>');
    expect((await guest.get('/nowhere', { accept: 'application/json' })).body).toMatchObject({
      success: false,
      code: 'not_found',
      request_id: expect.any(String),
    });
  });
  it('paths of the API respond with an envelope while its plugin is disabled', async () => {
    for (const accept of ['*/*', 'text/html']) {
      const { status, body } = await guest.get('/api/version', { accept });
      expect([status, body]).toEqual([404, expect.objectContaining({ success: false, code: 'not_found' })]);
    }
    expect((await guest.get('/apiary', { accept: 'text/html' })).headers.get('content-type')).toMatch(/^text\/html/);
  });

  it('an internal error reveals no details, and is logged', async () => {
    const { status, text } = await guest.get('/broken');
    expect(status).toBe(500);
    expect(text).not.toContain('secret detail');
    expect(app.lines.some(({ message }) => message === 'a request failed')).toBe(true);
  });
  it('a rate-limited client is shown how long to wait', async () => {
    const { status, text, headers } = await guest.get('/slow-down');
    expect([status, headers.get('retry-after')]).toEqual([429, '30']);
    expect(text).toContain('Please try again in 30 seconds.');
  });
});

describe('the colour scheme', () => {
  it('is chosen without JavaScript, and only from valid values', async () => {
    const client = app.client();
    await client.get('/d');
    expect((await client.submit('/appearance', { scheme: 'dark', return_to: '/d' })).headers.get('location')).toBe(
      '/d',
    );
    const dark = await client.get('/d');
    expect(dark.text).toContain('data-scheme="dark"');
    expect(dark.text).toContain('<meta name="theme-color" content="#0f1014">');
    await client
      .submit('/appearance', { scheme: '"><script>', return_to: '//evil.example' })
      .then(({ headers }) => expect(headers.get('location')).toBe('/'));
    expect((await client.get('/d')).text).toContain('data-scheme=""');
  });
});

it('an unusable theme falls back to the default one', async () => {
  await using other = await startGallery({ settings: { 'site.theme': 'harbour' } });
  expect((await other.client().get('/d')).status).toBe(200);
  expect(other.lines.some(({ message }) => message.startsWith('the theme cannot be used'))).toBe(true);
});
