import type { Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { movesSideways, typeAtOnce } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const area = (page: Page): Locator => page.getByLabel('Your text');
const list = (page: Page): Locator => page.locator('.completions:popover-open');
const offered = (page: Page): Promise<readonly string[]> => list(page).locator('.completion-label').allTextContents();
const active = (page: Page): Promise<string | undefined> =>
  page.evaluate(
    `document.getElementById(document.querySelector('textarea').getAttribute('aria-activedescendant'))?.textContent`,
  );

/** The text field of a reply, and the requests of its page from then on. */
async function write(width = 1280): Promise<{ readonly page: Page; readonly asked: string[] }> {
  const page = await forum.open('bob', { viewport: { width, height: 800 } });
  // The text of one test must not return as a draft in the next.
  await page.route('**/api/drafts/**', (route) => route.abort());
  await page.goto('/d/1');
  await area(page).scrollIntoViewIfNeeded();
  await page.locator('.composer-bar').waitFor();
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url().slice(forum.url.length)));
  await area(page).focus();
  await page.locator('x-completion:defined').waitFor({ state: 'attached' });
  return { page, asked };
}

describe('completion', () => {
  test('suggests members: those on the page immediately, all others from two characters on', async () => {
    const { page, asked } = await write();
    await page.keyboard.type('Ask @');
    await list(page).waitFor();
    expect(await offered(page)).toContain('ada');
    expect(await offered(page)).not.toContain('zoe');
    await page.keyboard.type('z');
    await list(page).waitFor({ state: 'hidden' });
    expect(asked.filter((url) => url.startsWith('/api/users'))).toEqual([]);
    await page.keyboard.type('o');
    await list(page).waitFor();
    expect(await offered(page)).toEqual(['zoe']);
    await page.keyboard.press('Enter');
    await expect.poll(() => area(page).inputValue()).toBe('Ask @zoe ');
    await page.keyboard.press('Control+z');
    await expect.poll(() => area(page).inputValue()).toBe('Ask @zo');
    await page.context().close();
  });

  test('suggests participants of the discussion first, also those whose posts are on other pages', async () => {
    const [ada, mia] = [forum.app.client(), forum.app.client()];
    await ada.login('ada', PASSWORD);
    await mia.login('mia', PASSWORD);
    const body = { title: 'Who was here', content: 'Thanks to @zacharias', category_id: 'general' };
    const { discussion } = (await mia.post('/api/discussions', body)).body as { discussion: any };
    await ada.post('/api/posts', { discussion_id: discussion.id, content: 'Me.' });
    const page = await forum.open('bob');
    await page.route('**/api/drafts/**', (route) => route.abort());
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url().slice(forum.url.length)));
    // Neither of them has a post on this page.
    await page.goto(`/d/${discussion.number}/reply`);
    await page.locator('.composer-bar').waitFor();
    await area(page).focus();
    await page.locator('x-completion:defined').waitFor({ state: 'attached' });
    await page.keyboard.type('@');
    await list(page).waitFor();
    expect((await offered(page)).slice(0, 2).toSorted()).toEqual(['ada', 'mia']);
    await page.keyboard.type('ad');
    await expect.poll(() => offered(page)).toEqual(expect.arrayContaining(['ada']));
    expect((await offered(page))[0]).toBe('ada');
    expect(asked.filter((url) => url.includes('/participants'))).toHaveLength(1);
    await page.context().close();
  });

  test.runIf(FULL)(
    'suggests members after the mention button has inserted its character before the selection',
    async () => {
      const { page } = await write();
      const mention = page.getByRole('button', { name: 'Mention someone' });
      await page.keyboard.type('Ask');
      await mention.click();
      await list(page).waitFor();
      expect([await area(page).inputValue(), await offered(page)]).toEqual(['Ask @', expect.arrayContaining(['ada'])]);
      await area(page).fill('zo');
      await area(page).selectText();
      await mention.click();
      await expect.poll(() => offered(page)).toEqual(['zoe']);
      await page.keyboard.press('Enter');
      expect(await area(page).inputValue()).toBe('@zoe ');
      await page.context().close();
    },
  );

  test.each([
    { what: 'tags', typed: '#fir', label: /first aid/, text: /^\[#first aid\]\(\/t\/first-aid\) $/ },
    {
      what: 'discussions by title',
      typed: '[[water in the bil',
      label: /Water in the bilge/,
      text: /^\[.+\]\(\/d\/\d+-\S+\) $/,
    },
    { what: 'emoji', typed: ':tad', label: /^tada$/, text: /^🎉 $/ },
  ])('suggests $what', async ({ typed, label, text }) => {
    const { page } = await write();
    await page.keyboard.type(typed);
    await list(page).waitFor();
    expect((await offered(page))[0]).toMatch(label);
    await page.keyboard.press('Enter');
    await expect.poll(() => area(page).inputValue()).toMatch(text);
    await page.context().close();
  });

  test.runIf(FULL)('works even if the field had focus before its toolbar was loaded', async () => {
    const page = await forum.open('bob', { viewport: { width: 320, height: 800 } });
    await page.route('**/api/drafts/**', (route) => route.abort());
    const focused = Promise.withResolvers<void>();
    await page.route(/x-composer[^/]*\.js/, async (route) => {
      await focused.promise;
      await route.continue();
    });
    await page.goto('/d/1/reply');
    await area(page).focus();
    focused.resolve();
    await page.locator('x-composer:defined').waitFor();
    await page.keyboard.type('@ad');
    await list(page).waitFor();
    expect(await offered(page)).toContain('ada');
    await page.context().close();
  });

  test('is operated by the usual keys, and dismissed by Escape until another trigger is typed', async () => {
    const { page } = await write();
    await page.keyboard.type('@');
    await list(page).waitFor();
    const [first, second] = await offered(page);
    expect(await active(page)).toBe(first);
    await page.keyboard.press('ArrowDown');
    expect(await active(page)).toBe(second);
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    expect(await active(page)).toBe((await offered(page)).at(-1));
    expect(await judge(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.keyboard.type('a');
    await page.waitForTimeout(300);
    expect(await list(page).count()).toBe(0);
    expect(await area(page).getAttribute('aria-activedescendant')).toBeNull();
    await expect.poll(() => area(page).inputValue()).toBe('@a');
    await page.keyboard.press('Enter');
    await page.keyboard.type('@a');
    await list(page).waitFor();
    await page.keyboard.press('Tab');
    await expect.poll(() => area(page).inputValue()).toMatch(/^@a\n@a\w+ $/);
    expect(await page.evaluate('document.activeElement.localName')).toBe('textarea');
    await page.context().close();
  });

  test.runIf(FULL)('is inactive in addresses, times and code, and during input method composition', async () => {
    const { page, asked } = await write();
    for (const text of ['mail ada@bo', '12:30', '```\n@ad', 'see a#b']) {
      await area(page).fill('');
      await page.keyboard.type(text);
      await page.waitForTimeout(250);
      expect(await list(page).count(), text).toBe(0);
    }
    await area(page).fill('');
    const input = await page.context().newCDPSession(page);
    await input.send('Input.imeSetComposition', { text: '@ad', selectionStart: 3, selectionEnd: 3 });
    await page.waitForTimeout(250);
    expect([await area(page).inputValue(), await list(page).count()]).toEqual(['@ad', 0]);
    expect(asked.filter((url) => url.startsWith('/api/users'))).toEqual([]);
    await input.send('Input.insertText', { text: '@ad' });
    await list(page).waitFor();
    await page.context().close();
  });

  test('sends one request while the user types, and never suggests what no longer matches', async () => {
    const { page, asked } = await write();
    await typeAtOnce(page, '@zo');
    await list(page).waitFor();
    expect(asked.filter((url) => url.startsWith('/api/users'))).toEqual(['/api/users/search?limit=8&q=zo']);
    await page.keyboard.type('x');
    expect(await list(page).count()).toBe(0);
    await page.context().close();
  });

  test.each([320, ...inFull(1280)])(
    'opens at the caret, within a viewport of %i pixels, even right to left',
    async (width) => {
      const { page } = await write(width);
      for (const [text, rtl] of [
        [`${'word '.repeat(20)}@`, false],
        ['ספינות @', true],
      ] as const) {
        await area(page).fill('');
        await page.keyboard.type(text);
        await list(page).waitFor();
        const [box, field] = [await list(page).boundingBox(), await area(page).boundingBox()];
        expect(box!.x >= 8 && box!.x + box!.width <= width - 8, `${text}: ${JSON.stringify(box)}`).toBe(true);
        // On a wide screen it opens where the text starts: on the right.
        expect(!rtl || width < 400 || box!.x > field!.x + field!.width / 2).toBe(true);
        expect(await movesSideways(page)).toBe(false);
        await page.keyboard.press('Escape');
      }
      await page.context().close();
    },
  );

  test.runIf(FULL)('accepts a mouse click, and focus stays in the field', async () => {
    const { page } = await write();
    await page.keyboard.type('@ad');
    // A later response may move another row under the pointer.
    await expect
      .poll(async () => {
        if ((await area(page).inputValue()) === '@ad')
          await list(page).getByRole('option', { name: 'ada' }).click({ timeout: 1_000 });
        return area(page).inputValue();
      })
      .toBe('@ada ');
    await page.keyboard.type('!');
    await expect.poll(() => area(page).inputValue()).toBe('@ada !');
    await page.context().close();
  });
});
