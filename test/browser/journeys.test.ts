import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inFull } from '../kit/full.ts';
import { listen } from './checks.ts';
import { logIn, PASSWORD, useForum } from './forum.ts';

const forum = useForum();

/** Opens the menu of the button or link with this name and selects an entry. */
async function choose(
  page: Page,
  menu: string | RegExp,
  entry: string,
  role: 'link' | 'button' = 'link',
): Promise<void> {
  await page
    .getByRole('button', { name: menu })
    .or(page.getByRole('link', { name: menu }))
    .click();
  await page.getByRole(role, { name: entry, exact: true }).and(page.locator(':visible')).click();
}
/** Waits until it is visible; throws if that does not happen. */
async function seen(what: Locator): Promise<boolean> {
  await what.first().waitFor();
  return true;
}
const shown = (page: Page, text: string | RegExp): Promise<boolean> => seen(page.getByRole('main').getByText(text));
const heading = (page: Page, name: string): Promise<boolean> =>
  seen(page.getByRole('heading', { name, level: 1, exact: true }));
/** Browser errors, except refused requests, which the journeys cause on purpose. */
const complaints = (heard: readonly string[]): readonly string[] =>
  heard.filter((line) => !/the server responded with a status of 4\d\d/.test(line));
const post = (page: Page, number: number) => page.locator(`#post-${number}`);

/** The member who signs up with JavaScript, and whom the administrator disables later. */
const NEWCOMER = 'wanda';
const [MINE, ANOTHER] = ['Masts', 'Lamps'].map(
  (topic) => `${topic}: what do you use, and would you buy them again?`,
) as [string, string];

describe.each([
  { how: 'with JavaScript', javaScriptEnabled: true, name: NEWCOMER },
  ...inFull({ how: 'without JavaScript', javaScriptEnabled: false, name: 'willem' }),
])('a new member, $how', ({ javaScriptEnabled, name }) => {
  let page: Page;
  let heard: readonly string[];
  beforeAll(async () => void (heard = listen((page = await forum.open('guest', { javaScriptEnabled })))));
  afterAll(() => page.context().close());

  test('signs up and is welcomed by name', async () => {
    await page.goto('/');
    await page.getByRole('banner').getByRole('link', { name: 'Sign up' }).click();
    await page.getByLabel('Username').fill(name);
    await page.getByLabel('E-mail').fill(`${name}@forum.test`);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByLabel('Repeat the password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign up' }).click();
    expect(await shown(page, `Welcome, ${name}!`)).toBe(true);
    await page.getByRole('button', { name: `Account of ${name}` }).waitFor();
  });

  test('logs out, and back in to the previous page', async () => {
    await choose(page, `Account of ${name}`, 'Log out', 'button');
    expect(await shown(page, 'You are logged out.')).toBe(true);
    await page.goto('/categories');
    await page.getByRole('banner').getByRole('link', { name: 'Log in' }).click();
    await page.getByLabel('Username or e-mail').fill(name);
    await page.getByLabel('Password', { exact: true }).fill('Not-My-Boat-1');
    await page.getByRole('main').getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('Username or e-mail').inputValue()).toBe(name);
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByRole('main').getByRole('button', { name: 'Log in' }).click();
    expect(await heading(page, 'Categories')).toBe(true);
    expect(new URL(page.url()).pathname).toBe('/categories');
  });

  test('starts a discussion after previewing it', async () => {
    await page.goto('/');
    await page.getByRole('main').getByRole('link', { name: 'New discussion' }).click();
    await page.getByRole('radio', { name: 'General' }).check();
    await page.getByLabel('Title').fill(`Greetings from ${name}`);
    await page.getByLabel('Your text').fill('Hello, **everybody**.');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('main').locator('strong', { hasText: 'everybody' }).waitFor();
    await page.getByRole('button', { name: 'Start discussion' }).click();
    expect(await heading(page, `Greetings from ${name}`)).toBe(true);
    await post(page, 1).locator('strong', { hasText: 'everybody' }).waitFor();
    await page.goto('/');
    await page
      .getByRole('main')
      .getByRole('link', { name: `Greetings from ${name}` })
      .click();
    expect(await heading(page, `Greetings from ${name}`)).toBe(true);
  });

  test('replies at the bottom of the page', async () => {
    await page.getByLabel('Your text').fill('And one thing more.');
    await page.getByRole('button', { name: 'Post', exact: true }).click();
    await post(page, 2).getByText('And one thing more.').waitFor();
    expect(page.url()).toMatch(/#post-2$/);
    expect(await page.getByLabel('Your text').inputValue()).toBe('');
  });

  test('quotes a post', async () => {
    await choose(page, 'More about post 1', 'Quote');
    const text = page.getByLabel('Your text');
    await expect.poll(() => text.inputValue()).toContain('> Hello, **everybody**.');
    await text.fill(`${await text.inputValue()}Indeed.`);
    // In the docked panel with JavaScript, otherwise on a separate page.
    await page.getByRole('button', { name: /^Post( reply)?$/ }).click();
    await post(page, 3).locator('blockquote', { hasText: 'Hello, everybody.' }).waitFor();
    await post(page, 3).getByText('Indeed.').waitFor();
  });

  test('edits a post', async () => {
    await choose(page, 'More about post 3', 'Edit');
    // In the docked panel with JavaScript, otherwise on a separate page.
    await page.locator('form[action$="/edit"]').getByLabel('Your text').fill('Never mind.');
    await page.getByRole('button', { name: 'Save' }).click();
    await post(page, 3).getByText('Never mind.').waitFor();
    await post(page, 3).getByText('edited').waitFor();
    expect(await post(page, 3).locator('blockquote').count()).toBe(0);
  });

  test('deletes a reply after confirming', async () => {
    await choose(page, 'More about post 3', 'Delete');
    expect(await heading(page, 'Delete this post?')).toBe(true);
    await page.getByRole('link', { name: 'Cancel' }).click();
    await post(page, 3).getByText('Never mind.').waitFor();
    await choose(page, 'More about post 3', 'Delete');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    expect(await shown(page, 'The post was deleted.')).toBe(true);
    await post(page, 3).getByText('Post 3 was removed.').waitFor();
    expect(await page.getByText('Never mind.').count()).toBe(0);
  });

  test('edits their profile', async () => {
    await choose(page, `Account of ${name}`, 'Settings');
    const save = (label: string): Promise<void> =>
      page
        .locator('form', { has: page.getByLabel(label) })
        .getByRole('button', { name: 'Save' })
        .click();
    await page.getByLabel('In short').fill('A beginner');
    await save('In short');
    expect(await shown(page, 'Your profile was saved.')).toBe(true);
    await page.getByLabel('About you').fill('I sail *a little*.');
    await save('About you');
    expect(await shown(page, 'Your profile was saved.')).toBe(true);
    await page.goto(`/u/${name}`);
    expect(await shown(page, 'A beginner')).toBe(true);
    await page.locator('em', { hasText: 'a little' }).waitFor();
  });

  test('creates an API token, sees it once, and revokes it', async () => {
    await page.getByRole('link', { name: 'Edit profile' }).click();
    await page.getByRole('main').getByRole('link', { name: 'Security' }).click();
    await page.getByRole('button', { name: 'Make a token' }).click();
    expect(await shown(page, 'Copy it now: it will not be shown again.')).toBe(true);
    const token = (await page.locator('.secret').textContent()) ?? '';
    const status = async (): Promise<number> =>
      (await forum.app.client().get('/api/users/discussions', { authorization: `Bearer ${token}` })).status;
    expect(await status()).toBe(200);
    await page.goto('/settings/security');
    expect(await page.locator('.secret').count()).toBe(0);
    await page.getByRole('button', { name: 'Revoke it' }).click();
    expect(await shown(page, 'The token no longer works.')).toBe(true);
    expect(await status()).toBe(401);
  });

  test('logs out, and then their pages require a login', async () => {
    await choose(page, `Account of ${name}`, 'Log out', 'button');
    expect(await shown(page, 'You are logged out.')).toBe(true);
    await page.goto('/settings/security');
    expect(await heading(page, 'Log in')).toBe(true);
  });

  test('causes no browser errors', () => expect(complaints(heard)).toEqual([]));
});

describe('a moderator', () => {
  let page: Page;
  let heard: readonly string[];
  beforeAll(async () => {
    page = await forum.open('mia');
    heard = listen(page);
    await page.goto('/');
    await page.getByRole('link', { name: MINE }).click();
  });
  afterAll(() => page.context().close());
  const tool = (entry: string, role: 'link' | 'button' = 'button'): Promise<void> =>
    choose(page, 'Discussion menu', entry, role);

  test('pins a discussion, and it is first in its category', async () => {
    await tool('Pin');
    await page.getByLabel('Pinned', { exact: true }).selectOption('In its category');
    await page.locator('#discussion-pin').getByRole('button', { name: 'Pin' }).click();
    await page.locator('.page-head .badge', { hasText: 'Pinned' }).waitFor();
    await page.locator('.page-head .chip').click();
    expect(await page.getByRole('article').first().getByRole('heading').textContent()).toContain(MINE);
    await page.getByRole('link', { name: MINE }).click();
  });

  test('locks it with a reason, and members can no longer reply', async () => {
    await tool('Lock');
    const form = page.locator('#discussion-lock');
    await form.getByLabel('Reason (optional)').fill('The masts are sold.');
    await form.getByRole('button', { name: 'Lock' }).click();
    expect(await shown(page, 'This discussion is locked; as a moderator you can still reply.')).toBe(true);
    const member = await forum.open('bob');
    await member.goto(page.url());
    expect(await shown(member, 'This discussion is locked')).toBe(true);
    expect(await shown(member, 'The masts are sold.')).toBe(true);
    expect(await member.getByLabel('Your text').count()).toBe(0);
    await member.context().close();
    await tool('Unlock');
    expect(await heading(page, MINE)).toBe(true);
    await expect.poll(() => page.getByText('This discussion is locked').count()).toBe(0);
  });

  test('moves it to another category', async () => {
    await tool('Rename or move', 'link');
    await page.getByLabel('Category').selectOption('Boats and engines');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.page-head').getByRole('link', { name: 'Boats and engines' }).click();
    expect(await heading(page, 'Boats and engines')).toBe(true);
    await page.getByRole('main').getByRole('link', { name: MINE }).click();
  });

  test('deletes and restores it', async () => {
    await tool('Delete', 'link');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    expect(await shown(page, 'This discussion is deleted. Only moderators can see it.')).toBe(true);
    const guest = await forum.open('guest');
    expect((await guest.goto(page.url()))?.status()).toBe(404);
    expect(await heading(guest, 'Page not found')).toBe(true);
    await tool('Restore');
    await expect.poll(() => page.getByText('This discussion is deleted').count()).toBe(0);
    await guest.reload();
    expect(await heading(guest, MINE)).toBe(true);
    await guest.context().close();
  });

  test('removes a post and restores it', async () => {
    await page.goto('/');
    await page.getByRole('main').getByRole('link', { name: ANOTHER }).click();
    await choose(page, 'More about post 1', 'Edit');
    await page.locator('.docked').getByText('Edit post 1').waitFor();
    await page.getByRole('link', { name: 'Cancel' }).click();
    await page.getByLabel('Your text').fill('Mine.');
    await page.getByRole('button', { name: 'Post', exact: true }).click();
    const own = page.locator('.post', { hasText: 'Mine.' });
    await own.waitFor();
    await own.getByRole('link', { name: /^More about/ }).click();
    await page.getByRole('link', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.locator('.post.removed').getByRole('button', { name: 'Restore' }).click();
    expect(await shown(page, 'The post was restored.')).toBe(true);
    expect(await seen(own)).toBe(true);
  });

  test('causes no browser errors', () => expect(complaints(heard)).toEqual([]));
});

describe('an administrator', () => {
  let page: Page;
  let heard: readonly string[];
  beforeAll(async () => void (heard = listen((page = await forum.open('root')))));
  afterAll(() => page.context().close());

  test('creates a category, which guests can see', async () => {
    await page.goto('/');
    await choose(page, 'Account of root', 'Admin panel');
    await page.getByRole('navigation', { name: 'Admin panel' }).getByRole('link', { name: 'Categories' }).click();
    await page.getByLabel('Name').fill('Rigging of the north');
    await page.getByLabel('Description').fill('Wires and ropes.');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await shown(page, 'Saved “Rigging of the north”.')).toBe(true);
    const guest = await forum.open('guest');
    await guest.goto('/categories');
    await guest.getByRole('main').getByRole('link', { name: 'Rigging of the north' }).click();
    expect(await shown(guest, 'No discussions in this category yet')).toBe(true);
    await guest.context().close();
  });

  test('changes a setting, which takes effect on every page', async () => {
    await page.goto('/admin/settings');
    await page.getByRole('main').getByRole('link', { name: 'Site', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('The yard by the river');
    await page.getByRole('button', { name: 'Save' }).click();
    expect(await shown(page, 'Saved.')).toBe(true);
    const guest = await forum.open('guest');
    await guest.goto('/');
    expect(await guest.title()).toContain('The yard by the river');
    await guest.getByRole('banner').getByText('The yard by the river').waitFor();
    await guest.context().close();
  });

  test('disables and enables a plugin, whose pages disappear and return', async () => {
    const card = page.locator('#plugin-discussions');
    await page.goto('/admin/plugins');
    await card.getByRole('button', { name: 'Switch off' }).click();
    expect(await shown(page, /is off/)).toBe(true);
    const guest = await forum.open('guest');
    expect((await guest.goto('/'))?.status()).toBe(404);
    expect(await heading(guest, 'Page not found')).toBe(true);
    await card.getByRole('button', { name: 'Switch on' }).click();
    expect(await shown(page, /is on/)).toBe(true);
    await guest.reload();
    await guest.getByRole('main').getByRole('link', { name: MINE }).waitFor();
    await guest.context().close();
  });

  test('disables a member, who is logged out and cannot log in', async () => {
    const member = await forum.open('guest');
    await logIn(member, NEWCOMER);
    await page.goto(`/admin/users?q=${NEWCOMER}`);
    await page.getByRole('button', { name: `Disable ${NEWCOMER}` }).click();
    await page.getByRole('button', { name: `Enable ${NEWCOMER}` }).waitFor();
    await member.goto('/new');
    expect(await heading(member, 'Log in')).toBe(true);
    await member.getByLabel('Username or e-mail').fill(NEWCOMER);
    await member.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await member.getByRole('main').getByRole('button', { name: 'Log in' }).click();
    expect(await seen(member.getByRole('alert'))).toBe(true);
    await member.context().close();
  });

  test('causes no browser errors', () => expect(complaints(heard)).toEqual([]));
});
