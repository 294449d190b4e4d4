import { describe, expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';

const forum = useForum({ 'security.report_rate_limit': 40 });
const OLD = 'application/csp-report';
const NEW = 'application/reports+json';

/** Sends a report as a browser does: without a token. */
async function send(body: unknown, type = OLD): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return fetch(`${forum.app.url}/reports/csp`, { method: 'POST', headers: { 'content-type': type }, body: text });
}
const old = (directive: string, blocked: string): object => ({
  'csp-report': { 'effective-directive': directive, 'blocked-uri': blocked, 'document-uri': 'https://forum.test/d/1' },
});
const shown = async (): Promise<readonly { directive: string; blocked: string; count: number; last: string }[]> =>
  (await forum.as.root.get('/admin/policy-reports', { accept: 'application/json' })).body.reports;

describe('a report', () => {
  test('is counted by directive and origin, in both formats that browsers send, and nothing else is stored', async () => {
    expect((await send(old('img-src', 'https://pictures.example/private/path?token=secret'))).status).toBe(204);
    const list = [
      { type: 'csp-violation', body: { effectiveDirective: 'img-src', blockedURL: 'https://pictures.example/other' } },
      { type: 'csp-violation', body: { effectiveDirective: 'script-src-elem', blockedURL: 'inline' } },
      { type: 'deprecation', body: { id: 'something' } },
    ];
    expect((await send(list, NEW)).status).toBe(204);
    expect(await shown()).toEqual([
      { directive: 'img-src', blocked: 'https://pictures.example', count: 2, last: '2026-01-15' },
      { directive: 'script-src-elem', blocked: 'inline', count: 1, last: '2026-01-15' },
    ]);
    const page = (await forum.as.root.get('/admin/policy-reports')).text;
    expect(page).toContain('https://pictures.example');
    expect(page).not.toMatch(/secret|private/);
  });

  test('without a known directive or origin is counted as other', async () => {
    const before = (await shown()).find(({ directive }) => directive === 'other')?.count ?? 0;
    for (const body of [
      old('made-up<script>', 'x'.repeat(5_000)),
      { 'csp-report': {} },
      { 'csp-report': { 'blocked-uri': 7 } },
    ])
      expect((await send(body)).status).toBe(204);
    expect((await shown()).find(({ directive }) => directive === 'other')).toMatchObject({
      blocked: 'other',
      count: before + 3,
    });
  });

  test('of more than twenty violations counts only the first twenty', async () => {
    const one = {
      type: 'csp-violation',
      body: { effectiveDirective: 'font-src', blockedURL: 'https://fonts.example/a' },
    };
    expect(
      (
        await send(
          Array.from({ length: 25 }, () => one),
          NEW,
        )
      ).status,
    ).toBe(204);
    expect((await shown()).find(({ directive }) => directive === 'font-src')?.count).toBe(20);
  });

  test('of a browser extension is counted only by its scheme', async () => {
    await send(old('script-src', 'chrome-extension://abcdefgh/page.js'));
    await send(old('script-src', 'data'));
    expect((await shown()).map(({ blocked }) => blocked)).toEqual(
      expect.arrayContaining(['chrome-extension:', 'data:']),
    );
  });

  test.each([
    ['another content type', () => send(old('img-src', 'inline'), 'application/json'), 415],
    ['invalid JSON', () => send('{'), 400],
    ['more than 16 KB', () => send(old('img-src', 'x'.repeat(17_000))), 413],
  ])('with %s is refused', async (_name, ask, status) => {
    const before = await shown();
    expect((await ask()).status).toBe(status);
    expect(await shown()).toEqual(before);
  });

  test('is refused with another method', async () => {
    const answer = await fetch(`${forum.app.url}/reports/csp`);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, OPTIONS']);
  });
});

describe('the counts', () => {
  test('are visible only to administrators', async () => {
    for (const client of [forum.as.ada, forum.as.mia])
      expect((await client.get('/admin/policy-reports')).status).toBe(403);
    expect((await forum.guest.get('/admin/policy-reports')).status).toBe(303);
  });

  test('of today are shown in a tile on the dashboard', async () => {
    expect((await forum.as.root.get('/admin')).text).toMatch(
      /Policy reports today<\/a><\/p>\s*<p class="stat-value">\d+/,
    );
  });

  test('distinguish at most 200 kinds a day, and combine the others without losing any', async () => {
    const before = (await shown()).reduce((sum, { count }) => sum + count, 0);
    for (let n = 0; n < 15; n++) {
      const list = Array.from({ length: 20 }, (_, at) => ({
        type: 'csp-violation',
        body: { effectiveDirective: 'img-src', blockedURL: `https://host-${n}-${at}.example` },
      }));
      expect((await send(list, NEW)).status).toBe(204);
    }
    const after = await shown();
    expect(after.reduce((sum, { count }) => sum + count, 0)).toBe(before + 300);
    expect(after.length).toBeLessThanOrEqual(200);
    expect(after.find(({ blocked }) => blocked === 'many others')!.count).toBeGreaterThan(90);
  });
});

test('an IP address that sends too many gets 429 with Retry-After', async () => {
  const statuses = new Set<number>();
  let refused: Response | undefined;
  for (let n = 0; n < 45; n++) {
    const answer = await send(old('img-src', 'inline'));
    statuses.add(answer.status);
    if (answer.status === 429) refused = answer;
  }
  expect(statuses).toEqual(new Set([204, 429]));
  expect(Number(refused!.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('counts are deleted after 30 days', async () => {
  await shown();
  forum.app.clock.advance(31 * 86_400_000);
  const root = forum.app.client();
  await root.login('root', 'Plain-Sailing-42');
  expect((await root.get('/admin/policy-reports', { accept: 'application/json' })).body.reports).toEqual([]);
});
