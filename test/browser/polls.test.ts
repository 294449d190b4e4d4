import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { defined, listen, movesSideways } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

/** The example from the guide, as a package that runs with the program's own plugins. */
const forum = useForum({ also: [resolve(import.meta.dirname, '../../docs/examples/parley-plugin-polls')] });

test('a poll is created with a new discussion, and a vote is counted without leaving the page', async () => {
  const page = await forum.open('ada');
  const messages = listen(page);
  await page.goto('/new');
  await page.getByLabel('Title').fill('When is high water?');
  await page.getByLabel('Your text').fill('Who knows?');
  await page.getByRole('radio', { name: 'General' }).check();
  await page.getByLabel('Poll').fill('At noon\nAt midnight');
  await page.getByRole('button', { name: 'Start discussion' }).click();
  const poll = page.locator('x-poll');
  await poll.waitFor();
  await defined(page, 'x-poll');
  const address = page.url();
  await poll.getByLabel('At midnight').check();
  await poll.getByRole('button', { name: 'Vote' }).click();
  await poll.locator('.poll-count', { hasText: '1' }).waitFor();
  expect([await poll.locator('.poll-count').allTextContents(), page.url()]).toEqual([['0', '1'], address]);
  expect(await judge(page)).toEqual([]);
  expect(messages).toEqual([]);
  await page.context().close();

  const without = await forum.open('bob', { javaScriptEnabled: false, viewport: { width: 320, height: 800 } });
  await without.goto(address);
  await without.getByLabel('At noon').check();
  await without.getByRole('button', { name: 'Vote' }).click();
  await without.locator('.poll-count', { hasText: '1' }).first().waitFor();
  expect(await without.locator('.poll-count').allTextContents()).toEqual(['1', '1']);
  expect(await movesSideways(without)).toBe(false);
  await without.context().close();
});
