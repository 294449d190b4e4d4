import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { startForum, type TestForum } from 'parley-forum/testing';

let running: TestForum;
beforeAll(async () => void (running = await startForum()));
afterAll(() => running[Symbol.asyncDispose]());

const send = (body: string | Uint8Array<ArrayBuffer>, type: string, headers: Record<string, string> = {}) =>
  fetch(`${running.url}/api/markdown/parse`, { method: 'POST', body, headers: { 'content-type': type, ...headers } });

describe('a body', () => {
  test('is read as JSON in UTF-8', async () => {
    const answer = await send(JSON.stringify({ content: 'smørrebrød' }), 'application/json; charset=UTF-8');
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('smørrebrød');
  });

  test('of another type, with another charset or compressed is 415, whatever it contains', async () => {
    for (const [type, headers] of [
      ['text/plain', {}],
      ['application/x-www-form-urlencoded', {}],
      ['application/json; charset=utf-16', {}],
      ['application/json', { 'content-encoding': 'gzip' }],
    ] as const) {
      expect((await send('{"content":"a"}', type, headers)).status, type).toBe(415);
    }
  });

  test('that is not JSON, or not UTF-8, is 400', async () => {
    expect((await send('{"content":', 'application/json')).status).toBe(400);
    expect((await send(new Uint8Array([0x22, 0xff, 0x22]), 'application/json')).status).toBe(400);
  });

  test('may escape every character of its text, up to 1 MiB, on a route that takes a long text', async () => {
    await running.app
      .service(Accounts)
      .create({ username: 'writer', email: 'writer@forum.test', password: 'Plain-Sailing-42', groupId: 'member' });
    const writer = running.client();
    await writer.login('writer', 'Plain-Sailing-42');
    const body = new TextEncoder().encode(`{"content":"${'\\u0061'.repeat(60_000)}"}`);
    expect(
      (await writer.request('POST', '/api/markdown/parse', { body, headers: { 'content-type': 'application/json' } }))
        .status,
    ).toBe(200);
  });

  test('over 1 MiB is 413, even without a Content-Length', async () => {
    expect((await send(`"${'a'.repeat(1024 * 1024)}"`, 'application/json')).status).toBe(413);
    const stream = new ReadableStream({
      start: (control) => (control.enqueue(new TextEncoder().encode('a'.repeat(1_100_000))), control.close()),
    });
    const answer = fetch(`${running.url}/api/markdown/parse`, {
      method: 'POST',
      body: stream,
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
    } as RequestInit);
    // The server may close the connection before everything is sent.
    expect(
      await answer.then(
        (response) => response.status,
        () => 413,
      ),
    ).toBe(413);
  });

  test('cannot pollute a prototype', async () => {
    const answer = await send(
      '{"content":"a","__proto__":{"content":"b"},"\\u005f_proto__":{"polluted":true},"__pr\\u006fto__":{"polluted":true}}',
      'application/json',
    );
    expect(answer.status).toBe(200);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('security headers', () => {
  test('are the same on pages and API responses, except for the content security policy', async () => {
    const visitor = running.client();
    const [page, data] = [await visitor.get('/'), await visitor.get('/api/version')];
    for (const name of [
      'x-content-type-options',
      'x-frame-options',
      'referrer-policy',
      'x-xss-protection',
      'cross-origin-opener-policy',
    ]) {
      expect(page.headers.get(name), name).toBe(data.headers.get(name));
    }
    expect(page.headers.get('x-xss-protection')).toBe('0');
    expect(data.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(data.headers.get('content-security-policy')).not.toContain('script-src');
  });

  test('allow only the image hosts of the Markdown settings on pages, effective immediately', async () => {
    const policy = async (): Promise<string> =>
      (await running.client().get('/')).headers.get('content-security-policy') ?? '';
    expect(await policy()).toContain("img-src 'self' data: blob: https:;");
    await running.app.settings.set({ 'markdown.image_hosts': ['pictures.example'] });
    expect(await policy()).toContain("img-src 'self' data: blob: https://pictures.example;");
    expect(await policy()).not.toMatch(/script-src[^;]*pictures/);
    await running.app.settings.set({ 'markdown.image_hosts': [] });
    expect(await policy()).toContain("img-src 'self' data: blob:;");
    await running.app.settings.reset(['markdown.image_hosts']);
  });

  test('request https upgrades only while the setting says so', async () => {
    const policy = async (): Promise<string> =>
      (await running.client().get('/')).headers.get('content-security-policy') ?? '';
    expect(await policy()).toContain('upgrade-insecure-requests');
    await running.app.settings.set({ 'security.upgrade_insecure': false });
    expect(await policy()).not.toContain('upgrade-insecure-requests');
    await running.app.settings.reset(['security.upgrade_insecure']);
  });
});

test('an invalid list of trusted proxies is refused at startup', async () => {
  await expect(startForum({ environment: { trustedProxies: ['127.0.0.1', 'the proxy'] } })).rejects.toThrow(
    'TRUSTED_PROXIES: "the proxy" is not an address or a CIDR range',
  );
});
