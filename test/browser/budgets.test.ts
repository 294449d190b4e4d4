import { existsSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { inFull } from '../kit/full.ts';
import { windowedPath } from '../../config/tools/suites.ts';
import { painted } from './checks.ts';
import { useForum, type Visitor } from './forum.ts';

// Automated Chromium starts without the back/forward cache, which is tested here.
const windowed = windowedPath(process.env);
const forum = useForum({
  launch: {
    ignoreDefaultArgs: ['--disable-back-forward-cache'],
    ...(existsSync(windowed) && { executablePath: windowed }),
  },
});
const KILOBYTE = 1024;

/** The gzipped size of a URL of the forum, in bytes. */
async function zipped(url: string): Promise<number> {
  const answer = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
  expect(answer.headers.get('content-encoding'), url).toBe('gzip');
  return Number(answer.headers.get('content-length'));
}
const sum = async (urls: readonly string[]): Promise<number> =>
  (await Promise.all(urls.map(zipped))).reduce((all, one) => all + one, 0);

interface Loaded {
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
  /** URLs on other hosts. */
  readonly others: readonly string[];
}

/** Everything a page loads until the network is idle. */
async function loaded(visitor: Visitor, path: string): Promise<Loaded> {
  const page = await forum.open(visitor, { viewport: { width: 412, height: 900 } });
  const requests: { readonly url: string; readonly type: string }[] = [];
  page.on('request', (request) => requests.push({ url: request.url(), type: request.resourceType() }));
  await page.goto(path, { waitUntil: 'networkidle' });
  await page.context().close();
  const of = (type: string): string[] => [
    ...new Set(requests.filter((one) => one.type === type).map(({ url }) => url)),
  ];
  return {
    scripts: of('script'),
    styles: of('stylesheet'),
    others: requests.map(({ url }) => url).filter((url) => !url.startsWith(forum.url)),
  };
}

describe('the size of a page', () => {
  test.each([
    { visitor: 'guest', path: '/' },
    { visitor: 'ada', path: '/' },
    { visitor: 'guest', path: '/d/1' },
    { visitor: 'ada', path: '/d/1' },
  ] as const)(
    'is at most 14 KB of scripts and 16 KB of styles for $visitor at $path, none of it from other hosts',
    async ({ visitor, path }) => {
      const { scripts, styles, others } = await loaded(visitor, path);
      expect(scripts.some((url) => url.endsWith('/boot.js'))).toBe(true);
      expect(await sum(scripts)).toBeLessThanOrEqual(14 * KILOBYTE);
      expect(styles.length).toBeGreaterThan(0);
      expect(await sum(styles)).toBeLessThanOrEqual(16 * KILOBYTE);
      expect(others).toEqual([]);
    },
  );

  test('is at most 9 KB for the entry module with its imports', async () => {
    const { scripts } = await loaded('guest', '/login');
    const boot = scripts.filter((url) => /\/(boot|client)\.js$/.test(url));
    expect(boot).toHaveLength(2);
    expect(await sum(boot)).toBeLessThanOrEqual(9 * KILOBYTE);
  });
});

test.each([...inFull('/'), '/d/1'])('a change on %s restyles little of the page', async (path) => {
  const page = await forum.open('ada');
  await page.goto(path, { waitUntil: 'networkidle' });
  await forum.browser.startTracing(page, { categories: ['devtools.timeline'] });
  await page.evaluate(
    `document.querySelector('main h1, main .card-title').append(document.createElement('b'), 'and more')`,
  );
  await painted(page);
  const { traceEvents } = JSON.parse((await forum.browser.stopTracing()).toString()) as {
    readonly traceEvents: readonly { readonly name: string; readonly args: { readonly elementCount?: number } }[];
  };
  await page.context().close();
  const styled = traceEvents.flatMap(({ name, args }) =>
    name === 'UpdateLayoutTree' && args.elementCount ? [args.elementCount] : [],
  );
  expect(styled).not.toEqual([]);
  expect(Math.max(...styled)).toBeLessThan(100);
});

/** True if going back restored the page without loading it again. */
async function comesBack(page: Page, path: string): Promise<boolean> {
  await page.goto(path);
  await page.evaluate('globalThis.wasHere = true');
  await page.goto('/categories');
  // A restored page does not load, so there is no load event to wait for.
  await page.goBack({ waitUntil: 'commit' });
  return page.evaluate('globalThis.wasHere === true');
}

describe.skipIf(!existsSync(windowed))('navigating back', () => {
  test.each(['/', '/d/1', ...inFull('/c/general', '/u/ada', '/login')])(
    'restores %s for guests from the back/forward cache',
    async (path) => {
      const page = await forum.open('guest');
      expect(await comesBack(page, path)).toBe(true);
      expect(new URL(page.url()).pathname).toMatch(new RegExp(`^${path}`));
      await page.context().close();
    },
  );
});
