import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { listen, movesSideways, typeAtOnce } from './checks.ts';
import { TITLES } from './content.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
/** The first half of an existing title. */
const TYPED = TITLES[0]!.split(' ').slice(0, 4).join(' ');
const LIST = '.similar-list';
const said = (page: Page): Promise<string> => page.evaluate('document.getElementById("announcer").textContent');
const top = (page: Page, selector: string): Promise<number> =>
  page.evaluate(`document.querySelector('${selector}').getBoundingClientRect().top + scrollY`);

test('typing a title shows similar discussions, announced politely and reachable by keyboard', async () => {
  const page = await forum.open('bob');
  const heard = listen(page);
  const asked: string[] = [];
  page.on('request', (request) => request.url().includes('/search/similar') && asked.push(request.url()));
  await page.goto('/new');
  expect(await page.evaluate('customElements.get("x-similar") === undefined')).toBe(true);
  const title = page.getByLabel('Title');
  await title.focus();
  await page.evaluate('customElements.whenDefined("x-similar").then(() => true)');
  const before = await top(page, '#f-title');
  await typeAtOnce(page, TYPED);
  await page.locator(LIST).waitFor();
  expect(asked).toHaveLength(1);
  expect(await said(page)).toMatch(/^\d similar discussions?$/);
  expect(await top(page, '#f-title')).toBe(before);
  expect(await judge(page)).toEqual([]);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.textContent')).toContain(TITLES[0]!);
  expect(await page.evaluate('new URL(document.activeElement.href).pathname')).toMatch(/^\/d\/\d+-/);
  const opened = page.context().waitForEvent('page');
  await page.keyboard.press('Enter');
  const other = await opened;
  expect(await title.inputValue()).toBe(TYPED);
  await other.close();
  await title.fill('xy');
  await page.locator(LIST).waitFor({ state: 'detached' });
  expect(asked).toHaveLength(1);
  expect(heard).toEqual([]);
  await page.context().close();
});

test.runIf(FULL)(
  'late suggestions do not shift the layout while writing, and appear once the title has focus again',
  async () => {
    const page = await forum.open('bob');
    let open = (): void => undefined;
    const held = new Promise<void>((resolve) => (open = resolve));
    await page.route('**/api/search/similar*', async (route) => {
      await held;
      await route.continue();
    });
    await page.goto('/new');
    await page.getByLabel('Title').focus();
    await page.evaluate('customElements.whenDefined("x-similar").then(() => true)');
    for (const typed of [TITLES[1]!, TYPED]) {
      const asked = page.waitForRequest('**/api/search/similar*');
      await page.getByLabel('Title').fill(typed);
      await asked;
    }
    const before = await top(page, 'textarea');
    await page.getByLabel('Your text').focus();
    const answered = page.waitForResponse('**/api/search/similar*');
    open();
    await (await answered).finished();
    await page.waitForTimeout(100);
    expect(await top(page, 'textarea')).toBe(before);
    await page.getByLabel('Title').focus();
    await page.locator(LIST).waitFor();
    // The first response is obsolete and is not awaited.
    expect(await page.locator(LIST).textContent()).not.toContain(TITLES[1]!);
    // It keeps its position and stays collapsed while the title changes.
    await page.locator(`${LIST} summary`).click();
    await page.getByLabel('Title').fill(TITLES[1]!);
    await page.locator(LIST, { hasText: TITLES[1]! }).waitFor();
    expect(await page.locator(`${LIST} a`).first().isVisible()).toBe(false);
    await page.context().close();
  },
);

test.each([
  { width: 320, colorScheme: 'dark' as const, rtl: true },
  ...inFull({ width: 320, colorScheme: 'light' as const, rtl: false }),
])('suggestions fit at $width pixels, $colorScheme, right to left: $rtl', async ({ width, colorScheme, rtl }) => {
  const page = await forum.open('bob', { viewport: { width, height: 800 }, colorScheme });
  await page.goto('/new');
  if (rtl) await page.evaluate('document.documentElement.dir = "rtl"');
  await page.getByLabel('Title').fill(TYPED);
  await page.locator(LIST).waitFor();
  expect(await movesSideways(page)).toBe(false);
  expect(await judge(page)).toEqual([]);
  await page.context().close();
});

test('without JavaScript suggestions are shown with the preview', async () => {
  const page = await forum.open('bob', { javaScriptEnabled: false });
  await page.goto('/new');
  await page.getByLabel('Title').fill(TYPED);
  await page.getByLabel('Your text').fill('Who knows?');
  await page.getByRole('button', { name: 'Preview' }).click();
  await page.locator(LIST).getByRole('link', { name: TITLES[0]! }).waitFor();
  await page.context().close();
});
