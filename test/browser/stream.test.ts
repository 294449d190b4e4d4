import type { Page } from 'playwright-core';
import { beforeAll, describe, expect, test } from 'vitest';
import { Categories, Importer } from 'parley-forum/plugins/discussions';
import { Markdown } from 'parley-forum/plugins/markdown';
import { FULL, inFull } from '../kit/full.ts';
import { defined, listen, movesSideways, pass, walkFocus } from './checks.ts';
import { LONG, SHORT } from './content.ts';
import { useForum, type Forum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const COUNT = 110;
let path = '';

/** Imports a discussion with this many posts, a day apart; returns its path. */
async function bring({ app, people }: Forum, title: string): Promise<string> {
  const [categories, importer, markdown] = [Categories, Importer, Markdown].map((token) =>
    app.app.service(token as typeof Categories),
  ) as unknown as [Categories, Importer, Markdown];
  const texts = await Promise.all(
    [LONG, ...SHORT].map(async (content) => ({ content, html: await markdown.render(content) })),
  );
  const authors = Object.values(people).map(({ id }) => id);
  const posts = Array.from({ length: COUNT }, (_, at) => ({
    ...texts[at === 0 ? 0 : 1 + (at % (texts.length - 1))]!,
    authorId: authors[at % authors.length]!,
    createdAt: new Date(Date.UTC(2026, 0, 1 + at)),
  }));
  const general = categories.all().find(({ slug }) => slug === 'general')!;
  const { authorId, createdAt } = posts[0]!;
  await importer.importDiscussions([{ title, categoryId: general.id, authorId, createdAt, posts }]);
  const { body } = await app.client().get('/api/discussions?limit=100&sort=oldest');
  const found = body.discussions.find((one: { readonly title: string }) => one.title === title);
  return new URL(found.url as string).pathname;
}
beforeAll(async () => void (path = await bring(forum, 'A very long story')));

const post = (page: Page, number: number) => page.locator(`#post-${number}`);
const ready = (page: Page) => page.locator('x-stream:defined').waitFor({ state: 'attached' });
/** The numbers of the posts on the page, in order. */
const shown = (page: Page): Promise<readonly number[]> =>
  page.evaluate(`[...document.querySelectorAll('.stream > .post')].map((one) => Number(one.id.slice(5)))`);
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, at) => from + at);
/** Scrolls until that post is present; like a reader, pauses while posts are `awaited`. */
async function turnTo(page: Page, number: number, by: number, awaited?: ReadonlySet<unknown>): Promise<void> {
  await page.mouse.move(200, 400);
  for (let turns = 0; turns < 200 && (await post(page, number).count()) === 0; turns++) {
    if (!awaited?.size) await page.mouse.wheel(0, by);
    await page.waitForTimeout(30);
  }
  await pass(page, 500);
}
/** Scrolls up the same way. On a busy machine the top may be reached before posts load: then they load on request. */
async function turnUpTo(page: Page, number: number, awaited?: ReadonlySet<unknown>): Promise<void> {
  await turnTo(page, number, -400, awaited);
  if ((await post(page, number).count()) === 0) await page.getByRole('link', { name: 'Earlier posts' }).click();
  await post(page, number).waitFor({ state: 'attached' });
}
/** Sums up unexpected layout shifts, and records their sources. */
const SHIFTS = `globalThis.shifted = 0;
globalThis.shifts = [];
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, startTime, sources } of list.getEntries()) {
    if (hadRecentInput) continue;
    globalThis.shifted += value;
    const nodes = sources.map(({ node, previousRect, currentRect }) => [node?.id || node?.className || node?.nodeName, previousRect.y, currentRect.y, previousRect.x, currentRect.x].join(' '));
    globalThis.shifts.push([value, startTime, ...nodes].join(', '));
  }
}).observe({ type: 'layout-shift', buffered: true });`;

describe('with JavaScript', () => {
  test.each([{ width: 1280, height: 900, slower: 1 }, ...inFull({ width: 412, height: 800, slower: 4 })])(
    'posts load in both directions while scrolling, without layout shifts, at $width px',
    async ({ width, height, slower }) => {
      const page = await forum.open('ada', { viewport: { width, height } });
      const messages = listen(page);
      const session = await page.context().newCDPSession(page);
      await session.send('Emulation.setCPUThrottlingRate', { rate: slower });
      await page.addInitScript(SHIFTS);
      const awaited = new Set<unknown>();
      page.on('request', (request) => {
        if (request.headers()['x-fragment']) awaited.add(request);
      });
      for (const end of ['requestfinished', 'requestfailed'] as const)
        page.on(end as 'requestfinished', (request) => void awaited.delete(request));
      await page.goto(`${path.replace(/-.*/, '')}/50`);
      await ready(page);
      expect(page.url()).toContain('?page=3#post-50');
      await turnUpTo(page, 40, awaited);
      await turnTo(page, 61, 400, awaited);
      const numbers = await shown(page);
      expect(numbers).toEqual(range(numbers[0]!, numbers.at(-1)!));
      expect(numbers[0]).toBeLessThanOrEqual(21);
      expect(numbers.at(-1)).toBeGreaterThanOrEqual(80);
      expect(
        await page.evaluate('globalThis.shifted'),
        await page.evaluate('globalThis.shifts.join("; ")'),
      ).toBeLessThanOrEqual(0.02);
      expect(await page.title()).toContain('A very long story');
      expect(await movesSideways(page)).toBe(false);
      expect(messages).toEqual([]);
      await page.context().close();
    },
  );

  test('the URL follows the current post, and navigating back restores the exact position', async () => {
    const page = await forum.open('guest');
    await page.goto(path);
    await ready(page);
    expect(page.url().endsWith(path)).toBe(true);
    await turnTo(page, 41, 500);
    // On a busy machine scrolling may go further before the posts load; the URL names the post that was reached.
    const named = (): readonly number[] => (/\?page=(\d+)#post-(\d+)$/.exec(page.url()) ?? []).slice(1).map(Number);
    await expect.poll(named).not.toEqual([]);
    const [number, postNumber] = named();
    expect(postNumber).toBeGreaterThan(20);
    expect(number).toBe(Math.ceil(postNumber! / 20));
    const place = () =>
      page.evaluate('[location.hash, document.querySelector(location.hash).getBoundingClientRect().top]');
    // The URL is updated at intervals: the last scroll position counts.
    await expect
      .poll(async () => {
        const [, top] = (await place()) as [string, number];
        return Math.abs(top - (await page.evaluate<number>('history.state.stream.top')));
      })
      .toBeLessThan(1);
    const [hash, top] = (await place()) as [string, number];
    await page.goto('/categories');
    await page.goBack();
    await ready(page);
    await expect
      .poll(async () => {
        const [again, now] = (await place()) as [string, number];
        return [again, Math.abs(now - top) < 2];
      })
      .toEqual([hash, true]);
    // A post that was only read is not highlighted like one opened by its link.
    expect(await page.evaluate('getComputedStyle(document.querySelector(":target")).backgroundColor')).toBe(
      'rgba(0, 0, 0, 0)',
    );
    await page.context().close();
  });

  // On phones rows are taller than the space reserved for those not rendered yet.
  test.each([360, ...inFull(1280)])(
    'navigating back to a list of discussions restores the exact position as well, at %i pixels',
    async (width) => {
      const page = await forum.open('ada', { viewport: { width, height: 740 } });
      await page.goto('/');
      await page.locator('.feed-more').waitFor();
      const rows = page.locator('[role="feed"] > *');
      const before = await rows.count();
      await page.mouse.move(180, 400);
      await expect
        .poll(async () => {
          await page.mouse.wheel(0, 500);
          return rows.count();
        })
        .toBeGreaterThan(before);
      await page.mouse.wheel(0, 3_000);
      const place = () =>
        page.evaluate<readonly [string, number]>(`(() => {
        const row = [...document.querySelectorAll('[role="feed"] > *')].find((one) => one.getBoundingClientRect().bottom > 0);
        return [row.getAttribute('aria-labelledby'), row.getBoundingClientRect().top];
      })()`);
      // Scrolling continues for a while.
      await expect
        .poll(async () => {
          const [earlier, was] = await place();
          await pass(page, 300);
          const [row, top] = await place();
          const feed = await page.evaluate<{ row: string; top: number } | undefined>('history.state?.feed');
          return row === earlier && top === was && feed?.row === row && Math.abs(feed.top - top) < 1;
        })
        .toBe(true);
      const [row, top] = await place();
      await page.goto('/categories');
      await page.goBack();
      await expect
        .poll(async () => {
          const [again, now] = await place();
          return [again, Math.abs(now - top) < 2];
        })
        .toEqual([row, true]);
      expect(await rows.count()).toBeGreaterThan(before);
      await page.context().close();
    },
  );

  test('posts loaded later have menus and reactions, and are marked as read', async () => {
    const page = await forum.open('bob');
    const messages = listen(page);
    const marked: number[] = [];
    // Its body is never read, so it may not finish.
    page.on('response', (answer) => {
      if (!answer.url().endsWith('/api/read-marks') || !answer.ok()) return;
      const body = answer.request().postDataJSON() as { readonly read_marks: readonly [{ readonly number: number }] };
      marked.push(body.read_marks[0].number);
    });
    await page.goto(path);
    await ready(page);
    await defined(page, 'x-posts', 'x-reactions', 'x-read-marks');
    await turnTo(page, 30, 600);
    await post(page, 30).scrollIntoViewIfNeeded();
    await post(page, 30).getByRole('link', { name: 'More about post 30' }).click();
    await page.getByRole('link', { name: 'Quote' }).and(page.locator(':visible')).waitFor();
    await page.keyboard.press('Escape');
    await post(page, 30).getByRole('link', { name: 'React to post 30' }).click();
    await page.getByRole('button', { name: 'Wow' }).and(page.locator(':visible')).click();
    await post(page, 30).locator('.reaction[aria-pressed="true"]').waitFor();
    await post(page, 30).scrollIntoViewIfNeeded();
    await expect.poll(() => Math.max(...marked)).toBeGreaterThanOrEqual(25);
    expect(messages).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)('no posts load while the user writes below them, as they would push the editor away', async () => {
    const page = await forum.open('ada', { viewport: { width: 412, height: 800 } });
    await page.goto(path.replace(/-.*/, '?page=2'));
    await ready(page);
    const text = page.getByLabel('Your text');
    await text.focus();
    await text.pressSequentially('What I think of it');
    await pass(page, 500);
    expect(await shown(page)).toEqual(range(21, 40));
    expect(await text.evaluate((area) => area.getBoundingClientRect().top >= 0)).toBe(true);
    await turnTo(page, 41, -200);
    await turnTo(page, 41, 200);
    await post(page, 41).waitFor({ state: 'attached' });
    await page.context().close();
  });

  test.runIf(FULL)('the links load more by keyboard, and focus moves to the next post', async () => {
    const page = await forum.open('guest', { viewport: { width: 320, height: 700 } });
    await page.goto(`${path}?page=3`);
    await ready(page);
    expect(await movesSideways(page)).toBe(false);
    await page.getByRole('link', { name: 'Earlier posts' }).press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('post-40');
    await page.getByRole('status').getByText('20 more shown.').waitFor({ state: 'attached' });
    expect(await shown(page)).toEqual(range(21, 60));
    await page.getByRole('link', { name: 'Later posts' }).press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('post-61');
    expect(await judge(page)).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)('three pages load automatically, further ones on request', async () => {
    const page = await forum.open('guest');
    await page.goto(path);
    await ready(page);
    await turnTo(page, 81, 2_000);
    await expect.poll(() => shown(page)).toEqual(range(1, 80));
    for (let turns = 0; turns < 20; turns++) await page.mouse.wheel(0, 2_000);
    await pass(page, 800);
    expect(await shown(page)).toEqual(range(1, 80));
    expect(await page.getByRole('contentinfo').isVisible()).toBe(true);
    await page.getByRole('link', { name: 'Later posts' }).click();
    await post(page, 81).waitFor();
    await turnTo(page, COUNT, 2_000);
    await post(page, COUNT).waitFor({ state: 'attached' });
    expect(await page.getByRole('link', { name: 'Later posts' }).count()).toBe(0);
    await page.context().close();
  });

  test.runIf(FULL)('a page that cannot be fetched is opened by its link', async () => {
    const page = await forum.open('guest');
    await page.route(/page=2/, (route) =>
      route.request().isNavigationRequest() ? route.continue() : route.abort('failed'),
    );
    await page.goto(path);
    await ready(page);
    await post(page, 20).scrollIntoViewIfNeeded();
    // Nothing loads automatically any more.
    await page.locator('.stream-more.still > [rel="next"]').waitFor();
    await page.getByRole('link', { name: 'Later posts' }).click();
    await page.waitForURL(/page=2$/);
    expect(await shown(page)).toEqual(range(21, 40));
    await page.context().close();
  });
});

test('without JavaScript the links lead from page to page', async () => {
  const page = await forum.open('guest', { javaScriptEnabled: false, viewport: { width: 320, height: 700 } });
  await page.goto(path);
  expect(await page.getByRole('link', { name: 'Earlier posts' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Later posts' }).click();
  await page.waitForURL(/page=2$/);
  expect(await movesSideways(page)).toBe(false);
  await page.getByRole('link', { name: 'Earlier posts' }).click();
  await page.waitForURL(new RegExp(`${path}$`));
  await page.context().close();
});

describe('the position bar', () => {
  const slider = (page: Page) => page.getByRole('slider', { name: 'Post' });
  const open = async (page: Page, address: string): Promise<void> => {
    await page.goto(address);
    for (const element of ['x-stream', 'x-position'])
      await page.locator(`${element}:defined`).waitFor({ state: 'attached' });
  };

  test.each([...inFull(1280), 320])('shows the current post and navigates by keyboard, at %i px', async (width) => {
    const page = await forum.open('guest', { viewport: { width, height: 800 } });
    const messages = listen(page);
    await open(page, `${path.replace(/-.*/, '')}/50`);
    await expect.poll(() => slider(page).getAttribute('aria-valuetext')).toContain('Post 50 of 110 · Feb 19');
    // On a phone it leaves most of the screen to the posts.
    expect((await page.locator('x-position p').boundingBox())!.height).toBeLessThan(48);
    await slider(page).focus();
    await page.keyboard.press('End');
    await post(page, COUNT).waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('range');
    await expect.poll(() => slider(page).inputValue()).toBe(String(COUNT));
    await page.keyboard.press('Home');
    await expect.poll(() => page.url()).toMatch(new RegExp(`${path}$`));
    for (const key of ['ArrowRight', 'PageUp']) await page.keyboard.press(key);
    await expect.poll(() => page.url()).toMatch(/#post-1[23]$/);
    await page.getByRole('link', { name: 'Last', exact: true }).click();
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe(`post-${COUNT}`);
    // Adjacent posts load as usual.
    await turnUpTo(page, 81);
    expect(await shown(page)).toEqual(range(81, COUNT));
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    expect(messages).toEqual([]);
    await page.context().close();
  });

  test('can be dragged to a post, which is loaded on release', async () => {
    const page = await forum.open('guest');
    await open(page, path);
    const { x, y, width, height } = (await slider(page).boundingBox())!;
    await page.mouse.move(x + 8, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width / 2, y + height / 2, { steps: 5 });
    // The day of a post that is not on the page yet.
    const said = () => page.locator('x-position p').textContent();
    await expect.poll(said).toMatch(/^Post 5\d of 110 · Feb \d+$/);
    const [number, of] = [
      await slider(page).inputValue(),
      new Intl.DateTimeFormat('en', { month: 'short', day: 'numeric' }),
    ];
    expect(await page.locator(`#post-${number}`).count()).toBe(0);
    expect(await said()).toBe(`Post ${number} of 110 · ${of.format(new Date(2026, 0, Number(number), 12))}`);
    expect(new URL(page.url()).hash).toBe('');
    await page.mouse.up();
    await expect.poll(() => page.url()).toMatch(/\?page=3#post-5\d$/);
    await expect.poll(() => page.locator('x-position p').textContent()).toMatch(/^Post 5\d of 110 · Feb \d+$/);
    await page.context().close();
  });

  test.runIf(FULL)('continues to follow the page after being dragged back to where it was', async () => {
    const page = await forum.open('guest');
    await open(page, path);
    const { x, y, width, height } = (await slider(page).boundingBox())!;
    await page.mouse.move(x + 8, y + height / 2);
    await page.mouse.down();
    for (const to of [x + width / 2, x + 2]) await page.mouse.move(to, y + height / 2, { steps: 5 });
    await page.mouse.up();
    await page.mouse.move(600, 500);
    await page.mouse.wheel(0, 3_000);
    await expect.poll(() => slider(page).inputValue()).not.toBe('1');
    await page.context().close();
  });

  test('hides no Tab stop on a phone', async () => {
    const page = await forum.open('guest', { viewport: { width: 412, height: 800 } });
    await open(page, `${path}?page=6`);
    expect(await walkFocus(page)).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)('goes to a date without JavaScript', async () => {
    const page = await forum.open('guest', { javaScriptEnabled: false, viewport: { width: 320, height: 700 } });
    await page.goto(path);
    expect(await movesSideways(page)).toBe(false);
    await page.getByText('Posts 1 to 20 of 110').waitFor();
    await page.getByRole('button', { name: 'Date', exact: true }).click();
    await page.getByLabel('First post on or after').fill('2026-03-03');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.waitForURL(/\?page=4#post-62$/);
    await page.getByRole('link', { name: 'Last', exact: true }).click();
    await page.waitForURL(/\?page=6#post-110$/);
    await page.context().close();
  });
});

test.runIf(FULL)('with pages preferred nothing loads automatically, and links and the slider open pages', async () => {
  const page = await forum.open('ada');
  await page.goto('/settings/appearance');
  await page.getByRole('radio', { name: 'Use pages' }).check();
  await page.getByRole('main').getByRole('button', { name: 'Save' }).click();
  await page.locator('[data-paging=pages]').waitFor();
  await page.goto(path);
  await ready(page);
  await page.mouse.move(200, 400);
  for (let turn = 0; turn < 40; turn++) await page.mouse.wheel(0, 2_000);
  await pass(page, 500);
  expect(await shown(page)).toEqual(range(1, 20));
  await page.getByRole('link', { name: 'Later posts' }).click();
  await page.waitForURL(`**${path}?page=2`);
  await ready(page);
  expect(await shown(page)).toEqual(range(21, 40));
  expect(await page.locator('.pager').isVisible()).toBe(true);
  await page.locator('x-position:defined').waitFor();
  await page.getByRole('slider').fill('90');
  await page.waitForURL(`**${path}?page=5#post-90`);
  expect(await shown(page)).toEqual(range(81, 100));
  await page.goto('/');
  await page.locator('x-feed:defined').first().waitFor();
  expect([await page.locator('.pager').isVisible(), await page.locator('.feed-more').count()]).toEqual([true, 0]);
  await page.context().close();
});
