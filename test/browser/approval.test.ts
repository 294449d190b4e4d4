import { expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { FULL } from '../kit/full.ts';
import { listen } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const NOTICE = 'Your post will appear once a moderator has approved it.';

test.runIf(FULL)('a reply held for approval is announced to its author, and its draft is removed', async () => {
  await forum.app.app.service(Settings).set({ 'approval.words': ['casino'] });
  const page = await forum.open('ada');
  const messages = listen(page);
  await page.goto('/d/1');
  await page.locator('#post-3').getByRole('link', { name: 'Reply' }).click();
  const area = page.locator('.docked textarea');
  await area.fill('A casino, of all things.');
  await page
    .locator('.docked')
    .getByText(/^Saved \d/)
    .waitFor();
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.getByText(NOTICE).waitFor();
  expect(new URL(page.url()).pathname).toBe('/settings/held-posts');
  await page.getByText('A casino, of all things.').first().waitFor();
  expect(await judge(page)).toEqual([]);
  await page.goto('/d/1');
  expect(await page.locator('#reply textarea').inputValue()).toBe('');
  await page.goto('/drafts');
  await page.getByText('No drafts').waitFor();

  await page.goto('/new');
  await page.getByRole('group', { name: 'Category' }).getByRole('radio').first().check();
  await page.getByLabel('Title').fill('The casino on the quay');
  await page.locator('textarea').fill('Who knows it?');
  await page.getByRole('button', { name: 'Start discussion' }).click();
  await page.getByText(NOTICE).waitFor();
  await page.getByRole('heading', { name: 'The casino on the quay' }).waitFor();
  expect(messages).toEqual([]);
  await page.context().close();
});
