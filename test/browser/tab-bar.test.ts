import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { inFull } from '../kit/full.ts';
import { defined, movesSideways, walkFocus } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const PHONE = { viewport: { width: 320, height: 640 } };
const bar = (page: Page) => page.getByRole('navigation', { name: 'Quick navigation' });
const words = async (page: Page): Promise<readonly string[]> =>
  (await bar(page).getByRole('listitem').allInnerTexts()).map((text) => text.trim());

describe('the tab bar on a phone', () => {
  test('links members to the main pages without JavaScript, and opens their menu', async () => {
    const page = await forum.open('ada', { ...PHONE, javaScriptEnabled: false });
    await page.goto('/');
    expect(await words(page)).toEqual(['Home', 'Unread', 'New', 'Alerts', 'Account']);
    await bar(page).getByRole('link', { name: 'Unread' }).click();
    await page.waitForURL('**/unread');
    expect(await bar(page).locator('[aria-current]').allInnerTexts()).toEqual(['Unread']);
    await bar(page).getByRole('button', { name: 'Account' }).click();
    const menu = page.locator('#account-menu');
    expect(await menu.getByRole('link', { name: 'Settings' }).isVisible()).toBe(true);
    const [box, foot] = [await menu.boundingBox(), await bar(page).boundingBox()];
    expect(box!.y + box!.height).toBeLessThanOrEqual(foot!.y);
    await page.context().close();
  });

  test('links guests to the front page, the search and the login form', async () => {
    const page = await forum.open('guest', PHONE);
    await page.goto('/categories');
    expect(await words(page)).toEqual(['Home', 'Search', 'Log in']);
    expect(await bar(page).locator('[aria-current]').count()).toBe(0);
    await page.context().close();
  });

  test('replaces the main navigation on pages for reading and writing', async () => {
    const page = await forum.open('ada', PHONE);
    const shown = async (path: string): Promise<boolean> => {
      await page.goto(path);
      return page.getByRole('navigation', { name: 'Main', exact: true }).isVisible();
    };
    for (const path of ['/', '/categories', '/c/general', '/new']) expect(await shown(path), path).toBe(true);
    for (const path of ['/d/1', '/d/1/reply', '/u/bob', '/settings']) expect(await shown(path), path).toBe(false);
    await page.setViewportSize({ width: 360, height: 340 });
    expect(await shown('/d/1'), 'without the bar').toBe(true);
    await page.context().close();
  });

  test('is hidden on wide screens, and while an on-screen keyboard is open', async () => {
    for (const viewport of [
      { width: 1280, height: 900 },
      { width: 360, height: 340 },
    ]) {
      const page = await forum.open('ada', { viewport });
      await page.goto('/new');
      expect(await bar(page).isVisible(), JSON.stringify(viewport)).toBe(false);
      await page.context().close();
    }
  });

  test('marks the current page in the accent colour of the site', async () => {
    const page = await forum.open('ada', PHONE);
    await page.goto('/unread');
    await page.evaluate("document.documentElement.style.setProperty('--accent', 'rgb(1, 2, 3)')");
    expect(await page.evaluate("getComputedStyle(document.querySelector('.tab-bar [aria-current]')).color")).toBe(
      'rgb(1, 2, 3)',
    );
    await page.context().close();
  });

  test('is replaced by the position bar in a long discussion', async () => {
    const page = await forum.open('ada', PHONE);
    await page.goto('/d/1');
    await defined(page, 'x-position');
    expect([await bar(page).isVisible(), await page.locator('x-position').isVisible()]).toEqual([false, true]);
    await page.context().close();
  });

  test.each(['/', ...inFull('/d/3', '/new', '/settings/profile')])(
    'covers neither focused elements nor the end of %s',
    async (path) => {
      const page = await forum.open('ada', PHONE);
      await page.goto(path);
      expect([await walkFocus(page), await movesSideways(page), await judge(page)]).toEqual([[], false, []]);
      await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
      const [last, foot] = [await page.getByRole('contentinfo').boundingBox(), await bar(page).boundingBox()];
      expect(last!.y + last!.height).toBeLessThanOrEqual(foot!.y + 1);
      await page.context().close();
    },
  );
});

test('on a phone the front page has its categories in one row, and other lists have none', async () => {
  const page = await forum.open('guest', PHONE);
  const row = page.getByRole('navigation', { name: 'Categories', exact: true });
  await page.goto('/');
  const first = row.getByRole('link').first();
  expect((await row.boundingBox())!.height).toBeLessThanOrEqual(40);
  expect((await first.boundingBox())!.height).toBeGreaterThanOrEqual(24);
  expect(await movesSideways(page)).toBe(false);
  expect(await judge(page)).toEqual([]);
  await first.click();
  await page.waitForURL('**/c/**');
  expect(await row.isVisible()).toBe(false);
  await page.context().close();
});
