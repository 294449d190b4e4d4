import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definePlugin, Settings } from 'parley-forum';
import { Markdown, markdownHtml } from 'parley-forum/plugins/markdown';
import type { Answer } from 'parley-forum/testing';
import { startApi, type ApiForum } from '../api/probe.ts';
import { SWELLING } from './hostile.ts';

const waves = definePlugin({
  id: 'waves',
  setup: (_services, plugin) =>
    plugin.on(markdownHtml, (html) =>
      html.replaceAll('(wave)', '<em onclick="x()">~</em>').replaceAll('(sea)', '<b>~</b>'.repeat(400_000)),
    ),
});
/** Slow to sanitise. */
const SLOW = '(sea)';

let forum: ApiForum;
beforeAll(async () => {
  forum = await startApi({ extra: [waves], environment: { trustedProxies: ['127.0.0.1'] } });
});
afterAll(() => forum[Symbol.asyncDispose]());
const preview = (content: unknown) => forum.client().post('/api/markdown/parse', { content });
/** Creates a member with a bearer token. */
async function member(): Promise<(content: unknown) => Promise<Answer>> {
  const name = `member${++members}`;
  await forum.member(name);
  const client = forum.client({ authorization: `Bearer ${await forum.token(name)}` });
  return (content) => client.post('/api/markdown/parse', { content });
}
let members = 0;
let guests = 0;
/** A guest with their own IP address. */
const guest = (address = `192.0.2.${++guests}`) => {
  const client = forum.client({ 'x-forwarded-for': address });
  return (content: unknown) => client.post('/api/markdown/parse', { content });
};

describe('POST /api/markdown/parse', () => {
  it('renders for everyone, without a CSRF token', async () => {
    const answer = await preview('# Hello\n\n<script>alert(1)</script> **you**');
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        success: true,
        html: '<h3 dir="auto">Hello</h3>\n<p dir="auto">&lt;script&gt;alert(1)&lt;/script&gt; <strong>you</strong></p>\n',
      },
    ]);
  });

  it('accepts up to 8 KiB from guests and up to 64 KiB from members, counted in bytes', async () => {
    for (const [ask, kib] of [
      [preview, 8],
      [await member(), 64],
    ] as const) {
      expect((await ask('é'.repeat(kib * 512))).status).toBe(200);
      for (const content of ['é'.repeat(kib * 512) + 'a', 7, undefined]) {
        const { status, body } = await ask(content);
        expect([status, body.details[0].field]).toEqual([400, 'content']);
      }
      expect((await ask('é'.repeat(kib * 512) + 'a')).body.details[0].message).toContain(`at most ${kib} KiB`);
      expect((await ask('')).body.html).toBe('');
    }
  });

  it('allows guests one preview at a time per IP address', async () => {
    const answers = await Promise.all([
      guest('2001:db8::1')(SLOW),
      guest('2001:db8::2')(SLOW),
      guest('2001:db8:0:1::1')('*hi*'),
    ]);
    const [refused] = answers.slice(0, 2).filter(({ status }) => status === 429);
    expect(refused?.body).toMatchObject({
      code: 'rate_limited',
      error: expect.stringContaining('one preview at a time'),
    });
    expect(refused?.headers.get('retry-after')).toBe('1');
    expect(answers[2]?.body.html).toContain('<em>hi</em>');
    expect((await guest('2001:db8::1')('*again*')).status).toBe(200);
  });

  it('refuses slow texts from guests, and continues with the next', async () => {
    const [slow, ...others] = await Promise.all([
      guest()(SLOW),
      guest()('one'),
      guest()('two'),
      guest()(SLOW),
      guest()('three'),
    ]);
    expect([slow.status, slow.body.details]).toEqual([
      400,
      [{ field: 'content', message: 'is too complex to render; simplify it' }],
    ]);
    expect(others.map(({ status }) => status)).toEqual([200, 200, 400, 200]);
  });

  it('has a short queue for guests, and returns 503 with Retry-After when it is full', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => guest()(SLOW)));
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers, body } of refused)
      expect([headers.get('retry-after'), body.code]).toEqual(['2', 'unavailable']);
    expect((await guest()('*calm*')).status).toBe(200);
  });

  it('never delays the rendering of posts, whatever is being previewed', async () => {
    const order: string[] = [];
    const named = (name: string, work: Promise<unknown>) => work.then(() => void order.push(name));
    const ask = await member();
    const markdown = forum.app.service(Markdown);
    const post = `*posted* ${'word '.repeat(1_000)}`;
    // Starts all threads, so that only waiting is compared.
    await Promise.all([ask(post), guest()('x'), markdown.render(post)]);
    const previews = [
      ...Array.from({ length: 6 }, () => named('guest', guest()(SLOW))),
      ...SWELLING.slice(6, 9).map((content) => named('member', ask(content))),
    ];
    await new Promise((resolve) => setTimeout(resolve, 50));
    await named('post', markdown.render(post));
    await Promise.all(previews);
    expect(order.filter((name) => name === 'guest')).toHaveLength(6);
    expect(order.lastIndexOf('guest')).toBeGreaterThan(order.indexOf('post'));
    expect(order.lastIndexOf('member')).toBeGreaterThan(order.indexOf('post'));
  });

  it('lets other plugins change the HTML, and sanitises the result', async () => {
    expect((await preview('(wave)')).body.html).toBe('<p dir="auto"><em>~</em></p>\n');
  });

  it('shows images from any host by HTTPS, or only from the hosts in the setting as soon as it changes', async () => {
    const picture = '![boat](https://pictures.example/a.png)';
    expect((await preview(picture)).body.html).toContain('<img src="https://pictures.example/a.png" alt="boat"');
    expect((await preview('![boat](http://pictures.example/a.png)')).body.html).not.toContain('<img');
    await forum.app.service(Settings).set({ 'markdown.image_hosts': ['boats.example'] });
    expect((await preview(picture)).body.html).not.toContain('<img');
    await forum.app.service(Settings).set({ 'markdown.image_hosts': ['pictures.example'] });
    expect((await preview(picture)).body.html).toContain('<img src="https://pictures.example/a.png" alt="boat"');
    expect(await forum.app.service(Markdown).render(picture)).toContain('<img');
  });

  it('has its own rate limit', async () => {
    await forum.app.service(Settings).set({ 'markdown.rate_limit': 1 });
    const guest = forum.client({ 'x-forwarded-for': '192.0.2.40' });
    const statuses = [
      await guest.post('/api/markdown/parse', { content: 'a' }),
      await guest.post('/api/markdown/parse', { content: 'a' }),
      await guest.get('/api/version'),
    ].map(({ status }) => status);
    expect(statuses).toEqual([200, 429, 200]);
  });
});
