import type { Page } from 'playwright-core';
import { afterEach, expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { FULL, inFull } from '../kit/full.ts';
import { page as outsidePage, useOutside } from '../plugins/link-previews/outside.ts';
import { movesSideways, openListening } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum({ environment: { previewHosts: ['127.0.0.1'] } });
const outside = useOutside();
const switchTo = (enabled: boolean) => forum.app.app.service(Settings).set({ 'link-previews.enabled': enabled });
const card = (page: Page) => page.locator('.link-preview');

afterEach(() => switchTo(true));

/** Starts a discussion as mia; returns its path. */
async function started(): Promise<{ readonly path: string; reply(content: string): Promise<unknown> }> {
  const mia = forum.app.client();
  await mia.login('mia', PASSWORD);
  const { discussion } = (
    await mia.post('/api/discussions', { title: 'Where to look', content: 'Here', category_id: 'general' })
  ).body;
  const reply = (content: string) => mia.post('/api/posts', { discussion_id: discussion.id, content });
  return { path: new URL(discussion.url).pathname, reply };
}

test('the author of a link and other readers see its preview appear', async () => {
  outside.pages.set(
    '/knots',
    outsidePage('<title>Knots</title><meta name="description" content="Forty of them, and the one that holds.">'),
  );
  const { path } = await started();
  const [writer, reader] = [await forum.open('ada'), await forum.open('bob')];
  for (const page of [writer, reader]) await openListening(page, path, 'x-posts', 'x-replies');
  await writer.locator('#reply textarea').fill(`Have a look:\n\n${outside.url('/knots')}`);
  await writer.getByRole('button', { name: 'Post', exact: true }).click();
  for (const page of [writer, reader]) {
    await card(page).getByRole('link', { name: 'Knots' }).waitFor();
    await card(page).getByText('Forty of them, and the one that holds.').waitFor();
  }
  for (const page of [writer, reader]) await page.context().close();
});

test.runIf(FULL)('a preview replaces its link on an open page once the slow target has been fetched', async () => {
  outside.pages.set('/slow', outsidePage('<title>Slow</title>'));
  await switchTo(false);
  const { path, reply } = await started();
  await reply(outside.url('/slow'));
  const page = await forum.open('ada');
  await openListening(page, path, 'x-posts');
  await page
    .locator('#post-2')
    .getByRole('link', { name: outside.url('/slow') })
    .waitFor();
  await switchTo(true);
  await forum.app.runSchedule('link-previews/job:renew');
  await card(page).getByRole('link', { name: 'Slow' }).waitFor();
  await page.context().close();
});

test('without JavaScript a preview is part of the page; with previews disabled the link is shown', async () => {
  outside.pages.set('/plain', outsidePage('<title>Plain</title>'));
  const { path, reply } = await started();
  await reply(outside.url('/plain'));
  await expect.poll(() => outside.asked).toContain('/plain');
  const page = await forum.open('guest', { javaScriptEnabled: false });
  await expect
    .poll(async () => {
      await page.goto(path);
      return card(page).getByRole('link', { name: 'Plain' }).count();
    })
    .toBe(1);
  await switchTo(false);
  await page.goto(path);
  expect(await card(page).count()).toBe(0);
  expect(
    await page
      .locator('#post-2')
      .getByRole('link', { name: outside.url('/plain') })
      .count(),
  ).toBe(1);
  await page.context().close();
});

test.each([[320, 'light'], ...inFull([1280, 'dark'] as const)] as const)(
  'a preview is readable at %i pixels in %s colours',
  async (width, colorScheme) => {
    const long = 'Donaudampfschifffahrtsgesellschaft'.repeat(4);
    outside.pages.set('/long', outsidePage(`<title>${long}</title><meta name="description" content="${long}">`));
    const { path, reply } = await started();
    const page = await forum.open('ada', { colorScheme, viewport: { width, height: 800 } });
    await openListening(page, path, 'x-posts', 'x-replies');
    await reply(outside.url('/long'));
    await card(page).waitFor();
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    await page.context().close();
  },
);
