import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined, listen, movesSideways, openListening, pass } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const bell = (page: Page) => page.locator('.bell');
const menu = (page: Page) => page.getByRole('dialog', { name: 'Notifications' });

/** Ada mentions bob this often, each time in a new discussion, and bob's notifications arrive one after another. */
beforeAll(async () => {
  const [ada, bob] = [forum.app.client(), forum.app.client()];
  await ada.login('ada', PASSWORD);
  await bob.login('bob', PASSWORD);
  const count = async () => (await bob.get('/api/notifications/count')).body.count;
  for (let number = 1; number <= 12; number++) {
    const body = { title: `Called ${number} times`, content: '@bob, come and look', category_id: 'general' };
    await ada.post('/api/discussions', body);
    await vi.waitUntil(async () => (await count()) === number, { timeout: 30_000 });
  }
});

describe('the bell', () => {
  test('opens a menu with the newest notifications, which link to their posts', async () => {
    const page = await forum.open('bob');
    const heard = listen(page);
    await page.goto('/');
    await bell(page).hover();
    await defined(page, 'x-notifications-menu');
    await bell(page).click();
    await menu(page).getByText('Called 12 times').waitFor();
    expect(await menu(page).locator('.notification').count()).toBe(10);
    expect(await menu(page).getByText('Called 2 times').count()).toBe(0);
    expect(page.url()).toBe(`${forum.url}/`);
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    await bell(page).click();
    await menu(page).waitFor({ state: 'hidden' });
    // A click this soon would belong to the press that closed it.
    await pass(page, 500);
    await bell(page).click();
    await menu(page)
      .getByRole('link', { name: /Called 11 times/ })
      .click();
    await page.getByRole('heading', { name: 'Called 11 times' }).waitFor();
    expect(heard).toEqual([]);
    await page.context().close();
  });

  test('works by keyboard, and marks all as read', async () => {
    const page = await forum.open('bob');
    await page.goto('/categories');
    await bell(page).focus();
    await defined(page, 'x-notifications-menu');
    await page.keyboard.press('Enter');
    await menu(page).waitFor();
    expect(await page.evaluate('document.activeElement.closest(".notifications-menu") !== null')).toBe(true);
    await page.keyboard.press('Escape');
    expect(await page.evaluate('document.activeElement.classList.contains("bell")')).toBe(true);
    await page.keyboard.press('Enter');
    await menu(page).getByRole('button', { name: 'Mark all as read' }).click();
    await page.locator('.bell .icon-count').waitFor({ state: 'hidden' });
    await expect.poll(() => menu(page).locator('.notification.unread').count()).toBe(0);
    expect(new URL(page.url()).pathname).toBe('/categories');
    await menu(page).getByRole('link', { name: 'All notifications' }).click();
    await page.getByRole('heading', { name: 'Notifications', level: 1 }).waitFor();
    await page.context().close();
  });

  test.each([
    { where: 'on a phone', options: { viewport: { width: 412, height: 800 } } },
    { where: 'without JavaScript', options: { javaScriptEnabled: false } },
  ])('links to the notifications page $where', async ({ options }) => {
    const page = await forum.open('bob', options);
    await page.goto('/');
    await bell(page).click();
    await page.getByRole('heading', { name: 'Notifications', level: 1 }).waitFor();
    await page.context().close();
  });
});

test('without a live stream the count is polled after a minute, then at growing intervals', async () => {
  const page = await forum.open('ada');
  await page.clock.install();
  await page.route('**/api/live?*', (route) => route.abort());
  const asked: number[] = [];
  await page.route('**/api/notifications/count', (route) =>
    route.fulfill({ json: { success: true, count: 40 + asked.push(asked.length) } }),
  );
  await page.goto('/categories');
  await defined(page, 'x-live', 'x-count');
  // Otherwise the clock would keep running, however long a busy machine takes for each step.
  await page.clock.pauseAt(await page.evaluate<number>('Date.now() + 1_000'));
  for (const [seconds, times] of [
    [45, 0],
    [25, 1],
    [90, 1],
    [40, 2],
    [245, 3],
    [305, 4],
    [305, 5],
  ] as const) {
    await page.clock.runFor(seconds * 1_000);
    await expect.poll(() => asked.length).toBe(times);
    if (times > 0) await page.getByRole('link', { name: `Notifications, unread: ${40 + times}` }).waitFor();
  }
  await page.context().close();
});

test.runIf(FULL)('the menu keeps the keyboard focus when notifications arrive or are all marked as read', async () => {
  const page = await forum.open('bob');
  await openListening(page, '/categories');
  await bell(page).focus();
  await defined(page, 'x-notifications-menu');
  await bell(page).press('Enter');
  await menu(page)
    .getByRole('link', { name: /Called 11 times/ })
    .focus();
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const body = { title: 'Called once more', content: '@bob, come and look', category_id: 'general' };
  await ada.post('/api/discussions', body);
  await menu(page).getByText('Called once more').waitFor();
  const focused = (): Promise<string> =>
    page.evaluate(`document.activeElement.closest('.notifications-menu a')?.textContent ?? ''`);
  expect(await focused()).toContain('Called 11 times');
  await menu(page).getByRole('button', { name: 'Mark all as read' }).press('Enter');
  await expect.poll(() => menu(page).locator('.notification.unread').count()).toBe(0);
  expect(await focused()).toContain('Called once more');
  await page.context().close();
});
