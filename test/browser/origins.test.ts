import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PASSWORD, useForum } from './forum.ts';

const forum = useForum();
/** A page on another origin. */
const elsewhere = createServer(
  (_req, res) => void res.setHeader('content-type', 'text/html').end('<!doctype html><title>Elsewhere</title>'),
);
let origin: string;
beforeAll(async () => {
  elsewhere.listen(0, '127.0.0.1');
  await once(elsewhere, 'listening');
  origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  await forum.app.app.settings.set({ 'api.cors_origins': [origin] });
});
afterAll(() => elsewhere.close());

/** Reads an event stream with `fetch` until `count` events have arrived, then disconnects. Runs in the browser. */
const READ = `async ({ url, headers, count }) => {
  const leaving = new AbortController();
  const answer = await fetch(url, { headers, signal: leaving.signal });
  const events = [];
  if (answer.ok) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; events.length < count; ) {
      const { value, done } = await reader.read();
      if (done) break;
      text += value;
      const blocks = text.split('\\n\\n');
      text = blocks.pop();
      for (const block of blocks) {
        const id = /^id: ?(.*)$/m.exec(block)?.[1];
        const data = /^data: ?(.*)$/m.exec(block)?.[1];
        if (id && data) events.push({ id, data });
      }
    }
  }
  leaving.abort();
  return { status: answer.status, requestId: answer.headers.get('x-request-id'), events };
}`;

test('a page of an allowed origin reads responses and headers, follows the live stream, and resumes it', async () => {
  const { app } = forum;
  const client = app.client();
  await client.login('ada', PASSWORD);
  const { token } = (await client.post('/settings/security/api-token', {}, { accept: 'application/json' })).body as {
    token: string;
  };
  const page = await (await forum.browser.newContext()).newPage();
  await page.goto(origin);

  const reply = (key: string): Promise<any> =>
    page.evaluate(`(async () => {
    const headers = { authorization: 'Bearer ${token}', 'content-type': 'application/json', 'idempotency-key': '${key}' };
    const answer = await fetch('${app.url}/api/posts', { method: 'POST', headers, body: JSON.stringify({ discussion_id: '3', content: 'From elsewhere ${key}' }) });
    const names = ['idempotency-replayed', 'x-ratelimit-remaining', 'x-request-id'];
    return { status: answer.status, headers: Object.fromEntries(names.map((name) => [name, answer.headers.get(name)])) };
  })()`);
  const follow = (count: number, last?: string): Promise<any> =>
    page.evaluate(
      `(${READ})(${JSON.stringify({
        url: `${app.url}/api/live`,
        count,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'text/event-stream',
          'cache-control': 'no-cache',
          ...(last !== undefined && { 'last-event-id': last }),
        },
      })})`,
    );

  // The stream starts with its headers: it receives everything that happens from now on.
  const begun = page.waitForResponse(
    (answer) => new URL(answer.url()).pathname === '/api/live' && answer.status() === 200,
  );
  const first = follow(1);
  await begun;
  expect(await reply('one')).toEqual({
    status: 201,
    headers: {
      'idempotency-replayed': null,
      'x-ratelimit-remaining': expect.stringMatching(/^\d+$/),
      'x-request-id': expect.any(String),
    },
  });
  const seen = await first;
  expect([seen.status, seen.events.length, seen.requestId]).toEqual([200, 1, expect.any(String)]);
  expect((await reply('one')).headers['idempotency-replayed']).toBe('true');
  await reply('two');
  const resumed = await follow(1, seen.events[0].id);
  expect([resumed.status, resumed.events[0].data.includes('From elsewhere two')]).toEqual([200, true]);
  expect(
    await page.evaluate(`fetch('${app.url}/feed/json').then((answer) => answer.json()).then(({ version }) => version)`),
  ).toContain('jsonfeed.org');

  await app.app.settings.reset(['api.cors_origins']);
  expect(await page.evaluate(`fetch('${app.url}/feed/rss').then(() => 'read', () => 'refused')`)).toBe('refused');
  await page.context().close();
});
