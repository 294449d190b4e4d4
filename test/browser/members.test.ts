import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { listen, movesSideways, pass } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();

test('a card appears when the pointer rests on a name, and closes with Escape or when it leaves', async () => {
  const page = await forum.open('guest');
  const messages = listen(page);
  const cards: string[] = [];
  page.on('request', (request) => {
    if (request.url().endsWith('/card')) cards.push(new URL(request.url()).pathname);
  });
  await page.goto('/d/1');
  expect(await page.evaluate('customElements.get("x-member-card") === undefined')).toBe(true);
  const name = page.locator('#post-2 .post-by a');
  await name.hover();
  const card = page.getByRole('dialog', { name: 'bob' });
  await card.getByText('bob mends boats').waitFor();
  expect(await judge(page)).toEqual([]);
  await card.hover();
  await pass(page, 500);
  expect(await card.isVisible()).toBe(true);
  await page.keyboard.press('Escape');
  await card.waitFor({ state: 'hidden' });
  await page.mouse.move(5, 5);
  await pass(page, 400);
  await name.hover();
  await card.waitFor();
  await page.mouse.move(5, 5);
  await card.waitFor({ state: 'hidden' });
  expect(cards).toEqual(['/u/bob/card']);
  expect(messages).toEqual([]);
  await page.context().close();
});

test('by keyboard the card opens on focus, and Tab moves to its links', async () => {
  const page = await forum.open('guest');
  await page.goto('/d/1');
  await page.locator('#post-1').evaluate((post: any) => {
    post.tabIndex = -1;
    post.focus();
  });
  await page.keyboard.press('Tab');
  const card = page.getByRole('dialog', { name: 'ada' });
  await card.waitFor();
  await page.keyboard.press('Tab');
  expect(await page.evaluate('document.activeElement.closest(".member-card") !== null')).toBe(true);
  await page.keyboard.press('Escape');
  await card.waitFor({ state: 'hidden' });
  expect(await page.evaluate('document.activeElement.matches("#post-1 .post-by a")')).toBe(true);
  await page.context().close();
});

test.runIf(FULL)('a member can be ignored from their card without leaving the page', async () => {
  const page = await forum.open('ada');
  const messages = listen(page);
  await page.goto('/d/1');
  const pressOnCard = async (button: string): Promise<void> => {
    const name = page.locator('#post-2 .post-by a');
    await page.mouse.move(5, 5);
    await name.hover();
    const card = page.getByRole('dialog', { name: 'bob' });
    const answered = page.waitForResponse(
      (answer) => answer.request().method() === 'POST' && answer.url().endsWith('/follows'),
    );
    await card.getByRole('button', { name: button, exact: true }).click();
    await answered;
    await page.waitForURL(/\/d\/1-[^?#]*#post-2$/);
  };
  await pressOnCard('Ignore');
  await page.locator('#post-2 .post-ignored').waitFor();
  await page.locator('#post-2 .post-ignored summary').click();
  await pressOnCard('Stop ignoring');
  await expect.poll(() => page.locator('#post-2 .post-ignored').count()).toBe(0);
  expect(messages).toEqual([]);
  await page.context().close();
});

const PHONE = { hasTouch: true, isMobile: true, viewport: { width: 320, height: 700 } } as const;

test('tapping a name or a picture in a post opens its card, which leads to the profile', async () => {
  const page = await forum.open('guest', PHONE);
  const messages = listen(page);
  await page.goto('/d/1');
  const card = page.getByRole('dialog', { name: 'bob' });
  // The first tap comes before the module.
  await page.locator('#post-2 .post-by a').tap();
  await card.getByText('bob mends boats').waitFor();
  expect([await movesSideways(page), new URL(page.url()).pathname.startsWith('/d/1-')]).toEqual([false, true]);
  expect(await judge(page)).toEqual([]);
  expect(await card.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  await pass(page, 500);
  expect(await card.isVisible()).toBe(true);
  await page.locator('#post-2 .prose').first().tap();
  await card.waitFor({ state: 'hidden' });
  await page.locator('#post-2 .post-avatar').tap();
  await card.waitFor();
  await card.getByRole('link', { name: 'bob' }).first().tap();
  await page.waitForURL('**/u/bob');
  expect(messages).toEqual([]);
  await page.context().close();
});

test.runIf(FULL)(
  'a second tap follows the name, as does the first one where there is no card or no JavaScript',
  async () => {
    const page = await forum.open('guest', PHONE);
    await page.goto('/d/1');
    const name = page.locator('#post-2 .post-by a');
    await name.tap();
    await page.locator('.member-card:popover-open').waitFor();
    await name.tap();
    await page.waitForURL('**/u/bob');
    await page.route('**/card', (route) => route.abort());
    await page.goto('/d/1');
    await name.tap();
    await page.waitForURL('**/u/bob');
    await page.goto('/members');
    await page.locator('.user-card h2 a').first().tap();
    await page.waitForURL('**/u/*');
    await page.context().close();
    const plain = await forum.open('guest', { ...PHONE, javaScriptEnabled: false });
    await plain.goto('/d/1');
    await plain.locator('#post-2 .post-by a').tap();
    await plain.waitForURL('**/u/bob');
    expect(await plain.locator('.member-card').count()).toBe(0);
    await plain.context().close();
  },
);

test.runIf(FULL)('the list of members fits 320 pixels, and works without JavaScript', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await forum.open('ada', { viewport: { width: 320, height: 700 }, colorScheme });
    const messages = listen(page);
    await page.goto('/members?sort=posts');
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    expect(messages).toEqual([]);
    await page.context().close();
  }
  const page = await forum.open('guest', { javaScriptEnabled: false });
  await page.goto('/members');
  await page.getByLabel('Names starting with').fill('Z');
  await page.getByRole('main').getByRole('button', { name: 'Search' }).click();
  await page.waitForURL('**/members?name=Z');
  expect(await page.locator('.user-card h2').allTextContents()).toEqual(['zoe Member']);
  await page.context().close();
});
