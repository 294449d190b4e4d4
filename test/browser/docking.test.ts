import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined, listen, movesSideways, walkFocus } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const docked = (page: Page) => page.locator('.docked');
const area = (page: Page) => page.locator('#reply textarea');
const replyTo = (page: Page, number: number) => page.locator(`#post-${number}`).getByRole('link', { name: 'Reply' });
const top = (page: Page, number: number): Promise<number> =>
  page.locator(`#post-${number}`).evaluate((post) => post.getBoundingClientRect().top);
/** Opens a discussion and waits until its links are handled by JavaScript. */
async function read(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await defined(page, 'x-posts');
}

test('a reply is written in a docked panel, and closing it loses nothing', async () => {
  const page = await forum.open('ada');
  const messages = listen(page);
  await read(page, '/d/1');
  await replyTo(page, 3).click();
  await docked(page).getByText('Reply to mia, post 3').waitFor();
  await page.keyboard.press('Escape');
  // Without text there is nothing to continue.
  await page.getByText('Write a reply…').click();
  await page.locator('.dock-head').getByText('Reply', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await replyTo(page, 3).click();
  await docked(page).getByText('Reply to mia, post 3').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.localName')).toBe('textarea');
  const before = await top(page, 3);
  await page.keyboard.type('It was the stern gland,');
  for (let stops = 0; stops < 3; stops++) await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.closest(".docked") !== null')).toBe(true);
  expect(await top(page, 3)).toBe(before);
  await page.mouse.move(600, 300);
  await page.mouse.wheel(0, 800);
  await expect.poll(() => top(page, 3)).toBeLessThan(before - 500);
  expect(
    await docked(page).evaluate(
      (panel) => panel.getBoundingClientRect().bottom - panel.ownerDocument.defaultView!.innerHeight,
    ),
  ).toBe(0);
  expect(await judge(page)).toEqual([]);
  await area(page).press('Escape');
  await docked(page).waitFor({ state: 'detached' });
  expect(await page.evaluate('document.activeElement.closest(".post").id')).toBe('post-3');
  await page.getByText('Write a reply…').click();
  await docked(page).getByText('Reply to mia, post 3').waitFor();
  expect(await area(page).inputValue()).toBe('It was the stern gland,');
  await area(page).fill('It was the stern gland, as ever.');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.locator('.post', { hasText: 'as ever' }).getByRole('link', { name: 'in reply to #3 by mia' }).waitFor();
  expect(messages).toEqual([]);
  await page.context().close();
});

test('Escape that cancels input method composition does not close the panel', async () => {
  const page = await forum.open('ada');
  await read(page, '/d/1');
  await replyTo(page, 3).click();
  await docked(page).locator('textarea').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.localName')).toBe('textarea');
  const input = await page.context().newCDPSession(page);
  await input.send('Input.imeSetComposition', { text: 'にほ', selectionStart: 2, selectionEnd: 2 });
  await page.keyboard.press('Escape');
  expect(await docked(page).count()).toBe(1);
  await input.send('Input.insertText', { text: '日本' });
  await page.keyboard.press('Escape');
  await docked(page).waitFor({ state: 'detached' });
  expect(await area(page).inputValue()).toContain('日本');
  await area(page).fill('');
  await page.context().close();
});

test.runIf(FULL)('a refused reply returns a page without a docked panel', async () => {
  const page = await forum.open('ada');
  await read(page, '/d/1');
  await replyTo(page, 3).click();
  await docked(page).getByText('Reply to mia, post 3').waitFor();
  await area(page).fill('   ');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.getByRole('main').getByRole('alert').waitFor();
  expect(await page.evaluate('document.documentElement.classList.contains("docking")')).toBe(false);
  await page.context().close();
});

test.runIf(FULL)('the post to be answered can be removed, also from the draft', async () => {
  const page = await forum.open('bob');
  await read(page, '/d/1');
  await replyTo(page, 2).click();
  await docked(page).locator('textarea').fill('To nobody after all');
  const copied = page.waitForResponse(
    (answer) => answer.request().method() === 'PUT' && !answer.request().postData()?.includes('"?to"'),
  );
  await docked(page)
    .getByRole('button', { name: /^Remove: Reply to .*, post 2$/ })
    .click();
  await page.locator('.dock-head').getByText('Reply', { exact: true }).waitFor();
  expect(await docked(page).getByRole('button', { name: 'Remove' }).count()).toBe(0);
  expect(await page.evaluate('document.activeElement.localName')).toBe('textarea');
  await docked(page)
    .getByText(/^Saved \d/)
    .waitFor();
  await copied;
  await page.goto('/');
  await read(page, '/d/1');
  await page.getByText('Write a reply…').click();
  await page.locator('.dock-head').getByText('Reply', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  const own = page.locator('.post', { hasText: 'To nobody after all' });
  await own.waitFor();
  expect(await own.locator('.post-to').count()).toBe(0);
  await page.context().close();
});

test.each([true, false])(
  'it can be removed on the reply page as well, preserving the text (JavaScript: %s)',
  async (javaScriptEnabled) => {
    const page = await forum.open('bob', { javaScriptEnabled, viewport: { width: 320, height: 700 } });
    await page.goto('/d/1/reply?to=3');
    await page.getByLabel('Your text').fill('Half of it');
    await page.locator('.answered').getByRole('button', { name: 'Remove' }).click();
    await page.locator('.answered').getByText('post 1').waitFor();
    expect(await page.getByLabel('Your text').inputValue()).toBe('Half of it');
    expect(await page.getByRole('button', { name: 'Remove' }).count()).toBe(0);
    expect(await page.locator('#reply').getAttribute('action')).toBe('/d/1/reply');
    expect(await movesSideways(page)).toBe(false);
    await page.context().close();
  },
);

test('a quoted post is appended to the text, by keyboard as well', async () => {
  const page = await forum.open('ada');
  await read(page, '/d/3');
  await page.keyboard.press('r');
  await expect.poll(() => page.evaluate('document.activeElement.localName')).toBe('textarea');
  await page.keyboard.type('Well.');
  await page.keyboard.press('Escape');
  await page.keyboard.press('q');
  await expect.poll(() => area(page).inputValue()).toMatch(/^Well\.\n\n> \[@\w+\]\(\/d\/3/);
  expect(new URL(page.url()).pathname).toMatch(/^\/d\/3/);
  await page.context().close();
});

test.runIf(FULL)('the bar opens the panel even if its module loads late, without scrolling', async () => {
  const page = await forum.open('ada');
  const late = Promise.withResolvers<void>();
  await page.route(/x-dock[^/]*\.js/, async (route) => {
    await late.promise;
    await route.continue();
  });
  await read(page, '/d/1');
  const before = await top(page, 1);
  const bar = (await page.getByText('Write a reply…').boundingBox())!;
  await page.mouse.click(bar.x + 5, bar.y + 5);
  late.resolve();
  await docked(page).waitFor();
  expect([await top(page, 1), new URL(page.url()).hash]).toEqual([before, '']);
  await page.context().close();
});

test.runIf(FULL)('the panel hides no Tab stop', async () => {
  const page = await forum.open('ada');
  await read(page, '/d/1');
  await replyTo(page, 2).click();
  await docked(page).waitFor();
  expect(await walkFocus(page)).toEqual([]);
  await page.context().close();
});

test('on a phone a reply has its own page', async () => {
  const page = await forum.open('ada', { viewport: { width: 320, height: 700 } });
  await page.goto('/d/1');
  expect(await page.getByText('Write a reply…').isVisible()).toBe(false);
  await replyTo(page, 3).click();
  await page.waitForURL('**/reply?to=3');
  expect(await movesSideways(page)).toBe(false);
  // From anywhere in a long discussion, without a post to answer.
  await page.goto('/d/1');
  await page.getByRole('navigation', { name: 'Go to' }).getByRole('link', { name: 'Write a reply' }).click();
  await page.waitForURL('**/d/1/reply');
  await page.context().close();
});
