import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { defined, movesSideways } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const bar = (page: Page): Locator => page.locator('x-bar');
const text = (page: Page): Locator => page.getByLabel('Your text');

/** A page on which bob is writing, whose session first ends in this many seconds; records the requests about it. */
async function write(seconds: number, { width = 1280, words = 'Long thought about' } = {}) {
  const page = await forum.open('bob', { viewport: { width, height: 800 } });
  await page.clock.install();
  // The text of one test must not return as a draft in the next.
  await page.route('**/api/drafts/**', (route) => route.abort());
  const asked: string[] = [];
  let left = seconds;
  await page.route('**/api/session', async (route) => {
    const method = route.request().method();
    asked.push(method);
    if (method === 'POST') {
      left = 3_600;
      return route.continue();
    }
    return route.fulfill({ json: { success: true, expires_in: left } });
  });
  await page.goto('/d/5/reply');
  await defined(page, 'x-composer');
  await text(page).fill(words);
  await defined(page, 'x-session');
  await expect.poll(() => asked.length).toBe(1);
  return { page, asked, become: (other: number) => void (left = other) };
}

test.each([320, ...inFull(1280)])(
  'an author is warned five minutes before the session ends, and can extend it, at %i pixels',
  async (width) => {
    const { page, asked, become } = await write(1_000, { width });
    expect(await bar(page).count()).toBe(0);
    become(290);
    await page.clock.runFor(701_000);
    await bar(page).getByText('You will be logged out in 5 min.').waitFor();
    expect(await page.locator('#announcer').textContent()).toContain('You will be logged out in 5 min.');
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    await bar(page).getByRole('button', { name: 'Stay logged in' }).click();
    await bar(page).waitFor({ state: 'detached' });
    expect(asked).toEqual(['GET', 'GET', 'POST']);
    await page.context().close();
  },
);

test.runIf(FULL)('the warning disappears after activity on another page', async () => {
  const { page, become } = await write(200);
  await bar(page).waitFor();
  become(3_000);
  await page.clock.runFor(61_000);
  await bar(page).waitFor({ state: 'detached' });
  await page.context().close();
});

test('without any text there is no warning', async () => {
  const { page, asked } = await write(200, { words: '' });
  await page.clock.runFor(61_000);
  await expect.poll(() => asked.length).toBe(2);
  expect(await bar(page).count()).toBe(0);
  await page.context().close();
});
