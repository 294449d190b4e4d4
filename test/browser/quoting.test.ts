import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { movesSideways } from './checks.ts';
import { PASSWORD, useForum, type Visitor } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const area = (page: Page): Locator => page.getByLabel('Your text');
const offer = (page: Page): Locator => page.locator('.quote-offer:popover-open').getByRole('button');

/** Starts a discussion as ada with a reply by mia; returns its path. */
async function written(): Promise<string> {
  const [ada, mia] = [forum.app.client(), forum.app.client()];
  await ada.login('ada', PASSWORD);
  await mia.login('mia', PASSWORD);
  const { discussion } = (
    await ada.post('/api/discussions', {
      title: 'Oars',
      content: 'Made of *ash*.\n\nNot of oak.',
      category_id: 'general',
    })
  ).body as { discussion: { id: string; number: number } };
  await mia.put(`/api/users/${forum.people.mia.id}`, { display_name: 'Mia of the Yard' });
  await mia.post('/api/posts', { discussion_id: discussion.id, content: 'Is 2 \\* 3 m long?\n\n\\- or longer' });
  return `/d/${discussion.number}`;
}
async function open(path: string, visitor: Visitor = 'bob', width = 1280): Promise<Page> {
  const page = await forum.open(visitor, { viewport: { width, height: 800 } });
  await page.goto(path);
  await page.evaluate('customElements.whenDefined("x-posts").then(() => true)');
  return page;
}
const select = (page: Page, post: number, paragraph?: number): Promise<void> =>
  page.evaluate(`{
    const prose = document.querySelector('#post-${post} .prose');
    getSelection().selectAllChildren(${paragraph === undefined ? 'prose' : `prose.children[${paragraph}]`});
  }`);

test.runIf(FULL)('quoting twice before the editor is ready quotes once', async () => {
  const page = await forum.open('bob');
  const { promise, resolve: release } = Promise.withResolvers<void>();
  await page.route('**/x-composer.js', async (route) => {
    await promise;
    await route.continue();
  });
  await page.goto(await written());
  await page.evaluate('customElements.whenDefined("x-posts").then(() => true)');
  await select(page, 1, 0);
  await offer(page).click();
  await offer(page).click();
  release();
  await expect.poll(() => area(page).inputValue()).toContain('ash');
  await page.waitForTimeout(500);
  expect((await area(page).inputValue()).match(/ash/g)).toHaveLength(1);
  await page.context().close();
});

test('selections from posts are appended to the reply, one quote after another', async () => {
  const path = await written();
  const page = await open(path);
  await area(page).fill('Well.');
  // As a press on the text of a post would.
  await area(page).blur();
  await select(page, 1, 0);
  await offer(page).click();
  await expect.poll(() => area(page).inputValue()).toContain('ash');
  // The first quote opens the reply.
  await page.locator('.docked textarea:focus').waitFor();
  await area(page).blur();
  await select(page, 2);
  await offer(page)
    .filter({ hasText: /^Quote$/ })
    .click();
  await expect
    .poll(() => area(page).inputValue())
    .toBe(
      `Well.\n\n> [@ada](${path}):\n> Made of ash.\n\n> [@mia](${path}/2#post-2):\n> Is 2 \\* 3 m long?\n>\n> \\- or longer\n\n`,
    );
  await expect.poll(() => page.locator('#announcer').textContent()).toBe('The quote was added to your reply.');
  await page.getByRole('button', { name: 'Go to your reply' }).click();
  await page.keyboard.type('Yes.');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  const quoted = page.locator('#post-3 blockquote');
  await quoted.first().waitFor();
  await expect
    .poll(async () => (await quoted.allInnerTexts()).map((text) => text.replace(/\s+/g, ' ')))
    .toEqual(['@ada: Made of ash.', '@mia: Is 2 * 3 m long? - or longer']);
  await expect.poll(() => page.locator('#post-3 .prose').innerText()).toMatch(/Yes\.$/);
  // With several quotes, no single post is answered.
  expect(await page.locator('#post-3 .post-to').count()).toBe(0);
  await page.context().close();
});

test('a single quoted post is answered, unless the reply already answers another', async () => {
  const path = await written();
  const page = await open(path);
  await select(page, 2);
  await offer(page).click();
  await page.locator('.dock-head').getByText('Reply to Mia of the Yard, post 2').waitFor();
  await page.keyboard.type('Three.');
  await page.getByRole('button', { name: 'Post', exact: true }).click();
  await page.locator('#post-3').getByRole('link', { name: 'in reply to #2 by Mia of the Yard' }).waitFor();
  await page.locator('#post-3').getByRole('link', { name: 'Reply', exact: true }).click();
  await page.locator('.dock-head').getByText('Reply to bob, post 3').waitFor();
  await select(page, 2);
  await offer(page).click();
  await expect.poll(() => area(page).inputValue()).toContain('> Is 2');
  expect(await page.locator('.dock-head span').textContent()).toBe('Reply to bob, post 3');
  await page.context().close();
});

test('quoting by keyboard: with a shortcut, or with Tab from the selection', async () => {
  const page = await open(await written());
  await select(page, 1, 1);
  await offer(page).waitFor();
  await page.keyboard.press('q');
  await expect.poll(() => area(page).inputValue()).toContain('> Not of oak.');
  await page.locator('.docked textarea:focus').waitFor();
  // The last paragraph, with a selection that ends in the next element.
  await page.locator('#post-2 .prose p').last().click({ clickCount: 3 });
  await offer(page)
    .filter({ hasText: /^Quote$/ })
    .waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await expect.poll(() => area(page).inputValue()).toContain('> \\- or longer\n\n');
  // Inserting text changes the selection in the field, which is evaluated again.
  await page.waitForTimeout(400);
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Go to your reply');
  await page.keyboard.press('Enter');
  expect(await page.evaluate('document.activeElement.localName')).toBe('textarea');
  await page.context().close();
});

test.runIf(FULL)('quoting restores a draft before appending to it', async () => {
  const path = await written();
  const page = await open(path);
  await area(page).pressSequentially('A thought');
  await page.getByText(/^Saved \d/).waitFor();
  await page.goto('/');
  await page.goto(path);
  await page.evaluate('scrollTo(0, 0)');
  await select(page, 1, 0);
  await offer(page).click();
  await expect.poll(() => area(page).inputValue()).toMatch(/^A thought\n\n> \[@ada\]/);
  await page.context().close();
});

test.each([320, ...inFull(1280)])(
  'the quote button is within a viewport of %i pixels, accessible, and closed by Escape',
  async (width) => {
    const page = await open(await written(), 'bob', width);
    await select(page, 2);
    await offer(page).waitFor();
    const box = (await offer(page).boundingBox())!;
    expect(box.x >= 0 && box.x + box.width <= width && box.height >= 24).toBe(true);
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await offer(page).waitFor({ state: 'detached' });
    await page.context().close();
  },
);

test('quoting is not offered across posts, nor to users who cannot reply', async () => {
  const path = await written();
  const page = await open(path);
  await page.evaluate(
    `getSelection().setBaseAndExtent(document.querySelector('#post-1 .prose'), 0, document.querySelector('#post-2 .prose'), 1)`,
  );
  await page.waitForTimeout(500);
  expect(await offer(page).count()).toBe(0);
  await page.context().close();
  const guest = await open(path, 'guest');
  await select(guest, 1);
  await guest.waitForTimeout(500);
  expect([await offer(guest).count(), await guest.locator('x-quote').count()]).toEqual([0, 0]);
  await guest.context().close();
});
