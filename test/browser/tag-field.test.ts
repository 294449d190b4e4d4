import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inFull } from '../kit/full.ts';
import { defined, movesSideways } from './checks.ts';
import { useForum, type Person } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const field = (page: Page) => page.getByLabel('Tags', { exact: true });
const choices = (page: Page) => page.getByRole('listbox', { name: 'Suggestions' });

/** Each test uses another member, as unsent input is restored as a draft. */
async function open(person: Person, width = 1280, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
  const page = await forum.open(person, { viewport: { width, height: 800 }, colorScheme });
  await page.goto('/new');
  await field(page).focus();
  await defined(page, 'x-tag-field');
  return page;
}

test('the tag field suggests existing tags, and continues after a comma', async () => {
  const page = await open('ada');
  await choices(page).waitFor();
  // Nothing is preselected before typing.
  expect(await choices(page).locator('[aria-selected="true"]').count()).toBe(0);
  await field(page).pressSequentially('engi');
  await choices(page).getByRole('option', { name: 'engines', selected: true }).waitFor();
  await page.keyboard.press('Enter');
  expect(await field(page).inputValue()).toBe('engines, ');
  // A tag that was already added is not suggested again.
  await page.keyboard.type('engi');
  await choices(page).waitFor({ state: 'hidden' });
  await page.keyboard.press('Enter');
  expect([new URL(page.url()).pathname, await field(page).inputValue()]).toEqual(['/new', 'engines, engi, ']);
  await page.keyboard.type('aid');
  await choices(page).getByRole('option', { name: 'first aid' }).click();
  expect(await field(page).inputValue()).toBe('engines, engi, first aid, ');
  expect(await field(page).evaluate((input) => input === input.ownerDocument.activeElement)).toBe(true);
  await page.context().close();
});

test('Escape closes an open list and preserves the input', async () => {
  const page = await open('bob');
  await field(page).pressSequentially('engi');
  await choices(page).waitFor();
  await page.keyboard.press('Escape');
  await choices(page).waitFor({ state: 'hidden' });
  await page.keyboard.press('Tab');
  expect(await field(page).inputValue()).toBe('engi');
  await page.context().close();
});

test.each([[320, 'dark', 'mia'], ...inFull([1280, 'light', 'root'] as const)] as const)(
  'the list is readable at %i pixels in %s colours',
  async (width, scheme, person) => {
    const page = await open(person, width, scheme);
    await field(page).pressSequentially('e');
    await choices(page).waitFor();
    const [list, input] = [await choices(page).boundingBox(), await field(page).boundingBox()];
    expect(list!.y).toBeGreaterThanOrEqual(input!.y + input!.height);
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    await page.context().close();
  },
);
