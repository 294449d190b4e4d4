import { expect, test } from 'vitest';
import { defined } from './checks.ts';
import { useForum } from './forum.ts';

const forum = useForum();

test('a moderator can select several discussions at once, with their count shown', async () => {
  const page = await forum.open('mia');
  await page.goto('/mod/discussions');
  await defined(page, 'x-selection');
  const boxes = page.locator('.card-choice input');
  const counted = page.locator('x-selection output');
  await boxes.nth(1).check();
  await boxes.nth(4).click({ modifiers: ['Shift'] });
  expect(await counted.textContent()).toBe('Chosen: 4');
  expect([await boxes.nth(0).isChecked(), await boxes.nth(3).isChecked()]).toEqual([false, true]);
  await boxes.nth(2).click({ modifiers: ['Shift'] });
  expect(await counted.textContent()).toBe('Chosen: 2');
  const total = await boxes.count();
  await page.getByLabel('Choose all').check();
  expect(await counted.textContent()).toBe(`Chosen: ${total}`);
  await page.getByLabel('Choose all').uncheck();
  await boxes.nth(1).check();
  await page.getByRole('link', { name: 'Continue' }).click();
  await page.getByLabel('Action').selectOption('Lock');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('status').filter({ hasText: '1 discussion is locked.' }).waitFor();
  await page.context().close();
});
