import sharp from 'sharp';
import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined, lostMarks, movesSideways, painted } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const WIDE =
  '| Electroencephalographically | Uncharacteristically | Counterrevolutionaries |\n|---|---|---|\n| a | b | c |';

/** Starts a discussion as ada with a wide table and a picture; returns its path. */
async function write(): Promise<string> {
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const form = new FormData();
  const bytes = await sharp({ create: { width: 900, height: 500, channels: 3, background: '#2a7' } })
    .png()
    .toBuffer();
  form.append('file', new Blob([new Uint8Array(bytes)]), 'boat.png');
  const { url } = (await ada.request('POST', '/api/uploads', { body: form })).body.upload as { url: string };
  const { body } = await ada.post('/api/discussions', {
    title: 'Wide things',
    content: `${WIDE}\n\n![A boat](${new URL(url).pathname})\n\nBelow.`,
    category_id: 'general',
    tags: ['a', 'paint'],
  });
  return new URL(body.discussion.url as string).pathname;
}

test('a wide table scrolls by keyboard without breaking words, an image reserves its space, and no tag is too small', async () => {
  const path = await write();
  const page = await forum.open('guest', { viewport: { width: 360, height: 700 } });
  // The picture never loads, but its space is reserved.
  await page.route('**/uploads/**', () => undefined);
  // The styles still have to load; the load event does not wait for lazy images.
  await page.goto(path);
  expect(await movesSideways(page)).toBe(false);
  const seen = await page.evaluate(`(() => {
    const [table, picture] = [document.querySelector('.prose .table-scroll'), document.querySelector('.prose img')];
    const range = document.createRange();
    range.selectNodeContents(table.querySelector('th'));
    const { width, height } = picture.getBoundingClientRect();
    return {
      scrolls: table.scrollWidth > table.clientWidth, lines: range.getClientRects().length, lazy: picture.loading, ratio: Math.round(10 * width / height),
      small: [...document.querySelectorAll('.tag, .chip')].map((one) => one.getBoundingClientRect()).filter((box) => box.width > 0 && Math.min(box.width, box.height) < 24).length,
    };
  })()`);
  expect(seen).toEqual({ scrolls: true, lines: 1, lazy: 'lazy', ratio: 18, small: 0 });
  await page.locator('.prose .table-scroll').first().focus();
  await page.keyboard.press('ArrowRight');
  await expect
    .poll(() => page.evaluate(`document.querySelector('.prose .table-scroll').scrollLeft`))
    .toBeGreaterThan(0);
  expect(await judge(page)).toEqual([]);
  await page.context().close();
});

test.runIf(FULL)('buttons and navigation are not printed', async () => {
  const page = await forum.open('ada');
  await page.goto('/d/1');
  await page.locator('.composer-bar').waitFor({ state: 'attached' });
  await page.emulateMedia({ media: 'print' });
  const printed = await page.evaluate(
    `[...document.querySelectorAll('button, .button, nav, textarea, .composer, [popover]')].filter((one) => one.checkVisibility()).map((one) => one.outerHTML.slice(0, 90))`,
  );
  expect(printed).toEqual([]);
  expect(await page.locator('.post .prose').first().isVisible()).toBe(true);
  await page.context().close();
  const panel = await forum.open('root');
  await panel.goto('/admin');
  await panel.emulateMedia({ media: 'print' });
  expect([await panel.locator('.admin-nav').isVisible(), await panel.locator('.admin-body').isVisible()]).toEqual([
    false,
    true,
  ]);
  await panel.context().close();
});

test.runIf(FULL)(
  'in print, tables and code are complete, and text is dark even if the screen uses the dark scheme',
  async () => {
    const page = await forum.open('ada', { viewport: { width: 700, height: 900 } });
    const cell = 'antidisestablishmentarianism';
    const content = `| ${'wide | '.repeat(6)}\n|${'---|'.repeat(6)}\n| ${`${cell} | `.repeat(6)}\n\n\`\`\`\n${'caulk '.repeat(60)}\n\`\`\``;
    await page.goto('/d/1/reply');
    await page.getByLabel('Your text').fill(content);
    await page.getByRole('button', { name: 'Post reply' }).click();
    await page.locator('.prose table th').first().waitFor();
    await painted(page);
    await page.emulateMedia({ media: 'print' });
    const seen = (): Promise<unknown> =>
      page.evaluate(`(() => {
    const paper = document.documentElement.clientWidth;
    const wide = [...document.querySelectorAll('.prose pre, .prose table')];
    const cut = wide.filter((one) => one.scrollWidth > one.clientWidth || one.getBoundingClientRect().right > paper);
    return { cut: cut.map((one) => one.outerHTML.slice(0, 60)), scheme: getComputedStyle(document.documentElement).colorScheme };
  })()`);
    expect(await seen()).toEqual({ cut: [], scheme: 'light' });
    await page.evaluate(`document.documentElement.dataset.scheme = 'dark'`);
    expect(await seen()).toEqual({ cut: [], scheme: 'light' });
    await page.context().close();
  },
);

test('with forced colours the current tab is marked and not cut off', async () => {
  const page = await forum.open('ada', { forcedColors: 'active', viewport: { width: 320, height: 700 } });
  await page.goto('/');
  expect(await lostMarks(page)).toEqual([]);
  const cut = await page.evaluate(`(() => {
    const tab = document.querySelector('.tabs [aria-current]');
    const { outlineStyle, borderBlockEndStyle } = getComputedStyle(tab);
    return { outlineStyle, borderBlockEndStyle, over: tab.scrollWidth > tab.clientWidth + 1 };
  })()`);
  expect(cut).toEqual({ outlineStyle: 'none', borderBlockEndStyle: 'solid', over: false });
  await page.context().close();
});

// Simulates screens of 320 and 360 pixels with text about twice as large.
test('on a small screen with large text pages fit the width, and the position bar leaves room for them', async () => {
  const page = await forum.open('ada', { viewport: { width: 160, height: 460 } });
  for (const width of [160, 200]) {
    await page.setViewportSize({ width, height: 460 });
    for (const path of ['/', '/d/1', '/new', '/categories', '/settings/security', '/settings/notifications']) {
      await page.goto(path);
      expect(await movesSideways(page), `${path} at ${width}`).toBe(false);
    }
  }
  await page.goto('/d/1');
  await defined(page, 'x-position');
  expect((await page.locator('x-position').boundingBox())!.height).toBeLessThan(130);
  await page.context().close();
});

test('if an on-screen keyboard leaves little room, the position bar does not cover it', async () => {
  const page = await forum.open('ada', { viewport: { width: 360, height: 340 } });
  await page.goto('/d/1');
  await defined(page, 'x-position');
  await page.locator('#reply textarea').focus();
  const covered = await page.evaluate(`document.elementFromPoint(180, innerHeight - 4)?.closest('x-position')`);
  expect(covered).toBe(null);
  await page.context().close();
});

test('on a phone filters and sort order are in one row, and the focused link is in view', async () => {
  for (const [visitor, path, dir] of [
    ['ada', '/?sort=oldest', 'ltr'],
    ['guest', '/?sort=newest', 'rtl'],
    ['guest', '/c/help', 'ltr'],
  ] as const) {
    const page = await forum.open(visitor, { viewport: { width: 320, height: 700 } });
    await page.goto(path);
    await page.evaluate(`document.documentElement.dir = '${dir}'`);
    expect(await page.evaluate(`document.querySelector('.list-bar').offsetHeight`), path).toBeLessThan(60);
    expect(await movesSideways(page), path).toBe(false);
    const hidden = await page.evaluate(`[...document.querySelectorAll('.list-bar .tabs a')].filter((link) => {
      link.focus();
      const { left, right } = link.getBoundingClientRect();
      return right < 24 || left > innerWidth - 24;
    }).map((link) => link.textContent)`);
    expect(hidden, path).toEqual([]);
    const order = page.getByRole('navigation', { name: 'Sort by' });
    await order.getByRole('button').press('Enter');
    for (const link of await order.getByRole('link').all()) {
      const { x, width } = (await link.boundingBox())!;
      expect(x, path).toBeGreaterThanOrEqual(0);
      expect(x + width, path).toBeLessThanOrEqual(320);
    }
    await page.context().close();
  }
});

test('the sort order is chosen from a menu that shows the current one, even without JavaScript', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const page = await forum.open('guest', { javaScriptEnabled });
    await page.goto('/c/help');
    const order = page.getByRole('navigation', { name: 'Sort by' });
    const button = order.getByRole('button', { name: 'Sort by: Latest' });
    await button.press('Enter');
    expect(await order.getByRole('link', { name: 'Latest' }).getAttribute('aria-current')).toBe('page');
    await order.getByRole('link', { name: 'Most replied' }).click();
    await page.waitForURL('**/c/help?sort=most_replied');
    expect(await order.getByRole('button', { name: 'Sort by: Most replied' }).isVisible()).toBe(true);
    await page.context().close();
  }
});

test('on a phone the name of the forum is not truncated', async () => {
  for (const [visitor, locale] of [
    ['ada', 'en'],
    ['guest', 'en'],
    ['guest', 'de'],
  ] as const) {
    const page = await forum.open(visitor, { viewport: { width: 320, height: 700 }, locale });
    await page.goto('/');
    const seen = await page.evaluate(`(() => {
      const name = document.querySelector('.brand-name');
      const cut = name.scrollWidth > name.clientWidth || name.scrollHeight > name.clientHeight;
      return { lang: document.documentElement.lang, cut, hidden: getComputedStyle(name).clipPath !== 'none' };
    })()`);
    expect(seen, visitor).toEqual({ lang: locale, cut: false, hidden: false });
    await page.context().close();
  }
});

test.runIf(FULL)('the icons of the toolbar and of the default reactions are drawn', async () => {
  const page = await forum.open('ada');
  await page.goto('/d/1');
  await page.getByLabel('Your text').scrollIntoViewIfNeeded();
  await page.locator('.composer-bar').waitFor();
  expect(
    await page.evaluate(
      `[...document.querySelectorAll('.composer-bar button')].map((one) => one.textContent.trim() + one.querySelectorAll('svg path').length > 0)`,
    ),
  ).toEqual(Array.from({ length: 12 }, () => true));
  await page.locator('#post-1 .reaction').first().waitFor();
  const pictures = await page.evaluate(`(async () => {
    const all = [...document.querySelectorAll('#post-1 .reaction-picture, .reaction-menu img')];
    await Promise.all(all.map((one) => one.decode()));
    return { letters: /\\p{Extended_Pictographic}/u.test(document.querySelector('#post-1 .reactions').textContent), drawn: all.length > 5 && all.every((one) => one.naturalWidth > 0) };
  })()`);
  expect(pictures).toEqual({ letters: false, drawn: true });
  await page.context().close();
});

test('the content of pages starts at the same position, with or without a sidebar', async () => {
  const page = await forum.open('ada');
  const starts = new Set<number>();
  for (const path of ['/', '/categories', '/d/1', '/settings/appearance']) {
    await page.goto(path);
    starts.add((await page.locator('main').boundingBox())!.x);
  }
  expect([...starts]).toHaveLength(1);
  await page.context().close();
});

test('a title of a single long word fits a phone on every page that shows it', async () => {
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const title = 'Keelboltreplacement'.repeat(8);
  const { body } = await ada.post('/api/discussions', { title, content: title, category_id: 'general' });
  const { number } = body.discussion as { readonly number: number };
  const post = `/p/${body.post_id as string}`;
  const page = await forum.open('ada', { viewport: { width: 320, height: 700 } });
  const wide: string[] = [];
  const paths = ['', '/related', '/print', '/reply', '/edit'].map((path) => `/d/${number}${path}`);
  for (const path of [...paths, `${post}/reactions`, `${post}/menu`, `${post}/edit`, `${post}/history`, '/']) {
    const answer = await page.goto(path);
    expect(answer!.status(), path).toBe(200);
    if (await movesSideways(page)) wide.push(path);
  }
  expect(wide).toEqual([]);
  await page.context().close();
});

test('on a phone the settings tabs are in one row with the current one in view', async () => {
  const page = await forum.open('ada', { viewport: { width: 320, height: 700 } });
  await page.goto('/settings/privacy');
  const seen = await page.evaluate(`(() => {
    const links = [...document.querySelectorAll('.tabs a')].map((link) => link.getBoundingClientRect());
    const { left, right } = document.querySelector('.tabs [aria-current]').getBoundingClientRect();
    return { rows: new Set(links.map(({ top }) => top)).size, inView: left >= 0 && right <= innerWidth };
  })()`);
  expect(seen).toEqual({ rows: 1, inView: true });
  expect(await movesSideways(page)).toBe(false);
  await page.context().close();
});
