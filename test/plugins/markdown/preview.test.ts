import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { definePlugin, Settings } from '#core';
import { Markdown, markdownHtml } from '#plugins/markdown';
import { startApi, type ApiForum } from '../api/probe.ts';

const waves = definePlugin({
  id: 'waves',
  setup: (_services, plugin) => plugin.on(markdownHtml, (html) => html.replaceAll('(wave)', '<em onclick="x()">~</em>')),
});

let forum: ApiForum;
beforeAll(async () => {
  forum = await startApi({ extra: [waves] });
});
afterAll(() => forum[Symbol.asyncDispose]());
const preview = (content: unknown) => forum.client().post('/api/markdown/parse', { content });

describe('POST /api/markdown/parse', () => {
  it('renders for everybody, without a forgery token', async () => {
    const answer = await preview('# Hello\n\n<script>alert(1)</script> **you**');
    expect([answer.status, answer.body]).toEqual([200, {
      success: true, html: '<h3 dir="auto">Hello</h3>\n<p dir="auto">&lt;script&gt;alert(1)&lt;/script&gt; <strong>you</strong></p>\n',
    }]);
  });

  it('takes up to 64 KiB of text', async () => {
    expect((await preview('é'.repeat(32 * 1024))).status).toBe(200);
    for (const content of ['é'.repeat(32 * 1024 + 1), 7, undefined]) {
      const { status, body } = await preview(content);
      expect([status, body.details[0].field]).toEqual([400, 'content']);
    }
    expect((await preview('')).body.html).toBe('');
  });

  it('lets other plugins add to the text, and sanitises what they add', async () => {
    expect((await preview('(wave)')).body.html).toBe('<p dir="auto"><em>~</em></p>\n');
  });

  it('shows pictures of a host from the moment the setting names it', async () => {
    const picture = '![boat](https://pictures.example/a.png)';
    expect((await preview(picture)).body.html).not.toContain('<img');
    await forum.app.service(Settings).set({ 'markdown.image_hosts': ['pictures.example'] });
    expect((await preview(picture)).body.html).toContain('<img src="https://pictures.example/a.png" alt="boat"');
    expect(await forum.app.service(Markdown).render(picture)).toContain('<img');
  });

  it('has a rate of its own', async () => {
    await forum.app.service(Settings).set({ 'markdown.rate_limit': 1, 'security.trusted_proxies': ['127.0.0.1'] });
    const guest = forum.client({ 'x-forwarded-for': '192.0.2.40' });
    const statuses = [await guest.post('/api/markdown/parse', { content: 'a' }), await guest.post('/api/markdown/parse', { content: 'a' }), await guest.get('/api/version')].map(({ status }) => status);
    expect(statuses).toEqual([200, 429, 200]);
  });
});
