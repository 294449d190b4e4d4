import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined, listen, movesSideways } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();

test('a post can be bookmarked and unbookmarked without leaving the page', async () => {
  const page = await forum.open('bob');
  const messages = listen(page);
  await page.goto('/d/1');
  const post = page.locator('#post-2');
  const item = async (name: string): Promise<void> => {
    await defined(page, 'x-posts');
    await post.getByRole('link', { name: 'More about post 2' }).click();
    await page.getByRole('button', { name, exact: true }).waitFor();
    await defined(page, 'x-bookmark');
    await page.getByRole('button', { name, exact: true }).click();
  };
  await item('Bookmark');
  await post.getByRole('link', { name: 'Bookmarked: note and reminder of post 2' }).waitFor();
  expect(new URL(page.url()).pathname).toMatch(/^\/d\/1-/);
  expect(await judge(page)).toEqual([]);
  await item('Remove bookmark');
  await post.locator('.bookmark-badge').waitFor({ state: 'detached' });
  await page.goto('/d/1');
  await item('Bookmark');
  await post.locator('.bookmark-badge').click();
  await page.getByLabel('Note').fill('The scarf joint');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The scarf joint').waitFor();
  expect(messages).toEqual([]);
  await page.context().close();
});

test.runIf(FULL)(
  'on wide screens a post is bookmarked with the button next to it, and focus moves to the badge',
  async () => {
    const page = await forum.open('ada');
    const messages = listen(page);
    await page.goto('/d/1');
    const post = page.locator('#post-4');
    const button = post.getByRole('button', { name: 'Bookmark post 4' });
    await post.hover();
    await button.focus();
    await page.keyboard.press('Enter');
    await post.getByRole('link', { name: 'Bookmarked: note and reminder of post 4' }).waitFor();
    expect(await button.count()).toBe(0);
    expect(new URL(page.url()).pathname).toMatch(/^\/d\/1-/);
    expect(await page.evaluate('document.activeElement.className')).toContain('bookmark-badge');
    expect(await judge(page)).toEqual([]);
    await page.setViewportSize({ width: 600, height: 800 });
    expect(await page.locator('.bookmark-add').and(page.locator(':visible')).count()).toBe(0);
    expect(messages).toEqual([]);
    await page.context().close();
  },
);

test.runIf(FULL)('several bookmarks can be removed without JavaScript, on a phone', async () => {
  const page = await forum.open('mia', { javaScriptEnabled: false, viewport: { width: 320, height: 800 } });
  for (const number of [1, 2]) {
    await page.goto('/d/1');
    await page.getByRole('link', { name: `More about post ${number}`, exact: true }).click();
    await page.getByRole('button', { name: 'Bookmark', exact: true }).click();
  }
  await page.goto('/bookmarks');
  expect(await movesSideways(page)).toBe(false);
  for (const box of await page.getByRole('checkbox').all()) await box.check();
  await page.getByRole('button', { name: 'Remove selected' }).click();
  await page.getByRole('heading', { name: 'No bookmarks yet' }).waitFor();
  await page.context().close();
});
