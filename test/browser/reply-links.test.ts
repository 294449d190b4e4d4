import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { movesSideways, openListening } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
let short = '';
/** Adds replies to the second post, in a short discussion and in one longer than a page. */
beforeAll(async () => {
  const [ada, mia] = [forum.app.client(), forum.app.client()];
  await ada.login('ada', PASSWORD);
  await mia.login('mia', PASSWORD);
  const title = 'A short story with answers';
  const { discussion } = (await ada.post('/api/discussions', { title, content: 'It begins', category_id: 'general' }))
    .body;
  short = new URL(discussion.url).pathname;
  const text = 'The first **word** of many, and a sentence that fills a line or two on a telephone. '.repeat(6);
  for (const content of ['One', text, text]) await ada.post('/api/posts', { discussion_id: discussion.id, content });
  for (const client of [mia, ada, mia])
    await client.post('/api/posts', { discussion_id: discussion.id, content: text, reply_to_id: '2' });
  const long = (await ada.get('/api/discussions/1')).body.discussion;
  await ada.post('/api/posts', { discussion_id: long.id, content: 'To the second', reply_to_id: '2' });
  await ada.post('/api/posts', { discussion_id: long.id, content: text, reply_to_id: '24' });
});

const post = (page: Page, number: number) => page.locator(`#post-${number}`);
const inView = (page: Page, number: number): Promise<boolean> =>
  page.evaluate(`(() => {
    const { top } = document.getElementById('post-${number}').getBoundingClientRect();
    return top > -5 && top < innerHeight / 2;
  })()`);
/** Marks the page, to detect whether it was reloaded. */
const mark = (page: Page) => page.evaluate('globalThis.stayed = true');
const stayed = (page: Page): Promise<boolean> => page.evaluate('globalThis.stayed === true');

describe.each([{ javaScriptEnabled: true }, ...inFull({ javaScriptEnabled: false })])('with %j', (options) => {
  test('links lead from a reply to the post it answers, and back from that post’s list of replies', async () => {
    const page = await forum.open('guest', options);
    await page.goto(short);
    await post(page, 7).getByRole('link', { name: 'in reply to #2 by ada' }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#post-2');
    await expect.poll(() => page.locator('#post-2').isVisible()).toBe(true);
    await post(page, 2).getByText('3 replies').click();
    await post(page, 2).getByRole('link', { name: '#6 ada' }).click();
    await expect.poll(() => new URL(page.url()).hash).toBe('#post-6');
    await page.context().close();
  });
});

test('with JavaScript a link to a post on the page scrolls there and moves focus', async () => {
  const page = await forum.open('guest');
  await page.goto(short);
  await mark(page);
  const link = post(page, 7).getByRole('link', { name: 'in reply to' });
  await link.focus();
  await page.locator('x-post-links:defined').waitFor({ state: 'attached' });
  await page.keyboard.press('Enter');
  await expect.poll(() => inView(page, 2)).toBe(true);
  expect(await page.evaluate('document.activeElement.id')).toBe('post-2');
  expect(await stayed(page)).toBe(true);
  await page.goBack();
  expect([await stayed(page), new URL(page.url()).hash]).toEqual([true, '']);
  await page.context().close();
});

test.runIf(FULL)('this also works in an endless stream, and links to posts elsewhere open their page', async () => {
  const page = await forum.open('guest');
  await page.goto('/d/1/27');
  await page.locator('x-stream:defined').waitFor({ state: 'attached' });
  await mark(page);
  const near = post(page, 27).getByRole('link', { name: 'in reply to #24' });
  await near.hover();
  await page.locator('x-post-links:defined').waitFor({ state: 'attached' });
  await near.click();
  await expect.poll(() => inView(page, 24)).toBe(true);
  expect(await stayed(page)).toBe(true);
  await post(page, 26).getByRole('link', { name: 'in reply to #2 ' }).click();
  await page.waitForURL('**/d/1-*#post-2');
  await post(page, 2).getByText('1 reply').click();
  expect(await post(page, 2).getByRole('link', { name: '#26 ada' }).getAttribute('href')).toBe('/d/1/26#post-26');
  await page.context().close();
});

test('an answered post shows new replies immediately, and its list of replies stays open', async () => {
  const mia = forum.app.client();
  await mia.login('mia', PASSWORD);
  const { discussion } = (
    await mia.post('/api/discussions', { title: 'Live', content: 'First', category_id: 'general' })
  ).body;
  const answer = (content: string) =>
    mia.post('/api/posts', { discussion_id: discussion.id, content, reply_to_id: content === 'Second' ? '1' : '2' });
  await answer('Second');
  const page = await forum.open('ada');
  await openListening(page, `/d/${discussion.number}`, 'x-posts', 'x-replies');
  await answer('Third');
  await post(page, 2).getByText('1 reply').click();
  // At the end of a discussion, new replies appear automatically.
  await post(page, 3).getByText('Third').waitFor();
  await page.mouse.click(5, 600);
  await answer('Fourth');
  await post(page, 2).getByText('2 replies').waitFor();
  expect(await post(page, 2).getByRole('link', { name: '#4 mia' }).isVisible()).toBe(true);
  await post(page, 4).getByRole('link', { name: 'in reply to #2 by mia' }).waitFor();
  expect(await page.getByRole('link', { name: /^New replies/ }).count()).toBe(0);
  // A deleted reply is removed from the list, and a restored one returns.
  const { posts } = (await mia.get(`/api/discussions/${discussion.id}/posts`)).body;
  const [third, fourth] = posts.slice(2).map(({ id }: { id: string }) => id);
  await mia.delete(`/api/posts/${fourth}`);
  await post(page, 2).getByText('1 reply').waitFor();
  expect(await post(page, 2).getByRole('link', { name: '#4 mia' }).count()).toBe(0);
  expect(await post(page, 2).getByRole('link', { name: '#3 mia' }).isVisible()).toBe(true);
  await mia.delete(`/api/posts/${third}`);
  await post(page, 2).locator('.post-replies').waitFor({ state: 'detached' });
  await mia.post(`/api/posts/${third}/restore`);
  await post(page, 2).getByText('1 reply').waitFor();
  await page.context().close();
});

test('while writing, new replies are announced and can be read without losing the text', async () => {
  const mia = forum.app.client();
  await mia.login('mia', PASSWORD);
  const { discussion } = (
    await mia.post('/api/discussions', { title: 'Busy', content: 'First', category_id: 'general' })
  ).body;
  const page = await forum.open('ada');
  await openListening(page, `/d/${discussion.number}`, 'x-posts', 'x-replies');
  await mark(page);
  const area = page.locator('#reply textarea');
  await area.fill('Half a sentence');
  const top = () => area.evaluate((field) => field.getBoundingClientRect().top);
  const before = await top();
  await mia.post('/api/posts', { discussion_id: discussion.id, content: 'Second' });
  await page.getByRole('link', { name: 'New replies: 1' }).waitFor();
  expect(await top()).toBe(before);
  await page.getByRole('link', { name: 'New replies: 1' }).click();
  await post(page, 2).getByText('Second').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('post-2');
  expect([await stayed(page), await area.inputValue()]).toEqual([true, 'Half a sentence']);
  expect(await page.getByRole('link', { name: /^New replies/ }).count()).toBe(0);
  await page.context().close();
});

describe.each(['light', ...inFull('dark' as const)] as const)('in %s colours', (colorScheme) => {
  test.each([320, ...inFull(1280)])('links between posts are readable at %i pixels', async (width) => {
    const page = await forum.open('ada', { colorScheme, viewport: { width, height: 900 } });
    await page.goto(short);
    await post(page, 2).getByText('3 replies').click();
    expect(await movesSideways(page)).toEqual(false);
    expect(await judge(page)).toEqual([]);
    await page.context().close();
  });
});
