import type { BrowserContextOptions, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { listen, walkFocus } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

/** A deleted reply is restored by the button in the notice. */
const forum = useForum();
const inView = `(() => {
  const { top, bottom } = document.querySelector('.flash').getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
})()`;

/** A page of ada's after deleting her own reply in a long discussion. */
async function deleted(words: string, options: BrowserContextOptions): Promise<Page> {
  const client = forum.app.client();
  await client.login('ada', PASSWORD);
  const { id } = (await client.get('/api/discussions/5')).body.discussion;
  const { post } = (await client.post('/api/posts', { discussion_id: id, content: words })).body;
  const page = await forum.open('ada', options);
  await page.goto(`/p/${post.id}/delete`);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('The post was deleted.').waitFor();
  return page;
}

describe('a deleted reply', () => {
  test.each([
    ['with script', { viewport: { width: 1280, height: 900 } }],
    ['without script, on a phone', { javaScriptEnabled: false, viewport: { width: 320, height: 640 } }],
  ])('can be restored by a button that is in view where the page opens, %s', async (how, options) => {
    const words = `Too fast, ${how}.`;
    const page = await deleted(words, options);
    expect([await page.evaluate('scrollY > 0'), await page.evaluate(inView)]).toEqual([true, true]);
    await page.getByRole('button', { name: 'Undo' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The post was restored.').waitFor();
    expect(await page.locator('.post', { hasText: words }).isVisible()).toBe(true);
    expect(await page.getByRole('button', { name: 'Undo' }).count()).toBe(0);
    await page.context().close();
  });

  test.runIf(FULL)('shows a notice that covers no focused element, and disappears after ten seconds', async () => {
    const page = await deleted('Too fast.', { viewport: { width: 320, height: 640 } });
    const messages = listen(page);
    expect(await judge(page)).toEqual([]);
    expect(await walkFocus(page)).toEqual([]);
    await page.mouse.wheel(0, 400);
    await expect.poll(() => page.evaluate(inView), { timeout: 15_000 }).toBe(false);
    expect(messages).toEqual([]);
    await page.context().close();
  });
});
