import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { FULL } from '../kit/full.ts';
import { listen, openListening } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

/** What others change while a page is open. */
const forum = useForum();
let mia: Client;
const posts: string[] = [];

beforeAll(async () => {
  mia = forum.app.client();
  await mia.login('mia', PASSWORD);
  const { body } = await mia.get('/api/discussions/1/posts?limit=100');
  posts.push(...(body.posts as readonly { readonly id: string }[]).map(({ id }) => id));
});

const post = (page: Page, number: number) => page.locator(`#post-${number}`);
const edit = (number: number, content: string) => mia.put(`/api/posts/${posts[number - 1]}`, { content });

describe('an open discussion', () => {
  test('updates edited posts in place, without affecting open menus or the scroll position', async () => {
    const page = await forum.open('ada');
    const messages = listen(page);
    await openListening(page, '/d/1/4', 'x-posts');
    const more = post(page, 4).getByRole('link', { name: 'More about post 4' });
    await more.click();
    await page.getByRole('link', { name: 'Quote' }).and(page.locator(':visible')).waitFor();
    const place = () => page.evaluate('document.querySelector("#post-4").getBoundingClientRect().top');
    const before = await place();
    await page.evaluate(`document.querySelector('#post-4 [data-menu]').own = true`);
    // One above the visible posts, one below its menu.
    await edit(2, `The second, quite another.\n\n${'Longer than before.\n\n'.repeat(9)}`);
    await edit(4, 'The fourth, edited meanwhile.');
    await post(page, 2).getByText('The second, quite another.').waitFor();
    await post(page, 4).getByText('The fourth, edited meanwhile.').waitFor();
    await post(page, 4).getByText('edited', { exact: false }).first().waitFor();
    expect(await page.getByRole('link', { name: 'Quote' }).and(page.locator(':visible')).count()).toBe(1);
    expect(await page.evaluate('document.activeElement.own')).toBe(true);
    expect(Math.abs(((await place()) as number) - (before as number))).toBeLessThan(2);
    expect(messages).toEqual([]);
    await page.context().close();
  });

  test('removes deleted posts and shows restored ones, even among those loaded later', async () => {
    const page = await forum.open('ada');
    await openListening(page, '/d/1', 'x-posts', 'x-stream');
    await page.getByRole('link', { name: 'Later posts' }).press('Enter');
    await post(page, 23).waitFor();
    await mia.delete(`/api/posts/${posts[22]}`);
    await post(page, 23).getByText('Post 23 was removed').waitFor();
    expect(await post(page, 23).locator('.prose').count()).toBe(0);
    await mia.post(`/api/posts/${posts[22]}/restore`);
    await post(page, 23).locator('.prose').waitFor();
    expect(await judge(page)).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)('shows that a post was moved, and an open target discussion shows it at its end', async () => {
    const start = async (title: string) =>
      (await mia.post('/api/discussions', { title, content: 'Words', category_id: 'general' })).body.discussion;
    const [from, to] = [await start('What one leaves'), await start('What one comes to')];
    const reply = await mia.post('/api/posts', { discussion_id: from.id, content: 'Of another subject.' });
    const second = await mia.post('/api/posts', { discussion_id: from.id, content: 'Of that subject, too.' });
    const [left, reached] = [await forum.open('ada'), await forum.open('bob')];
    await openListening(left, `/d/${from.number}`, 'x-posts');
    await openListening(reached, `/d/${to.number}`, 'x-posts');
    await mia.post(`/api/discussions/${from.id}/move-posts`, {
      post_ids: [reply.body.post.id],
      discussion_id: to.id,
    });
    await post(left, 2).getByText('Post 2 was moved to another discussion.').waitFor();
    await post(reached, 2).getByText('Of another subject.').waitFor();
    await mia.post(`/api/discussions/${from.id}/move-posts`, {
      post_ids: [second.body.post.id],
      discussion_id: to.id,
    });
    await post(left, 2).getByText('2 posts were moved to another discussion.').waitFor();
    expect(await post(left, 3).textContent()).toBe('');
    expect(await judge(left)).toEqual([]);
    await post(left, 2).getByRole('link', { name: 'What one comes to' }).click();
    await left.waitForURL(`**/d/${to.number}-*`);
    for (const page of [left, reached]) await page.context().close();
  });

  test.runIf(FULL)('does not update text while it is selected', async () => {
    const page = await forum.open('bob');
    await openListening(page, '/d/1/6', 'x-posts');
    const words = await post(page, 6).locator('.prose').textContent();
    const quote = page.getByRole('button', { name: 'Quote' }).and(page.locator('.quote-offer > *'));
    await post(page, 6).locator('.prose p').first().click({ clickCount: 3 });
    await quote.waitFor();
    await edit(6, 'The sixth, edited.');
    await edit(7, 'The seventh, edited.');
    await post(page, 7).getByText('The seventh, edited.').waitFor();
    expect(await post(page, 6).locator('.prose').textContent()).toBe(words);
    expect(await quote.isVisible()).toBe(true);
    await page.evaluate('getSelection().removeAllRanges()');
    await post(page, 6).getByText('The sixth, edited.').waitFor();
    await page.context().close();
  });
});

describe('an open list', () => {
  const rows = (page: Page): Promise<readonly string[]> => page.locator('.feed .card-title').allTextContents();

  test('announces new and updated discussions, and shows them on request', async () => {
    const page = await forum.open('ada', { viewport: { width: 320, height: 700 } });
    const messages = listen(page);
    await openListening(page, '/', 'x-list-changes');
    const before = await rows(page);
    const start = (title: string, category: string) =>
      mia.post('/api/discussions', { title, content: 'Now', category_id: category });
    await start('Of staff alone', 'staff');
    await start('Fresh from the yard', 'general');
    const { body } = await mia.get('/api/discussions?limit=10&sort=latest');
    await mia.post('/api/posts', { discussion_id: body.discussions.at(-1).id, content: 'Up' });
    const button = page.getByRole('status').getByRole('button', { name: '2 new or updated' });
    await button.waitFor();
    expect(await rows(page)).toEqual(before);
    expect(await judge(page)).toEqual([]);
    await button.click();
    await expect.poll(async () => (await rows(page)).join()).toContain('Fresh from the yard');
    const after = await rows(page);
    expect(new Set(after).size).toBe(after.length);
    expect(after.join()).not.toContain('Of staff alone');
    expect(await button.count()).toBe(0);
    expect(await page.evaluate('document.activeElement.closest(".card-title") !== null')).toBe(true);
    // It can load more like any list.
    await page.getByRole('button', { name: 'Show more' }).scrollIntoViewIfNeeded();
    await expect.poll(async () => (await rows(page)).length).toBeGreaterThan(after.length);
    expect(messages).toEqual([]);
    await page.context().close();
  });
});
