import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { defined, listen, movesSideways, openListening } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const write = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel('Your text').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
};

test('a member writes to another, who sees it at once, answers, and is answered in the open page', async () => {
  const [ada, bob] = [await forum.open('ada'), await forum.open('bob', { viewport: { width: 320, height: 700 } })];
  const heard = [listen(ada), listen(bob)];
  await openListening(bob, '/categories', 'x-count');
  const badge = bob.getByRole('banner').getByRole('link', { name: /^Conversations with new messages/ });
  expect(await badge.count()).toBe(0);

  await ada.goto('/u/bob');
  await ada.getByRole('main').getByRole('link', { name: 'Message', exact: true }).click();
  const to = ada.getByLabel('To', { exact: true });
  await expect.poll(() => to.inputValue()).toBe('@bob ');
  await defined(ada, 'x-completion');
  await to.press('End');
  await to.pressSequentially('@mi');
  await ada.getByRole('option', { name: /mia/ }).waitFor();
  await to.press('Enter');
  expect(await to.inputValue()).toBe('@bob @mia ');
  await ada.getByLabel('Subject').fill('The slip on Sunday');
  await write(ada, 'Who holds the **rope**?');
  await ada.getByRole('heading', { name: 'The slip on Sunday', level: 1 }).waitFor();
  expect(await ada.getByText('The message is sent.').isVisible()).toBe(true);

  await badge.waitFor();
  expect(await badge.textContent()).toBe('1');
  expect(await movesSideways(bob)).toBe(false);
  expect(await judge(bob)).toEqual([]);
  await badge.click();
  await bob.getByRole('link', { name: 'The slip on Sunday' }).click();
  await bob.getByText('Who holds the').waitFor();
  expect(await badge.count()).toBe(0);
  await defined(ada, 'x-conversation');
  await ada.getByLabel('Your text').focus();
  await write(bob, 'I do.');
  await ada.getByRole('article').getByText('I do.').waitFor();
  // She looks at it, so that it is read; and goes on writing where she was.
  await expect.poll(() => ada.getByRole('link', { name: /^Conversations with new messages/ }).count()).toBe(0);
  expect(await ada.evaluate('document.activeElement.id')).toBe('f-content');
  await write(ada, 'Then I steer.');
  await bob.getByRole('article').getByText('Then I steer.').waitFor();
  expect(await bob.getByRole('article').count()).toBe(3);
  expect(await judge(ada)).toEqual([]);
  expect(heard).toEqual([[], []]);
  for (const page of [ada, bob]) await page.context().close();
});
