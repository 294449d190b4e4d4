import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';

const forum = useForum();

test('a moderator can select discussions in a list, with Shift for ranges, and act on them from a bar', async () => {
  const page = await forum.open('mia');
  await page.goto('/c/general');
  await page.getByRole('link', { name: 'Select', exact: true }).click();
  const bar = page.locator('x-choose-rows');
  const boxes = page.locator('.feed .card-choice input');
  await bar.getByRole('button', { name: 'Lock' }).waitFor();
  expect(await bar.getByRole('button', { name: 'Lock' }).isDisabled()).toBe(true);
  expect(await boxes.count()).toBe(await page.locator('.feed .card').count());
  await boxes.nth(0).check();
  await boxes.nth(2).click({ modifiers: ['Shift'] });
  expect(await bar.locator('output').textContent()).toBe('Chosen: 3');
  await bar.getByRole('link', { name: 'More actions' }).click();
  await page.waitForURL(/chosen=/);
  expect(await page.locator('.card-choice input:checked').count()).toBe(3);
  await page.goBack();
  await page.getByRole('link', { name: 'Select', exact: true }).click();
  await boxes.nth(1).check();
  await bar.getByRole('button', { name: 'Lock' }).click();
  await page.getByRole('status').filter({ hasText: '1 discussion is locked.' }).waitFor();
  await page.context().close();
});

test('selecting ends where it began, with the list as it was', async () => {
  const page = await forum.open('mia');
  await page.goto('/');
  const select = page.getByRole('link', { name: 'Select', exact: true });
  const height = () => page.locator('.feed').evaluate((feed) => feed.getBoundingClientRect().height);
  const before = await height();
  await select.click();
  await page.locator('.feed .card-choice').first().waitFor();
  expect(await height()).toBe(before);
  await page.getByRole('button', { name: 'Stop selecting' }).click();
  expect(await page.locator('.card-choice').count()).toBe(0);
  expect(await page.locator('x-choose-rows').isVisible()).toBe(false);
  expect(await page.locator('.list-select:focus').count()).toBe(1);
  await page.context().close();
});

test('a moderator can select several discussions at once, with their count shown', async () => {
  const page = await forum.open('mia');
  await page.goto('/mod/discussions');
  await defined(page, 'x-selection');
  const boxes = page.locator('.card-choice input');
  const counted = page.locator('x-selection output');
  await boxes.nth(1).check();
  await boxes.nth(4).click({ modifiers: ['Shift'] });
  expect(await counted.textContent()).toBe('Chosen: 4');
  expect([await boxes.nth(0).isChecked(), await boxes.nth(3).isChecked()]).toEqual([false, true]);
  await boxes.nth(2).click({ modifiers: ['Shift'] });
  expect(await counted.textContent()).toBe('Chosen: 2');
  const total = await boxes.count();
  await page.getByLabel('Choose all').check();
  expect(await counted.textContent()).toBe(`Chosen: ${total}`);
  await page.getByLabel('Choose all').uncheck();
  await boxes.nth(1).check();
  await page.getByRole('link', { name: 'Continue' }).click();
  await page.getByLabel('Action').selectOption('Lock');
  await page.getByRole('button', { name: 'Apply' }).click();
  await page.getByRole('status').filter({ hasText: '1 discussion is locked.' }).waitFor();
  await page.context().close();
});

test.runIf(FULL)(
  'a moderator who splits a discussion sees how many posts are chosen, also on the other pages of it',
  async () => {
    const mia = forum.app.client();
    await mia.login('mia', PASSWORD);
    const { discussion } = (
      await mia.post('/api/discussions', { title: 'To be split', content: 'x', category_id: 'general' })
    ).body;
    for (let at = 0; at < 55; at++) {
      forum.app.clock.advance(60_000);
      await mia.post('/api/posts', { discussion_id: discussion.id, content: `Reply ${at}` });
    }
    const page = await forum.open('mia');
    await page.goto(`/d/${discussion.number}/move?from=2`);
    await defined(page, 'x-selection');
    const boxes = page.locator('input[name="post_ids[]"][type="checkbox"]');
    const counted = page.locator('x-selection output');
    expect(await counted.textContent()).toBe('Chosen: 55');
    await boxes.nth(0).uncheck();
    expect(await counted.textContent()).toBe('Chosen: 54');
    await page.getByRole('button', { name: 'Page 2', exact: true }).click();
    await page.getByText('posts on other pages are selected as well').waitFor();
    await defined(page, 'x-selection');
    expect(await counted.textContent()).toBe('Chosen: 54');
    await page.context().close();
  },
);
