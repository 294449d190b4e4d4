import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { FULL } from '../kit/full.ts';
import { listen, walkFocus } from './checks.ts';
import { logIn, PASSWORD, useForum, type Person } from './forum.ts';
import { judge } from './look.ts';

/** Editing a post in the docked panel. */
const forum = useForum();
const docked = (page: Page) => page.locator('.docked');
const area = (page: Page) => docked(page).locator('textarea');
const post = (page: Page, number: number) => page.locator(`#post-${number}`);

/** Posts a reply to a discussion; returns its number. */
async function written(person: Person, content: string, discussion = 5): Promise<number> {
  const client = forum.app.client();
  await client.login(person, PASSWORD);
  const { id } = (await client.get(`/api/discussions/${discussion}`)).body.discussion;
  return (await client.post('/api/posts', { discussion_id: id, content })).body.post.number;
}
async function edit(page: Page, number: number): Promise<void> {
  await post(page, number)
    .getByRole('link', { name: `More about post ${number}` })
    .click();
  await page.getByRole('link', { name: 'Edit', exact: true }).and(page.locator(':visible')).click();
}
const focused = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement.closest(".post")?.id ?? document.activeElement.localName');
/** The number of drafts of edited posts in this browser, including copies of those on the server. */
const drafts = (page: Page): Promise<number> =>
  page.evaluate('Object.keys(localStorage).filter((key) => key.includes(" edit-")).length');

describe('a post', () => {
  test('is edited in place, and shows the saved text immediately', async () => {
    const number = await written('ada', 'The first words.');
    const page = await forum.open('ada');
    const messages = listen(page);
    await page.goto(`/d/5/${number}`);
    const address = page.url();
    await page.locator('#reply textarea').fill('A reply under way.');
    await edit(page, number);
    await docked(page).getByText(`Edit post ${number}`).waitFor();
    expect(await area(page).inputValue()).toBe('The first words.');
    expect(await area(page).getAttribute('id')).not.toBe('f-content');
    await expect.poll(() => focused(page)).toBe('textarea');
    expect(await judge(page)).toEqual([]);
    expect(await walkFocus(page)).toEqual([]);
    await area(page).fill('The second words.');
    await area(page).press('Control+Enter');
    await post(page, number).getByText('The second words.').waitFor();
    await page.locator('.toast').getByText('Saved.').waitFor();
    expect([await docked(page).count(), page.url(), await focused(page)]).toEqual([0, address, `post-${number}`]);
    expect(await page.locator('#reply textarea').inputValue()).toBe('A reply under way.');
    expect(await drafts(page)).toBe(0);
    // The next page does not show it again.
    await page.goto('/');
    expect(await page.getByText('Saved.').count()).toBe(0);
    expect(messages).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)('is closed by Escape with its draft preserved, and cancelling deletes the draft', async () => {
    const number = await written('ada', 'To be left alone.');
    const page = await forum.open('ada');
    await page.goto(`/d/5/${number}`);
    await edit(page, number);
    await area(page).fill('Half a thought');
    await docked(page)
      .getByText(/^Saved \d/)
      .waitFor();
    await area(page).press('Escape');
    await docked(page).waitFor({ state: 'detached' });
    expect(await focused(page)).toBe(`post-${number}`);
    // A reply has its own panel.
    await page.keyboard.press('r');
    await docked(page).getByText('Reply to ada', { exact: false }).waitFor();
    expect(await area(page).inputValue()).not.toContain('Half');
    await edit(page, number);
    await docked(page).getByText(`Edit post ${number}`).waitFor();
    expect(await area(page).inputValue()).toBe('Half a thought');
    expect(await drafts(page)).toBeGreaterThan(0);
    await docked(page).getByRole('link', { name: 'Cancel' }).click();
    await docked(page).waitFor({ state: 'detached' });
    await expect.poll(() => drafts(page)).toBe(0);
    // The shortcut opens the same panel.
    await page.keyboard.press('e');
    await expect.poll(() => area(page).inputValue()).toBe('To be left alone.');
    expect(
      await docked(page)
        .getByText(/^Saved \d/)
        .count(),
    ).toBe(0);
    await page.context().close();
  });

  test.runIf(FULL)('can be closed while it is being saved, and a panel opened meanwhile stays', async () => {
    const number = await written('ada', 'Before it was saved.');
    const page = await forum.open('ada');
    const messages = listen(page);
    await page.goto(`/d/5/${number}`);
    const held: (() => void)[] = [];
    await page.route('**/edit', async (route) => {
      if (route.request().method() === 'POST') await new Promise<void>((resolve) => held.push(resolve));
      await route.continue();
    });
    const save = async (content: string): Promise<void> => {
      await edit(page, number);
      await area(page).fill(content);
      await area(page).press('Control+Enter');
      await expect.poll(() => held.length).toBe(1);
    };
    await save('Saved once.');
    await area(page).press('Escape');
    held.pop()!();
    await post(page, number).getByText('Saved once.').waitFor();
    await save('Saved twice.');
    await post(page, 1).getByRole('link', { name: 'Reply' }).click();
    await docked(page).getByText('post 1', { exact: false }).waitFor();
    await page.keyboard.type('A reply');
    held.pop()!();
    await post(page, number).getByText('Saved twice.').waitFor();
    await page.keyboard.type(' goes on');
    expect(await area(page).inputValue()).toMatch(/A reply goes on$/);
    await edit(page, number);
    await docked(page).getByText(`Edit post ${number}`).waitFor();
    expect(await area(page).inputValue()).toBe('Saved twice.');
    expect(messages).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)('keeps its draft when the session ends or the network fails', async () => {
    const number = await written('bob', 'Written by bob.');
    const page = await forum.open('guest');
    await logIn(page, 'bob');
    await page.goto(`/d/5/${number}`);
    await edit(page, number);
    await area(page).fill('Mended by bob.');
    await page.context().setOffline(true);
    await area(page).press('Control+Enter');
    const offline = docked(page).getByText('You are offline.', { exact: false });
    await offline.waitFor();
    await page.context().setOffline(false);
    await offline.waitFor({ state: 'detached' });
    await forum.app.app.service(Accounts).setPassword(forum.people.bob.id, PASSWORD);
    await area(page).press('Control+Enter');
    const dialog = page.getByRole('dialog', { name: 'Log in' });
    await dialog.getByLabel('Username or e-mail').fill('bob');
    expect(await area(page).inputValue()).toBe('Mended by bob.');
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Log in' }).click();
    await post(page, number).getByText('Mended by bob.').waitFor();
    await page.context().close();
  });

  test('changed by another user meanwhile is replaced only after a warning', async () => {
    const number = await written('ada', 'Before both.');
    const page = await forum.open('ada');
    await page.goto(`/d/5/${number}`);
    await edit(page, number);
    await area(page).fill('As ada has it.');
    const mia = forum.app.client();
    await mia.login('mia', PASSWORD);
    const { posts } = (await mia.get('/api/discussions/5/posts?limit=100')).body;
    await mia.put(`/api/posts/${posts[number - 1].id}`, { content: 'As mia has it.' });
    await area(page).press('Control+Enter');
    await page.getByRole('alert').getByText('This post was changed in the meantime.', { exact: false }).waitFor();
    expect(await page.getByLabel('Your text').inputValue()).toBe('As ada has it.');
    await page.getByRole('button', { name: 'Save' }).click();
    await post(page, number).getByText('As ada has it.').waitFor();
    await page.context().close();
  });

  test.runIf(FULL)('is edited on its own page on a phone, and without JavaScript', async () => {
    const number = await written('ada', 'For small windows.');
    const phone = await forum.open('ada', { viewport: { width: 320, height: 700 } });
    await phone.goto(`/d/5/${number}`);
    await edit(phone, number);
    await phone.waitForURL('**/edit');
    await phone.context().close();
    const page = await forum.open('ada', { javaScriptEnabled: false });
    await page.goto(`/d/5/${number}`);
    await post(page, number)
      .getByRole('link', { name: `More about post ${number}` })
      .click();
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Your text').fill('For no script.');
    await page.getByRole('button', { name: 'Save' }).click();
    await post(page, number).getByText('For no script.').waitFor();
    await page.getByText('Saved.').waitFor();
    await page.context().close();
  });
});
