import { afterEach, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { useForum } from './forum.ts';

const forum = useForum();
let page: Page;
afterEach(() => page.context().close());

const HOSTILE = [
  '<p id="kept">Kept, <a href="/d/1" title="javascript: a word">a link</a></p>',
  '<script>window.ran = 1</script>',
  '<img src="x" onerror="window.ran = 2" ONLOAD="window.ran = 3">',
  '<a href="java\tscript:window.ran = 4">one</a>',
  '<a href=" JavaScript:window.ran = 5">two</a>',
  '<form action="javascript:window.ran = 6"><button formaction="javascript:window.ran = 7">three</button></form>',
  '<iframe srcdoc="<script>parent.ran = 8</script>"></iframe>',
  '<object data="/d/1"></object><embed src="/d/1">',
  '<base href="https://evil.example/">',
  '<meta http-equiv="refresh" content="0; url=https://evil.example/">',
  '<link rel="stylesheet" href="https://evil.example/a.css"><style>body { display: none }</style>',
  '<template><script>window.ran = 9</script></template>',
  '<svg><script>window.ran = 10</script><a xlink:href="javascript:window.ran = 11"><animate attributeName="href" to="javascript:window.ran = 12"/><set attributeName="href" to="javascript:window.ran = 13"/></a></svg>',
  '<math><mi><mglyph><style><img src=x onerror="window.ran = 14"></style></mglyph></mi></math>',
].join('');

test('anything executable is removed from HTML before it is inserted, and the rest is shown', async () => {
  page = await forum.open('ada');
  await page.route('**/api/markdown/parse', (route) => route.fulfill({ json: { success: true, html: HOSTILE } }));
  await page.goto('/new');
  await page.locator('.composer-bar').waitFor();
  await page.locator('textarea[name="content"]').fill('Anything');
  await page.locator('[data-preview]').click();
  const view = page.locator('.composer-view');
  await view.locator('#kept').waitFor();
  const left = await view.evaluate((root: any) =>
    [...root.querySelectorAll('*')].flatMap((element: any) => [
      element.localName,
      ...[...element.attributes].map(({ name, value }: any) => `${name}=${value}`),
    ]),
  );
  for (const bad of [
    'script',
    'iframe',
    'object',
    'embed',
    'base',
    'meta',
    'link',
    'style',
    'template',
    'animate',
    'set',
  ])
    expect(left).not.toContain(bad);
  expect(left.filter((one: string) => /^on|^srcdoc|^(?!title).*script:/i.test(one))).toEqual([]);
  expect(left).toEqual(expect.arrayContaining(['img', 'svg', 'href=/d/1', 'title=javascript: a word']));
  expect(await page.evaluate('window.ran')).toBeUndefined();
});

test('modules named by a theme are not loaded', async () => {
  page = await forum.open('ada');
  const folders = ['/assets/t/default@theme/', '/assets/p/../t/default@theme/', 'https://evil.example/'];
  const elements = Object.fromEntries(folders.map((folder, index) => [folder, [`x-evil-${index}`]]));
  const data = JSON.stringify({ elements, texts: {}, member: false, keys: false });
  const tags = folders.map((_, index) => `<x-evil-${index} data-eager></x-evil-${index}>`).join('');
  let asked = 0;
  await page.route('**/x-evil-*.js', (route) => {
    asked++;
    return route.fulfill({ contentType: 'text/javascript', body: 'window.ran = 1' });
  });
  await page.route('**/about-this-test', async (route) => {
    const response = await route.fetch({ url: new URL('/', route.request().url()).href });
    const written = `<head><script type="application/json" id="forum">${data}</script>`;
    const body = (await response.text()).replace('<head>', written).replace('</main>', `${tags}</main>`);
    return route.fulfill({ response, body });
  });
  await page.goto('/about-this-test');
  await page.waitForLoadState('networkidle');
  expect(await page.locator('x-evil-0').count()).toBe(1);
  expect([asked, await page.evaluate('window.ran')]).toEqual([0, undefined]);
});

test('no other script can create HTML or script URLs from strings', async () => {
  page = await forum.open('guest');
  await page.goto('/');
  const failure = (code: string): Promise<unknown> =>
    page.evaluate(`(() => { try { ${code}; return 'done' } catch (error) { return error.name } })()`);
  expect(await failure('document.body.innerHTML = "<b>x</b>"')).toBe('TypeError');
  expect(await failure('new DOMParser().parseFromString("<b>x</b>", "text/html")')).toBe('TypeError');
  expect(await failure('document.createElement("script").src = "/x.js"')).toBe('TypeError');
  for (const name of ['forum-html', 'forum-url', 'default', 'other'])
    expect(await failure(`trustedTypes.createPolicy('${name}', { createHTML: (text) => text })`), name).toBe(
      'TypeError',
    );
});
