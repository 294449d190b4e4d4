import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { picture } from '../plugins/uploads/forum.ts';
import { defined, listen, movesSideways, openListening } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const write = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel('Your text').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
};

test('a member writes to another, who sees it immediately and replies, and the reply appears in the open page', async () => {
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
  expect(await ada.getByText('Message sent.').isVisible()).toBe(true);

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
  // Being visible, the page marks it as read, and focus stays in the text field.
  await expect.poll(() => ada.getByRole('link', { name: /^Conversations with new messages/ }).count()).toBe(0);
  expect(await ada.evaluate('document.activeElement.id')).toBe('f-content');
  await write(ada, 'Then I steer.');
  await bob.getByRole('article').getByText('Then I steer.').waitFor();
  expect(await bob.getByRole('article').count()).toBe(3);
  expect(await judge(ada)).toEqual([]);
  expect(heard).toEqual([[], []]);
  for (const page of [ada, bob]) await page.context().close();
});

test.runIf(FULL)('a message is edited in place, and updated in the other participant’s open page', async () => {
  const [ada, bob] = [await forum.open('ada'), await forum.open('bob', { viewport: { width: 320, height: 700 } })];
  const heard = [listen(ada), listen(bob)];
  const client = forum.app.client();
  await client.login('ada', PASSWORD);
  const { conversation } = (
    await client.post('/api/conversations', { to: ['bob'], subject: 'The mast', content: 'At noon, by the oak.' })
  ).body;
  const path = `/messages/${conversation.id}`;
  await openListening(bob, path, 'x-conversation');
  await ada.goto(path);
  await defined(ada, 'x-conversation');
  await ada.getByLabel('Your text').fill('An answer under way.');
  const message = (page: Page) => page.locator('#message-1');
  const area = message(ada).locator('textarea');
  const button = message(ada).getByRole('link', { name: 'Edit message 1' });
  const text = (page: Page) => message(page).locator('> .prose');
  await button.click();
  await expect.poll(() => area.inputValue()).toBe('At noon, by the oak.');
  expect(await area.getAttribute('id')).not.toBe('f-content');
  expect(await judge(ada)).toEqual([]);
  // A closed form restores its draft, a cancelled one does not.
  await area.fill('Half a thought');
  await message(ada)
    .getByText(/^Saved \d/)
    .waitFor();
  await area.press('Escape');
  expect([await area.isVisible(), await text(ada).isVisible()]).toEqual([false, true]);
  expect(await ada.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Edit message 1');
  await button.click();
  await expect.poll(() => area.inputValue()).toBe('Half a thought');
  await message(ada).getByRole('link', { name: 'Cancel' }).click();
  await expect.poll(() => area.count()).toBe(0);
  // The next form would request a draft that is being discarded.
  await expect.poll(async () => (await client.get('/api/drafts')).text).not.toContain('message-edit-');
  await button.click();
  await expect.poll(() => area.inputValue()).toBe('At noon, by the oak.');
  await area.fill('At **one**, by the oak.');
  await message(ada).getByRole('button', { name: 'Save' }).click();
  for (const page of [ada, bob]) await text(page).getByText('At one, by the oak.').waitFor();
  await expect.poll(() => area.count()).toBe(0);
  expect(await message(bob).locator('.edited').isVisible()).toBe(true);
  expect([await movesSideways(bob), await judge(bob)]).toEqual([false, []]);
  expect(await ada.locator('#reply textarea').inputValue()).toBe('An answer under way.');
  expect(new URL(ada.url()).pathname).toBe(path);
  // It is removed from the other participant's open page as well.
  await message(ada).getByRole('link', { name: 'Remove message 1' }).click();
  await ada.getByRole('button', { name: 'Remove permanently' }).click();
  for (const page of [ada, bob]) await message(page).getByText('The author removed this message.').waitFor();
  expect(heard).toEqual([[], []]);
  for (const page of [ada, bob]) await page.context().close();
});

test.runIf(FULL)(
  'when a long message is edited, the form and then the saved text stay in view on a phone',
  async () => {
    const ada = await forum.open('ada', { viewport: { width: 360, height: 700 } });
    const client = forum.app.client();
    await client.login('ada', PASSWORD);
    const content = Array.from({ length: 60 }, (_, line) => `Line ${line}`).join('\n\n');
    const { conversation } = (await client.post('/api/conversations', { to: ['bob'], subject: 'A log', content })).body;
    await ada.goto(`/messages/${conversation.id}`);
    await defined(ada, 'x-conversation');
    const begins = (selector: string) =>
      ada.evaluate<boolean>(`(() => {
      const { top } = document.querySelector('${selector}').getBoundingClientRect();
      return top >= document.querySelector('body > header').getBoundingClientRect().bottom && top < innerHeight - 100;
    })()`);
    const button = ada.getByRole('link', { name: 'Edit message 1' });
    const area = ada.locator('#message-1 textarea');
    await button.click();
    await area.waitFor();
    await expect.poll(() => begins('#message-1 textarea')).toBe(true);
    await area.press('Escape');
    await expect.poll(() => begins('#message-1 [data-edit]')).toBe(true);
    await button.click();
    await area.fill('Nothing to report.');
    await ada.locator('#message-1').getByRole('button', { name: 'Save' }).click();
    await ada.locator('#message-1 > .prose').getByText('Nothing to report.').waitFor();
    await expect.poll(() => begins('#message-1 > .prose')).toBe(true);
    await ada.context().close();
  },
);

test.runIf(FULL)(
  'a message changed while a page was offline is updated, and a draft is available on other devices',
  async () => {
    const client = forum.app.client();
    await client.login('ada', PASSWORD);
    const { conversation, message } = (
      await client.post('/api/conversations', { to: ['bob'], subject: 'The keel', content: 'Lead' })
    ).body;
    const path = `/messages/${conversation.id}`;
    await client.post(`/api${path.replace('messages', 'conversations')}/messages`, { content: 'Second' });
    const bob = await forum.open('bob');
    await openListening(bob, path, 'x-conversation');
    await bob.context().setOffline(true);
    await client.put(`/api/messages/${message.id}`, { content: 'Iron' });
    await bob.context().setOffline(false);
    await bob.evaluate(`document.dispatchEvent(new CustomEvent('parley:reset', { detail: {} }))`);
    await bob.locator('#message-1').getByText('Iron').waitFor();
    expect(await bob.locator('#message-2').getByText('Second').count()).toBe(1);

    await bob.locator('#reply textarea').fill('Begun on the train');
    const other = await forum.open('bob');
    await expect
      .poll(
        async () => {
          await other.goto('/drafts');
          return other.getByRole('link', { name: 'The keel' }).count();
        },
        { timeout: 15_000 },
      )
      .toBe(1);
    await other.getByRole('link', { name: 'The keel' }).click();
    await expect.poll(() => other.locator('#reply textarea').inputValue()).toBe('Begun on the train');
    for (const page of [bob, other]) await page.context().close();
  },
);

test('a picture chosen for a new message is inserted into its text, and opens in the viewer', async () => {
  const ada = await forum.open('ada');
  const heard = listen(ada);
  await ada.goto('/messages/new?to=bob');
  await ada.getByLabel('Subject').fill('A boat');
  const asked = ada.waitForEvent('filechooser');
  await ada.getByRole('button', { name: 'Insert a picture or file' }).click();
  await (await asked).setFiles({ name: 'boat.png', mimeType: 'image/png', buffer: await picture() });
  await expect.poll(() => ada.getByLabel('Your text').inputValue()).toMatch(/^!\[boat\]\(\/uploads\/[^)]+\)\n$/);
  expect(await ada.getByLabel('To', { exact: true }).inputValue()).toBe('@bob ');
  await ada.getByRole('button', { name: 'Send' }).click();
  await ada.getByRole('heading', { name: 'A boat', level: 1 }).waitFor();
  const bob = await forum.open('bob');
  await bob.goto(new URL(ada.url()).pathname);
  await bob.locator('.post img[alt="boat"]').waitFor();
  await expect.poll(() => bob.evaluate(`document.querySelector('.post img[alt="boat"]').naturalWidth`)).toBe(40);
  const viewer = bob.getByRole('dialog', { name: 'Pictures' });
  await defined(bob, 'x-pictures');
  await bob.locator('a.picture').press('Enter');
  await viewer.getByRole('img', { name: 'boat' }).waitFor();
  expect(heard).toEqual([]);
  for (const page of [ada, bob]) await page.context().close();
});
