import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined, listen, movesSideways, pass } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const active = (page: Page, what: string) => page.evaluate(`document.activeElement.${what}`);
const press = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};
const path = (page: Page): string => new URL(page.url()).pathname;

test('j and k move through rows with a visible focus ring, and Enter opens one', async () => {
  const page = await forum.open('guest');
  const messages = listen(page);
  await page.goto('/');
  const titles = await page.locator('.card-title a').allTextContents();
  await press(page, 'j');
  await expect.poll(() => active(page, 'textContent')).toBe(titles[0]);
  await press(page, 'j', 'j', 'k');
  expect(await active(page, 'textContent')).toBe(titles[1]);
  expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid');
  await press(page, 'Enter');
  await page.waitForURL('**/d/**');
  expect(messages).toEqual([]);
  await page.context().close();
});

test('o opens a row, t and L go to the first and last post of a long discussion', async () => {
  const page = await forum.open('guest');
  await page.goto('/');
  await press(page, 'j', 'j');
  await expect.poll(() => active(page, 'localName')).toBe('a');
  const href = await active(page, "getAttribute('href')");
  await press(page, 'o');
  await page.waitForURL(`**${String(href)}`);
  await page.goto('/d/1');
  await page.locator('x-position:defined').waitFor({ state: 'attached' });
  const last = await page.locator('x-position').getAttribute('data-last');
  await press(page, 'L');
  await expect.poll(() => active(page, 'id')).toBe(`post-${last}`);
  await press(page, 't');
  await expect.poll(() => active(page, 'id')).toBe('post-1');
  await page.context().close();
});

test('t and L go to the first and last post of a discussion of one page', async () => {
  const page = await forum.open('guest');
  await page.goto('/d/4');
  const posts = await page.locator('.post').count();
  expect(posts).toBeGreaterThan(1);
  expect(await page.locator('x-position').count()).toBe(0);
  await press(page, 'L');
  await expect.poll(() => active(page, 'id')).toBe(`post-${posts}`);
  await press(page, 't');
  await expect.poll(() => active(page, 'id')).toBe('post-1');
  await page.context().close();
});

test('j and k move through members, tags, categories and visitors', async () => {
  const page = await forum.open('bob');
  for (const [at, link] of [
    ['/members', '.member-list h2 a'],
    ['/tags', '.tag-index a'],
    ['/categories', '.category h2 a'],
    ['/online', '.visitor-list > li > a[href^="/u/"]'],
  ] as const) {
    await page.goto(at);
    const hrefs = await page.locator(link).evaluateAll((all) => all.map((one) => one.getAttribute('href')));
    await press(page, 'j');
    await expect.poll(() => active(page, "getAttribute('href')")).toBe(hrefs[0]);
    if (hrefs.length < 2) continue;
    await press(page, 'j');
    await expect.poll(() => active(page, "getAttribute('href')")).toBe(hrefs[1]);
    await press(page, 'k');
    await expect.poll(() => active(page, "getAttribute('href')")).toBe(hrefs[0]);
  }
  await page.context().close();
});

test.runIf(FULL)(
  'text typed after the search key goes into the search field, even before the shortcuts have loaded',
  async () => {
    const page = await forum.open('guest');
    const late = Promise.withResolvers<void>();
    await page.route('**/keyboard', async (route) => {
      await late.promise;
      await route.continue();
    });
    await page.goto('/');
    await press(page, '/', 'c', 'a', 't');
    late.resolve();
    await expect.poll(() => active(page, 'value')).toBe('cat');
    expect(path(page)).toBe('/');
    await page.context().close();
  },
);

test.runIf(FULL)('after scrolling, navigation continues from what is in view', async () => {
  const page = await forum.open('guest');
  await page.goto('/d/1');
  await page.locator('#post-9').evaluate((post) => post.scrollIntoView());
  await press(page, 'j');
  await expect.poll(() => active(page, 'id')).toBe('post-9');
  expect(await page.evaluate('document.activeElement.getBoundingClientRect().top')).toBeGreaterThan(50);
  await page.context().close();
});

test('a member can reply, quote, bookmark, react and open menus without a pointer', async () => {
  const page = await forum.open('ada');
  const messages = listen(page);
  await page.goto('/d/1');
  // Until then, links outside of these elements act as they do without JavaScript.
  await defined(page, 'x-posts', 'x-reactions');
  await press(page, 'j', 'j');
  await expect.poll(() => active(page, 'id')).toBe('post-2');
  await press(page, 'x');
  await page.locator('.reaction-menu').waitFor();
  expect(await active(page, 'className')).toBe('reaction-choice');
  await press(page, 'Enter');
  await page.locator('#post-2 .reaction[aria-pressed="true"]').waitFor();
  await page.locator('#post-2').focus();
  await press(page, 'm');
  await page.locator('.menu:popover-open').waitFor();
  await expect.poll(() => active(page, 'className')).toContain('menu-item');
  await press(page, 'Escape');
  expect(await page.evaluate('document.activeElement.matches("#post-2 a[data-menu]")')).toBe(true);
  await press(page, 'm');
  await page.locator('.menu:popover-open').waitFor();
  // Immediately: the first menu's close event arrives while the second one is awaited.
  await page.evaluate(`{
    document.querySelector('.menu:popover-open').hidePopover();
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'b', bubbles: true, cancelable: true }));
  }`);
  await page.locator('#post-2 .bookmark-badge').waitFor();
  await press(page, 'q');
  const area = page.locator('#reply textarea');
  await expect.poll(() => area.inputValue()).toContain('/2#post-2):\n> ');
  await page.locator('#post-2').focus();
  await area.fill('');
  await press(page, 'Escape', 'r');
  await expect.poll(() => active(page, 'tagName')).toBe('TEXTAREA');
  await page.keyboard.type('jk?r');
  expect(await area.inputValue()).toBe('jk?r');
  expect(messages).toEqual([]);
  await page.context().close();
});

test('two-key sequences open pages, / focuses the search, and combinations with Ctrl are ignored', async () => {
  const page = await forum.open('ada');
  await page.goto('/categories');
  await press(page, 'Control+j', 'Alt+n');
  await press(page, '/');
  await expect.poll(() => active(page, 'id')).toBe('header-search');
  await page.locator('main').focus();
  await press(page, 'g', 'n');
  await page.waitForURL('**/notifications');
  await press(page, 'g', 'h');
  await page.waitForURL((url) => url.pathname === '/');
  await press(page, 'g', 'z', 'h');
  await pass(page, 300);
  expect(path(page)).toBe('/');
  await page.context().close();
});

for (const visitor of ['guest', 'ada'] as const) {
  test(`? lists the shortcuts of a discussion page, for ${visitor}`, async () => {
    const page = await forum.open(visitor, { viewport: { width: 320, height: 700 } });
    const messages = listen(page);
    await page.goto('/d/1');
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard' });
    await dialog.waitFor();
    await dialog.getByText('Next row or post').waitFor();
    expect(await dialog.getByText('React to the post').count()).toBe(visitor === 'ada' ? 1 : 0);
    expect(await judge(page)).toEqual([]);
    await press(page, 'j');
    expect(await dialog.isVisible()).toBe(true);
    await press(page, 'Escape');
    await dialog.waitFor({ state: 'detached' });
    await page.goto('/categories');
    await page.keyboard.press('?');
    await dialog.waitFor();
    expect(await dialog.getByText('Quote the post').count()).toBe(0);
    expect(messages).toEqual([]);
    await page.context().close();
  });
}

/** Chooses a key that is already used, then one that is free. */
async function chooseNext(page: Page): Promise<void> {
  const save = page.getByRole('button', { name: 'Save' });
  await page.goto('/settings/keyboard');
  await page.getByLabel('Next row or post').fill('k');
  await save.click();
  await page.getByRole('alert').getByText('is already used').first().waitFor();
  await page.getByLabel('Next row or post').fill('z');
  await save.click();
  await page.getByText('Your shortcuts have been saved.').waitFor();
}

test('shortcuts can be changed on a page that fits 320 pixels', async () => {
  const page = await forum.open('bob', { viewport: { width: 320, height: 800 } });
  await chooseNext(page);
  expect(await movesSideways(page)).toBe(false);
  // Otherwise the scroll position could leave something half covered by the header.
  await page.evaluate('scrollTo(0, 0)');
  expect(await judge(page)).toEqual([]);
  await page.goto('/');
  await press(page, 'z');
  await expect.poll(() => page.evaluate('document.activeElement.matches(".card-title a")')).toBe(true);
  await page.context().close();
});

test.runIf(FULL)('shortcuts can be changed without JavaScript', async () => {
  const page = await forum.open('bob', { javaScriptEnabled: false });
  await chooseNext(page);
  expect(await page.getByLabel('Next row or post').inputValue()).toBe('z');
  await page.context().close();
});

test('a moderator can navigate the report queue and resolve a report by keyboard', async () => {
  const page = await forum.open('mia');
  const messages = listen(page);
  await page.goto('/mod/reports');
  const reports = await page.locator('.queue > article').count();
  await press(page, 'j');
  await expect.poll(() => active(page, 'localName')).toBe('article');
  // These keys do not act as elsewhere, and the list of shortcuts reflects that.
  await press(page, '?');
  const keys = page.getByRole('dialog');
  await keys.getByText('Go to the note or reason').waitFor();
  expect(await keys.getByText('next unread').count()).toBe(0);
  await press(page, 'Escape', 'n');
  await expect.poll(() => active(page, 'name')).toBe('note');
  await page.keyboard.type('bd');
  expect(await active(page, 'value')).toBe('bd');
  await page.locator('.queue > article').first().focus();
  await press(page, 'b');
  await page.waitForURL('**/mod/members/**');
  await page.goBack();
  await press(page, 'j');
  await expect.poll(() => active(page, 'localName')).toBe('article');
  await press(page, 'd');
  await page.getByRole('status').filter({ hasText: 'dismissed' }).waitFor();
  expect(await page.locator('.queue > article').count()).toBe(reports - 1);
  expect(messages).toEqual([]);
  await page.context().close();
});
