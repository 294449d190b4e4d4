import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { Categories, Discussions, type DiscussionRecord } from 'parley-forum/plugins/discussions';
import { Access } from 'parley-forum/plugins/access';
import { FULL } from '../kit/full.ts';
import { defined, listen, movesSideways, pass } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
let discussion: DiscussionRecord;

const write = (content: string) => {
  const { app } = forum.app;
  const { id, username } = forum.people.ada;
  const ada = { id, username, group: app.service(Access).groupOf('member') };
  return app.service(Discussions).reply(ada, { discussionId: discussion.id, content });
};
const row = (page: Page) => page.locator('.card', { hasText: discussion.title });
const post = (page: Page, number: number) => page.locator(`#post-${number}`);
/** Waits until the page tracks what is read. */
const watching = (page: Page) => defined(page, 'x-read-marks');

beforeAll(async () => {
  const { app } = forum.app;
  const guest = app.service(Access).guest;
  discussion = (await app.service(Discussions).list({ sort: 'latest', limit: 1 }, guest)).items[0]!;
});

describe('a member', () => {
  test('continues at the first unread post, with JavaScript and the n key', async () => {
    const page = await forum.open('bob');
    const messages = listen(page);
    // Earlier posts may be sent in separate requests.
    const sent = page.waitForResponse(
      (answer) =>
        answer.url().endsWith('/api/read-marks') &&
        answer.request().postDataJSON().read_marks[0].number === discussion.last_post_number,
    );
    await page.goto(`/d/${discussion.number}`);
    await watching(page);
    await post(page, discussion.last_post_number).scrollIntoViewIfNeeded();
    expect((await sent).status()).toBe(200);
    await page.goto('/');
    for (let time = 0; time < 12; time++) await write(`Tall reply ${time}\n\n${'One more line.\n\n'.repeat(20)}`);
    await page.reload();
    expect(await row(page).locator('.unread-count').textContent()).toBe('12 new');
    await row(page).locator('.card-title a').click();
    const first = discussion.last_post_number + 1;
    await page.waitForURL(new RegExp(`#post-${first}$`));
    expect(page.url()).toContain(`#post-${first}`);
    expect(await judge(page)).toEqual([]);
    await watching(page);
    await page.keyboard.press('n');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe(`post-${first + 1}`);
    for (let time = 0; time < 11; time++) await page.keyboard.press('n');
    await page.waitForURL('**/unread');
    await page.getByRole('status').getByText('All caught up').waitFor();
    expect(await judge(page)).toEqual([]);
    await page.goto(`/d/${discussion.number}/${first + 3}`);
    await defined(page, 'x-posts', 'x-read-marks');
    await post(page, first + 3)
      .getByRole('link', { name: 'More about post' })
      .click();
    await page.getByRole('button', { name: 'Unread from here' }).and(page.locator(':visible')).click();
    await page.getByText('and all later posts are marked as unread').waitFor();
    expect(await row(page).locator('.unread-count').textContent()).toBe('9 new');
    expect(messages).toEqual([]);
    await page.context().close();
  });

  test('continues reading without JavaScript', async () => {
    const page = await forum.open('bob', { javaScriptEnabled: false, viewport: { width: 320, height: 800 } });
    await page.goto('/unread');
    expect(await movesSideways(page)).toBe(false);
    await row(page).locator('.card-title a').click();
    await page.locator('.new-since').waitFor();
    expect(await movesSideways(page)).toBe(false);
    await page.getByRole('main').getByRole('button', { name: 'Next unread' }).click();
    await page.getByText('All caught up').first().waitFor();
    await page.context().close();
  });

  test.runIf(FULL)('has no single-key shortcuts after disabling them', async () => {
    const page = await forum.open('bob');
    await page.goto('/settings/appearance');
    await page.getByRole('group', { name: 'Keys that do something' }).getByLabel('Off').check();
    await page.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => page.evaluate(`JSON.parse(document.getElementById('forum').textContent).keys`)).toBe(false);
    await page.goto('/categories');
    await defined(page, 'x-next-unread');
    await page.keyboard.press('n');
    await pass(page, 300);
    expect(new URL(page.url()).pathname).toBe('/categories');
    await page.context().close();
  });
});

test('the read marks of a guest are stored in the browser, and rows show what is new', async () => {
  const page = await forum.open('guest');
  const messages = listen(page);
  await page.goto(`/d/${discussion.number}`);
  await watching(page);
  await post(page, discussion.last_post_number).scrollIntoViewIfNeeded();
  await expect.poll(() => page.evaluate('localStorage.getItem("read-marks")')).toContain(`"d${discussion.number}"`);
  await write('Somebody was faster.');
  await page.goto('/');
  await row(page).locator('.unread-count').waitFor();
  expect(await judge(page)).toEqual([]);
  await row(page).locator('.card-title a').click();
  await page.locator('.new-since').waitFor();
  // It persists when the post is rendered again, in part or entirely.
  await page.evaluate(`document.querySelector('.new-since').remove()`);
  await expect.poll(() => page.locator('.new-since').count()).toBe(1);
  await page.evaluate(`{
    const post = document.querySelector('.new-since').parentElement;
    const now = post.cloneNode(true);
    now.querySelector('.new-since').remove();
    post.replaceWith(now);
  }`);
  await expect.poll(() => page.locator('.new-since').count()).toBe(1);
  expect(messages).toEqual([]);
  await page.context().close();
});

test('on a phone the buttons of a category are in one row, above its list', async () => {
  const page = await forum.open('bob', { viewport: { width: 320, height: 700 } });
  await page.goto('/c/general');
  const [follow, read] = [
    page.getByRole('button', { name: 'Follow' }),
    page.getByRole('button', { name: 'Mark all as read' }),
  ];
  expect((await follow.boundingBox())!.y).toBe((await read.boundingBox())!.y);
  expect(await movesSideways(page)).toBe(false);
  await page.context().close();
});

test('a member marks a discussion as read on its row, which goes while the page stays', async () => {
  const page = await forum.open('mia');
  const messages = listen(page);
  const [{ id, username }, access] = [forum.people.ada, forum.app.app.service(Access)];
  const general = forum.app.app.service(Categories).find('general', access.guest)!;
  for (const title of ['Row one', 'Row two', 'Row three'])
    await forum.app.app
      .service(Discussions)
      .start({ id, username, group: access.groupOf('member') }, { title, content: 'x', categoryId: general.id });
  await page.goto('/unread');
  const rows = page.locator('.feed .card');
  const count = await rows.count();
  const first = (await rows.first().locator('.card-title a').textContent())!;
  const button = rows.first().locator('.card-read button');
  await button.focus();
  await defined(page, 'x-read-row');
  await page.keyboard.press('Enter');
  await expect.poll(() => rows.count()).toBe(count - 1);
  expect(await rows.first().locator('.card-title a').textContent()).not.toBe(first);
  expect(await page.evaluate('document.activeElement.closest(".card-read") !== null')).toBe(true);
  expect(await movesSideways(page)).toBe(false);
  expect(await judge(page)).toEqual([]);
  await page.reload();
  expect(await page.locator('.card-title a', { hasText: first }).count()).toBe(0);
  expect(messages).toEqual([]);
  await page.context().close();
});
