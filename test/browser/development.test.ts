import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { greetingPlugin, makeSite, VIEW, type DevelopmentSite } from '../core/development/site.ts';
import { listen } from './checks.ts';
import { openBrowser } from './look.ts';

/** Milliseconds from a save until a page shows it, including the browser's own work. */
const SOON = 1_000;

let site: DevelopmentSite;
let browser: Browser;
let page: Page;
let messages: string[];
beforeAll(async () => {
  site = await makeSite();
  const [server, opened] = await Promise.all([site.start(), openBrowser()]);
  browser = opened;
  page = await (await browser.newContext({ locale: 'en' })).newPage();
  messages = listen(page);
  await page.goto(`${server.url}/greeting`);
});
afterEach(async () => {
  await site.mend();
  await page.locator('.words', { hasText: /^hello$/ }).waitFor();
  await overlay().waitFor({ state: 'hidden' });
});
afterAll(async () => {
  await browser?.close();
  await site?.[Symbol.asyncDispose]();
});

const overlay = (): Locator => page.getByRole('alert');

test('a page shows saved changes without a manual reload', async () => {
  // The first change builds the browser files.
  await site.write('plugins/greeting/words.ts', `export const words = 'hi';\n`);
  await page.getByText('hi', { exact: true }).waitFor();
  // The machine may be busy with something else: one fast save is enough.
  let soonest = Infinity;
  for (let save = 1; save <= 5 && soonest >= SOON; save++) {
    const start = performance.now();
    await site.write('plugins/greeting/views/greeting.hbs', VIEW.replace('{{words}}', `{{words}}, all ${save} of you`));
    await page.getByText(`hi, all ${save} of you`).waitFor();
    soonest = Math.min(soonest, performance.now() - start);
  }
  expect(soonest).toBeLessThan(SOON);
  await site.write('plugins/greeting/client/greeting.css', '.words { text-decoration: underline }\n');
  await expect
    .poll(() => page.evaluate(`getComputedStyle(document.querySelector('.words')).textDecorationLine`))
    .toBe('underline');
});

test('an error covers the page with file and line until it is fixed', async () => {
  await site.write('plugins/greeting/words.ts', `export const words = 'hi';\nconst = 2;\n`);
  await overlay().getByText('plugins/greeting/words.ts:2', { exact: true }).waitFor();
  expect(await overlay().locator('.fault').textContent()).toContain('const = 2;');
  expect(await overlay().textContent()).toContain('Alt+S outlines the slots');
  await page.keyboard.press('Escape');
  await overlay().waitFor({ state: 'hidden' });
  expect(await page.locator('.words').textContent()).toBe('hello');
  await site.write('plugins/greeting/words.ts', `export const words = 'hi';\n\nconst = 2;\n`);
  await overlay().getByText('plugins/greeting/words.ts:3').waitFor();
});

test('the page of a failed request shows the error, and is restored once it is fixed', async () => {
  await site.write('plugins/greeting/plugin.ts', greetingPlugin({ handler: `throw new Error('no ink');` }));
  await overlay().getByText('plugins/greeting/plugin.ts:10').waitFor();
  expect(await overlay().textContent()).toContain('no ink');
  await expect.poll(() => page.title()).toContain('Something went wrong');
});

test('Alt+S toggles outlines of the page’s slots with their names', async () => {
  await site.write('plugins/greeting/views/greeting.hbs', `${VIEW}{{#slot "greeting.around"}}<b>inside</b>{{/slot}}`);
  await page.getByText('inside').waitFor();
  await page.locator('development-tools').waitFor({ state: 'attached' });
  await page.keyboard.press('Alt+s');
  const outlines = page.locator('development-tools .slot');
  const names = await outlines.allTextContents();
  expect(names).toEqual(expect.arrayContaining(['greeting.end', 'greeting.around', 'footer.end']));
  const [inside, outlined] = await Promise.all([
    page.getByText('inside').boundingBox(),
    outlines.filter({ hasText: 'greeting.around' }).boundingBox(),
  ]);
  expect(outlined).toEqual(inside);
  await page.keyboard.press('Alt+s');
  expect(await outlines.count()).toBe(0);
});

test('the page’s policy has blocked nothing of this', () => {
  expect(messages.filter((line) => !line.includes('500 (Internal Server Error)'))).toEqual([]);
});
