import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { FULL, inFull } from '../kit/full.ts';
import { movesSideways, openListening } from './checks.ts';
import { logIn, PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const dialog = (page: Page): Locator => page.getByRole('dialog', { name: 'Log in' });
const text = (page: Page): Locator => page.getByLabel('Your text');

/** A page on which bob is writing, in a separate browser context. */
async function write(width = 1280): Promise<Page> {
  const page = await forum.open('guest', { viewport: { width, height: 800 } });
  await logIn(page, 'bob');
  await openListening(page, '/d/3/reply', 'x-composer');
  await text(page).fill('Half a thought');
  return page;
}
async function enter(page: Page): Promise<void> {
  await dialog(page).getByLabel('Username or e-mail').fill('bob');
  await dialog(page).getByLabel('Password', { exact: true }).fill(PASSWORD);
  await dialog(page).getByRole('button', { name: 'Log in' }).click();
}

test.each([320, ...inFull(1280)])(
  'a page whose session is ended elsewhere shows it at once, and continues after logging in, at %i pixels',
  async (width) => {
    const page = await write(width);
    await text(page).press('Control+End');
    await page.keyboard.type(', typed');
    await forum.app.app.service(Accounts).endSessions(forum.people.bob.id);
    await dialog(page).getByText('Your session was ended elsewhere').waitFor();
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    const listening = page.waitForResponse((answer) => new URL(answer.url()).pathname === '/api/live');
    await enter(page);
    await dialog(page).waitFor({ state: 'detached' });
    expect((await listening).status()).toBe(200);
    // The user can continue typing without clicking.
    await page.keyboard.type(' to its end');
    expect(await text(page).inputValue()).toBe('Half a thought, typed to its end');
    await page.context().close();
  },
);

test('a press that needs a session asks for a login, and is done after it', async () => {
  const page = await forum.open('guest');
  await logIn(page, 'bob');
  await page.goto('/d/3');
  await page.locator('x-bookmark-buttons').first().waitFor({ state: 'attached' });
  // It would ask for the login before anything is pressed.
  await page.evaluate(`document.querySelector('x-live').remove()`);
  await forum.endSessions('bob');
  await page.locator('.post').first().hover();
  const button = page.locator('.bookmark-add').first();
  await button.click();
  await dialog(page).getByText('You are no longer logged in.').waitFor();
  const kept = page.waitForResponse((answer) => answer.url().endsWith('/api/bookmarks') && answer.status() === 201);
  await enter(page);
  expect((await kept).status()).toBe(201);
  await dialog(page).waitFor({ state: 'detached' });
  await page.context().close();
});

test('what a page asks for by itself never asks for a login', async () => {
  const page = await forum.open('guest');
  await logIn(page, 'bob');
  await page.goto('/d/3/reply');
  await page.locator('x-typing:defined').first().waitFor({ state: 'attached' });
  await page.evaluate(`document.querySelector('x-live').remove()`);
  await forum.endSessions('bob');
  const refused = page.waitForResponse((answer) => answer.url().includes('/api/typing') && answer.status() === 401);
  await text(page).pressSequentially('On my own');
  await refused;
  await expect.poll(() => text(page).inputValue()).toBe('On my own');
  expect(await dialog(page).count()).toBe(0);
  await page.context().close();
});

test.runIf(FULL)('logging out in one tab is shown in the others', async () => {
  const page = await write();
  const tab = await page.context().newPage();
  await tab.goto('/categories');
  await tab.getByRole('button', { name: 'Account of bob' }).click();
  await tab.getByRole('button', { name: 'Log out' }).click();
  await tab.getByRole('link', { name: 'Log in' }).first().waitFor();
  await dialog(page).getByText('Your session was ended elsewhere').waitFor();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  expect(await text(page).inputValue()).toBe('Half a thought');
  await page.context().close();
});
