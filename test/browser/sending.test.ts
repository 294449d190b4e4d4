import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { useForum } from './forum.ts';

const forum = useForum();
const NOTE = 'form[action$="/notes"]';

/** A page about bob for moderators, and the forms submitted from it, which get no response before `release`. */
async function open(): Promise<{ readonly page: Page; readonly sent: string[]; release(): void }> {
  const page = await forum.open('mia');
  const sent: string[] = [];
  const { promise, resolve: release } = Promise.withResolvers<void>();
  await page.route('**/mod/**', async (route) => {
    if (route.request().method() === 'POST') {
      sent.push(route.request().postData() ?? '');
      await promise;
    }
    // It may have been aborted meanwhile.
    await route.continue().catch(() => undefined);
  });
  await page.goto('/mod/members/bob');
  return { page, sent, release };
}
/** Presses the button that adds a note after each of these milliseconds, while the next page is loading. */
const press = (page: Page, times: readonly number[]): Promise<void> =>
  page.evaluate(
    `for (const at of ${JSON.stringify(times)}) setTimeout(() => document.querySelector('${NOTE} button').click(), at)`,
  );

test('a plain form is sent once with the value of its button, however often it is pressed', async () => {
  const { page, sent, release } = await open();
  await page.evaluate(`Object.assign(document.querySelector('${NOTE} button'), { name: 'by', value: 'hand' })`);
  await press(page, [0]);
  await page.getByLabel('A note for other moderators').fill('Seen twice');
  await press(page, [0, 100, 600]);
  await expect.poll(() => sent.length).toBe(1);
  await page.waitForTimeout(1_000);
  expect(sent).toEqual([expect.stringContaining('content=Seen+twice&by=hand')]);
  release();
  await page.locator('.notice').waitFor();
  expect(await page.getByText('Seen twice').count()).toBe(1);
  await page.context().close();
});

test.runIf(FULL)('it can be sent again after navigating back, or if there was no response', async () => {
  const { page, sent, release } = await open();
  await page.getByLabel('A note for other moderators').fill('Once more');
  await page.evaluate(`setTimeout(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })), 400)`);
  await press(page, [0, 200, 600, 800, 6_500]);
  await expect.poll(() => sent.length).toBe(2);
  await expect.poll(() => sent.length, { timeout: 20_000 }).toBe(3);
  release();
  await page.context().close();
});
