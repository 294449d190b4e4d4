import { expect, test } from 'vitest';
import { useForum } from './forum.ts';

const forum = useForum();

test('the browser’s time zone is one click away, and times are shown in the chosen zone', async () => {
  const page = await forum.open('ada', { timezoneId: 'Asia/Tokyo' });
  await page.goto('/d/1');
  const title = (): Promise<string | null> => page.locator('time[data-relative]').first().getAttribute('title');
  await expect.poll(title).not.toMatch(/UTC|GMT/);
  await page.goto('/settings/language');
  await page.getByRole('button', { name: 'Use this browser’s: Asia/Tokyo' }).click();
  expect(await page.locator('select[name="timezone"]').inputValue()).toBe('Asia/Tokyo');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Language and time zone saved.').waitFor();
  expect(await page.locator('x-own-zone button').count()).toBe(0);
  await page.goto('/d/1');
  expect(await title()).toContain('GMT+9');
  await page.context().close();
});
