import type { Locator, Page } from 'playwright-core';
import { beforeEach, describe, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { FULL, inFull } from '../kit/full.ts';
import { listen, movesSideways } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const area = (page: Page): Locator => page.getByLabel('Your text');
const button = (page: Page): Locator => page.getByRole('button', { name: 'Emoji', exact: true });
const dialog = (page: Page): Locator => page.getByRole('dialog', { name: 'Emoji' });
const focused = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.localName');
const said = (page: Page): Promise<string> => page.evaluate('document.getElementById("announcer").textContent');
const press = async (page: Page, ...keys: readonly string[]): Promise<void> => {
  for (const key of keys) await page.keyboard.press(key);
};

const speak = (language: string | null) => forum.app.app.service(Accounts).setLocale(forum.people.bob.id, { language });

/** Drafts of earlier tests would be restored. */
beforeEach(async () => {
  await speak(null);
  const bob = forum.app.client();
  await bob.login('bob', PASSWORD);
  for (const { key } of (await bob.get('/api/drafts')).body.drafts) await bob.delete(`/api/drafts/${key}`);
});

interface Opened {
  readonly page: Page;
  readonly asked: readonly string[];
}
async function write(options: Parameters<typeof forum.open>[1] = {}): Promise<Opened> {
  const page = await forum.open('bob', options);
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  await page.goto('/new');
  await page.locator('.composer-bar').waitFor();
  return { page, asked };
}
async function openByKeyboard(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Bold' }).focus();
  await press(page, 'ArrowLeft');
  expect(await focused(page)).toBe('Emoji');
  await press(page, 'Enter');
  await dialog(page).getByRole('gridcell').first().waitFor();
}

describe('the emoji picker', () => {
  test('loads on demand, works by keyboard, and inserts at the caret with support for undo', async () => {
    const { page, asked } = await write();
    const heard = listen(page);
    await area(page).fill('Fair wind');
    await page.evaluate('document.querySelector("textarea").setSelectionRange(4, 5)');
    expect(asked.filter((url) => url.includes('emoji'))).toEqual([]);
    await openByKeyboard(page);
    expect(await focused(page)).toBe('Find an emoji');
    await press(page, 'Tab', 'Tab');
    expect(await focused(page)).toBe('Smileys and emotion');
    await press(page, 'ArrowRight');
    expect(await focused(page)).toBe('People');
    expect(await dialog(page).getByRole('tab', { selected: true }).getAttribute('aria-label')).toBe('People');
    await press(page, 'End', 'Home', 'Tab');
    expect(await focused(page)).toBe('grinning');
    await press(page, 'ArrowRight', 'ArrowDown', 'End', 'ArrowDown', 'ArrowUp', 'Home', 'Control+End', 'Control+Home');
    expect(await focused(page)).toBe('grinning');
    await press(page, 'ArrowDown', 'ArrowRight');
    const chosen = await page.evaluate<string>('document.activeElement.textContent');
    expect(await judge(page)).toEqual([]);
    await press(page, 'Enter');
    expect(await area(page).inputValue()).toBe(`Fair${chosen}wind`);
    expect(await focused(page)).toBe('textarea');
    expect(await dialog(page).count()).toBe(0);
    await press(page, 'Control+z');
    expect(await area(page).inputValue()).toBe('Fair wind');
    await press(page, 'Control+Shift+z');
    expect(await area(page).inputValue()).toBe(`Fair${chosen}wind`);
    expect(heard).toEqual([]);
    await page.context().close();
  });

  test('finds emoji by name, and suggests the recently used ones first on this device', async () => {
    const { page } = await write();
    await openByKeyboard(page);
    await page.keyboard.type('red ha');
    const count = await dialog(page).getByRole('gridcell').count();
    expect(count).toBeGreaterThan(0);
    expect(await said(page)).toBe(`${count} found`);
    await page.keyboard.type('zzz');
    await dialog(page).getByText('No emoji found.').waitFor();
    expect(await said(page)).toBe('No emoji found.');
    expect(await judge(page)).toEqual([]);
    await page.getByLabel('Find an emoji').fill('tada');
    await press(page, 'Enter');
    expect(await area(page).inputValue()).toBe('🎉');
    await openByKeyboard(page);
    await page.getByLabel('Find an emoji').fill('anchor');
    await press(page, 'ArrowDown', 'Enter');
    expect(await area(page).inputValue()).toBe('🎉⚓️');
    await page.reload();
    await openByKeyboard(page);
    expect(await dialog(page).getByRole('tab', { selected: true }).getAttribute('aria-label')).toBe('Recently used');
    expect(await dialog(page).getByRole('gridcell').allTextContents()).toEqual(['⚓️', '🎉']);
    await page.context().close();
  });

  test.runIf(FULL)('applies and stores the chosen skin tone, for completion as well', async () => {
    const { page } = await write();
    await openByKeyboard(page);
    await page.getByLabel('Skin tone').selectOption({ label: '✋🏽 Medium' });
    await page.getByLabel('Find an emoji').fill('wave');
    await press(page, 'Enter');
    expect(await area(page).inputValue()).toBe('👋🏽');
    await page.keyboard.type(' :thumbsu');
    await page.locator('.completions:popover-open').waitFor();
    await press(page, 'Enter');
    expect(await area(page).inputValue()).toBe('👋🏽 👍🏽 ');
    await page.reload();
    await area(page).fill('');
    await openByKeyboard(page);
    expect(await page.getByLabel('Skin tone').inputValue()).toBe('3');
    expect(await dialog(page).getByRole('gridcell').first().textContent()).toBe('👋🏽');
    // Every one of them is a standard emoji.
    await dialog(page).getByRole('tab', { name: 'People' }).click();
    const signs = await dialog(page).getByRole('gridcell').allTextContents();
    expect(signs.filter((sign) => sign.includes('🏽')).length).toBeGreaterThan(200);
    expect(signs.filter((sign) => sign.includes('🏽') && !/^\p{RGI_Emoji}$/v.test(sign))).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)('supports German names on a German page in addition to English ones', async () => {
    await speak('de');
    const { page, asked } = await write();
    const german = (): number => asked.filter((url) => url.endsWith('/emoji.de.json')).length;
    const field = page.getByLabel('Dein Text');
    expect(german()).toBe(0);
    await page.locator('x-emoji-picker button').click();
    const search = page.getByLabel('Emoji suchen');
    const cells = page.getByRole('gridcell');
    await search.fill('konfettib');
    expect(await cells.first().evaluate((cell: any) => [cell.textContent, cell.ariaLabel, cell.title])).toEqual([
      '🎉',
      'Konfettibombe',
      'Konfettibombe :tada:',
    ]);
    await search.fill('tada');
    expect(await cells.first().textContent()).toBe('🎉');
    await search.fill('auf wiederse');
    await press(page, 'Enter');
    expect(await field.inputValue()).toBe('👋');
    expect(german()).toBe(1);
    await page.keyboard.type(' :segelb');
    await page.locator('.completions:popover-open').getByText('Segelboot').first().waitFor();
    await press(page, 'Enter');
    expect(await field.inputValue()).toBe('👋 ⛵️ ');
    await page.context().close();
    await speak(null);
    const { page: english, asked: there } = await write();
    await openByKeyboard(english);
    expect(there.filter((url) => url.includes('emoji.de'))).toEqual([]);
    await english.context().close();
  });

  test.runIf(FULL)('is closed by Escape, Tab and a click elsewhere, with focus moved accordingly', async () => {
    const { page } = await write();
    await area(page).fill('Aye');
    await openByKeyboard(page);
    await press(page, 'Escape');
    expect([await focused(page), await dialog(page).count()]).toEqual(['textarea', 0]);
    await page.keyboard.type('!');
    expect(await area(page).inputValue()).toBe('Aye!');
    await openByKeyboard(page);
    await page.getByLabel('Title').click();
    await dialog(page).waitFor({ state: 'hidden' });
    expect(await page.evaluate('document.activeElement.id')).toBe('f-title');
    await openByKeyboard(page);
    await button(page).click();
    await dialog(page).waitFor({ state: 'hidden' });
    await openByKeyboard(page);
    await press(page, 'Tab', 'Tab', 'Tab', 'Tab');
    expect([await focused(page), await dialog(page).count()]).toEqual(['textarea', 0]);
    await page.context().close();
  });

  test.each([
    { width: 320, colorScheme: 'dark' as const, rtl: true },
    ...inFull(
      { width: 320, colorScheme: 'light' as const, rtl: false },
      { width: 1280, colorScheme: 'dark' as const, rtl: true },
    ),
  ])('fits at $width pixels, $colorScheme, right to left: $rtl', async ({ width, colorScheme, rtl }) => {
    const { page } = await write({ viewport: { width, height: 700 }, colorScheme, hasTouch: width === 320 });
    if (rtl) await page.evaluate('document.documentElement.dir = "rtl"');
    await button(page).click();
    const cells = dialog(page).getByRole('gridcell');
    await cells.first().waitFor();
    const box = (await dialog(page).boundingBox())!;
    expect(box.x >= 0 && box.x + box.width <= width && box.y + box.height <= 700, JSON.stringify(box)).toBe(true);
    // On a narrow screen it is a bottom sheet.
    const sheet = box.x === 0 && box.width === width && box.y + box.height === 700;
    expect(sheet).toBe(width === 320);
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    await cells.first().focus();
    await press(page, rtl ? 'ArrowLeft' : 'ArrowRight');
    expect(await focused(page)).toBe('smiley');
    await page.context().close();
  });
});

test('without JavaScript there is no emoji button', async () => {
  const page = await forum.open('bob', { javaScriptEnabled: false });
  await page.goto('/new');
  expect(await button(page).count()).toBe(0);
  await page.context().close();
});
