import { expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { defined, listen, movesSideways, typeAtOnce } from './checks.ts';
import { TITLES } from './content.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const WORD = TITLES[0]!.split(' ')[0]!;

test('the search field in the header suggests results while typing, and is operated by keyboard', async () => {
  const page = await forum.open('guest');
  const messages = listen(page);
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/suggestions')) asked.push(new URL(request.url()).searchParams.get('q')!);
  });
  await page.goto('/categories');
  expect(await page.evaluate('customElements.get("x-search") === undefined')).toBe(true);
  const field = page.getByRole('combobox', { name: 'Search for' }).or(page.locator('#header-search')).first();
  await field.focus();
  await expect.poll(() => page.evaluate('customElements.get("x-search") !== undefined')).toBe(true);
  await typeAtOnce(page, WORD.slice(0, 4));
  const options = page.getByRole('option');
  await options.first().waitFor();
  expect(asked).toEqual([WORD.slice(0, 4).toLowerCase()]);
  expect(await field.getAttribute('aria-expanded')).toBe('true');
  expect(await judge(page)).toEqual([]);
  await page.keyboard.press('ArrowDown');
  expect(await field.getAttribute('aria-activedescendant')).toBe(await options.first().getAttribute('id'));
  await page.keyboard.press('Escape');
  expect(await options.first().isVisible()).toBe(false);
  expect(await field.inputValue()).toBe(WORD.slice(0, 4));
  await field.press('Backspace');
  await options.first().waitFor();
  const path = await options.first().getAttribute('href');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${path}`);
  expect(messages).toEqual([]);
  await page.context().close();
});

test.runIf(FULL)(
  'Enter without a selection searches; recent searches are suggested until they are cleared',
  async () => {
    const page = await forum.open('ada', { viewport: { width: 320, height: 700 }, colorScheme: 'dark' });
    await page.goto('/search');
    const field = page.locator('#f-q');
    await field.fill('keel bolts');
    // It was loaded on focus, and stores searches submitted from then on.
    await defined(page, 'x-search');
    await field.press('Enter');
    await page.waitForURL('**/search?q=keel+bolts*');
    await page.goto('/search');
    await field.focus();
    const recent = page.getByRole('option', { name: 'keel bolts' });
    await recent.waitFor();
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    await page.getByRole('button', { name: 'Clear' }).click();
    await recent.waitFor({ state: 'hidden' });
    await page.reload();
    await field.focus();
    await page.waitForTimeout(300);
    expect(await recent.count()).toBe(0);
    await page.context().close();
  },
);

test('filters are fields that write the query, without JavaScript as well', async () => {
  const page = await forum.open('guest', { javaScriptEnabled: false, viewport: { width: 320, height: 800 } });
  await page.goto('/search?q=keel');
  await page.getByText('Filters').click();
  await page.getByLabel('Written by').fill('bob');
  await page.getByLabel('In category').selectOption({ label: 'General' });
  await page.getByLabel('Sort by').selectOption({ label: 'Newest' });
  await page.getByRole('main').getByRole('button', { name: 'Search' }).click();
  await page.waitForURL('**/search?q=keel+author*');
  expect(await page.locator('#f-q').inputValue()).toBe('keel author:bob category:general');
  expect(await page.getByLabel('Written by').inputValue()).toBe('bob');
  expect(await page.getByLabel('Sort by').inputValue()).toBe('newest');
  expect(await movesSideways(page)).toBe(false);
  await page.context().close();
});

test.each([[320, 'dark'], ...inFull([1280, 'light'] as const)] as const)(
  'moderators find the target discussion for moved posts by its title, at %i pixels in %s colours',
  async (width, colorScheme) => {
    const page = await forum.open('mia', { viewport: { width, height: 800 }, colorScheme });
    await page.goto('/d/1/move');
    const [own, words] = [TITLES[0]!, TITLES[1]!];
    const field = page.getByLabel('The other discussion');
    await field.focus();
    await defined(page, 'x-search');
    const options = page.getByRole('option');
    await typeAtOnce(page, words.slice(0, 6));
    const option = options.filter({ hasText: words });
    await option.waitFor();
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    const path = await option.getAttribute('href');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    // The field is filled in, without submitting or leaving the page.
    expect([await field.inputValue(), new URL(page.url()).pathname]).toEqual([path, '/d/1/move']);
    await option.waitFor({ state: 'hidden' });
    // The current discussion is not suggested, nor are members and tags.
    await field.fill(own.slice(0, 6));
    await page.waitForTimeout(400);
    expect(await options.filter({ hasText: own }).count()).toBe(0);
    await field.fill(words.slice(0, 6));
    await page.getByRole('button', { name: 'Merge with the other discussion' }).click();
    await page.getByRole('radio', { name: words }).waitFor();
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    await page.context().close();
  },
);

test('without JavaScript moderators choose among discussions found by title, with their input preserved', async () => {
  const page = await forum.open('mia', { javaScriptEnabled: false, viewport: { width: 320, height: 800 } });
  await page.goto('/d/1/move');
  await page.getByLabel('The other discussion').fill(TITLES[1]!.slice(0, 6));
  await page.getByLabel('Reason').fill('Twice the same');
  await page.getByRole('button', { name: 'Merge with the other discussion' }).click();
  await page.getByText('does not identify a discussion yet').first().waitFor();
  expect(await page.getByLabel('Reason').inputValue()).toBe('Twice the same');
  expect(await movesSideways(page)).toBe(false);
  await page.getByRole('radio', { name: TITLES[1]! }).check();
  await page.getByRole('button', { name: 'Merge with the other discussion' }).click();
  await page.getByText('The discussions are merged').waitFor();
  await page.context().close();
});
