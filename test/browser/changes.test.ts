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

describe('the head of an open discussion', () => {
  const start = async (title: string, client = mia): Promise<{ readonly id: string; readonly number: number }> =>
    (await client.post('/api/discussions', { title, content: 'Words', category_id: 'general' })).body.discussion;
  const change = (id: string, changes: object) => mia.put(`/api/discussions/${id}`, changes);
  const form = (page: Page) => page.locator('#reply form');

  test('shows a lock with its reason and takes the form away, until the discussion is open again', async () => {
    const { id, number } = await start('Open and shut');
    const page = await forum.open('ada', { viewport: { width: 320, height: 700 } });
    const messages = listen(page);
    await openListening(page, `/d/${number}`, 'x-posts');
    const badge = page.locator('.page-head .badge', { hasText: 'Locked' });
    const answer = post(page, 1).getByRole('link', { name: 'Reply' });
    expect([await form(page).count(), await answer.count()]).toEqual([1, 1]);
    await change(id, { is_locked: true, lock_reason: 'Enough was said' });
    await badge.waitFor();
    await page.locator('#reply').getByText('Enough was said').waitFor();
    expect([await form(page).count(), await page.locator('x-dock').count()]).toEqual([0, 0]);
    await answer.waitFor({ state: 'detached' });
    expect(await page.locator('#announcer').textContent()).toContain('This discussion is locked');
    expect(await judge(page)).toEqual([]);
    await change(id, { is_locked: false });
    await badge.waitFor({ state: 'detached' });
    await answer.waitFor();
    await form(page).locator('textarea').fill('Said after all.');
    await form(page).getByRole('button', { name: 'Post', exact: true }).click();
    await post(page, 2).getByText('Said after all.').waitFor();
    expect(messages).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)(
    'keeps a reply that was begun when the discussion is locked, and lets it be sent afterwards',
    async () => {
      const { id, number } = await start('Locked while writing');
      const page = await forum.open('ada');
      await openListening(page, `/d/${number}`, 'x-posts', 'x-composer');
      const [area, send] = [
        form(page).locator('textarea'),
        form(page).getByRole('button', { name: 'Post', exact: true }),
      ];
      await area.fill('Half a reply');
      await change(id, { is_locked: true });
      await page.locator('#reply').getByText('This discussion is locked').waitFor();
      expect([await area.inputValue(), await area.isEditable(), await send.isEnabled()]).toEqual([
        'Half a reply',
        false,
        false,
      ]);
      expect(await judge(page)).toEqual([]);
      await change(id, { is_locked: false });
      await expect.poll(() => area.isEditable()).toBe(true);
      expect(await page.locator('#reply .notice').count()).toBe(0);
      await send.click();
      await post(page, 2).getByText('Half a reply').waitFor();
      await page.context().close();
    },
  );

  test.runIf(FULL)('shows a new title and a pin, and a moderator still has the form when it is locked', async () => {
    const { id, number } = await start('A first name');
    const page = await forum.open('root');
    await openListening(page, `/d/${number}`, 'x-posts');
    await change(id, { title: 'A second name', is_pinned: true });
    await page.getByRole('heading', { level: 1, name: 'A second name' }).waitFor();
    await page.locator('.page-head .badge', { hasText: 'Pinned' }).waitFor();
    expect([await page.title(), new URL(page.url()).pathname]).toEqual([
      expect.stringContaining('A second name'),
      `/d/${number}-a-second-name`,
    ]);
    await change(id, { is_locked: true });
    await page.locator('#reply').getByText('as a moderator you can still reply').waitFor();
    expect(await form(page).count()).toBe(1);
    await page.getByRole('button', { name: 'Discussion menu' }).click();
    await page.getByRole('button', { name: 'Unlock' }).waitFor();
    await page.context().close();
  });

  test.runIf(FULL)('shows a deletion and a restoration, to readers and to moderators', async () => {
    const { id, number } = await start('Here and gone');
    const [reader, moderator] = [await forum.open('ada'), await forum.open('root')];
    for (const page of [reader, moderator]) await openListening(page, `/d/${number}`, 'x-posts');
    await mia.delete(`/api/discussions/${id}`);
    await reader.locator('.discussion-state').getByText('This discussion has been deleted.').waitFor();
    expect(await form(reader).count()).toBe(0);
    expect(await judge(reader)).toEqual([]);
    await moderator.locator('.page-head .badge', { hasText: 'Deleted' }).waitFor();
    await moderator.locator('.discussion-state').getByText('Only moderators can see it.').waitFor();
    await mia.post(`/api/discussions/${id}/restore`);
    for (const page of [reader, moderator]) {
      await expect.poll(() => page.locator('.discussion-state').textContent()).toBe('');
      await form(page).waitFor();
      await page.context().close();
    }
  });

  test('is left alone by changes of other discussions', async () => {
    const [here, there] = [await start('Stays so'), await start('Elsewhere')];
    const page = await forum.open('ada');
    await openListening(page, `/d/${here.number}`, 'x-posts');
    const asked: string[] = [];
    page.on('request', (request) => request.headers()['x-fragment'] && asked.push(request.url()));
    await change(there.id, { is_locked: true });
    await change(here.id, { is_pinned: true });
    await page.locator('.page-head .badge', { hasText: 'Pinned' }).waitFor();
    expect(asked).toHaveLength(1);
    await page.context().close();
  });

  test('shows that the question is solved, with the mark of the answer', async () => {
    const root = forum.app.client();
    await root.login('root', PASSWORD);
    const { id: category, name } = (await root.get('/api/categories/general')).body.category;
    await root.csrf('/admin/categories');
    const ask = (asks: boolean) =>
      root.post(
        '/admin/categories/save',
        { id: category, name, asks_for_answers: asks },
        { accept: 'application/json' },
      );
    await ask(true);
    const { id, number } = await start('Which varnish');
    const reply = (await mia.post('/api/posts', { discussion_id: id, content: 'The yellow one.' })).body.post;
    const page = await forum.open('ada');
    await openListening(page, `/d/${number}`, 'x-posts');
    await mia.put(`/api/discussions/${id}/answer`, { post_id: reply.id });
    await post(page, 2).getByText('Accepted answer').waitFor();
    await post(page, 1).locator('.answer-quote').getByText('The yellow one.').waitFor();
    await page.locator('.page-head .badge', { hasText: 'Solved' }).waitFor();
    await mia.delete(`/api/discussions/${id}/answer`);
    await post(page, 2).getByText('Accepted answer').waitFor({ state: 'detached' });
    await page.locator('.page-head .badge', { hasText: 'Solved' }).waitFor({ state: 'detached' });
    await ask(false);
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
