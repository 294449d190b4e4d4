import { describe, expect, test } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Discussions } from 'parley-forum/plugins/discussions';
import { FULL } from '../kit/full.ts';
import { defined, movesSideways, openListening, painted } from './checks.ts';
import { useForum, type Person } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();

/** Replies to a discussion from another session. */
async function reply(name: Person, content: string, number = '1'): Promise<void> {
  const { app } = forum.app;
  const { id } = forum.people[name];
  const viewer = (await app.service(Accounts).viewers([id])).get(id)!;
  const discussions = app.service(Discussions);
  await discussions.reply(viewer, { discussionId: (await discussions.find(number, viewer))!.id, content });
}

describe('the bell on an open page', () => {
  test('shows and announces a new notification, and is reset once it is read elsewhere', async () => {
    const page = await forum.open('bob');
    // Members watch discussions that they have started.
    await page.goto('/new?category=general&title=Bells');
    await page.getByLabel('Your text').fill('Ours is brass.');
    await page.getByRole('button', { name: 'Start discussion' }).click();
    await page.getByRole('heading', { name: 'Bells', level: 1 }).waitFor();
    const number = /\/d\/(\d+)/.exec(page.url())![1]!;
    await openListening(page, '/categories', 'x-count');
    expect(await page.locator('.bell .icon-count').isVisible()).toBe(false);
    await reply('mia', 'Mine is bronze.', number);
    const bell = page.getByRole('banner').getByRole('link', { name: 'Notifications, unread: 1' });
    await bell.waitFor();
    expect(await bell.textContent()).toBe('1');
    expect(await page.title()).toMatch(/^\(1\) Categories · /);
    await page.getByRole('status').getByText('Notifications, unread: 1').waitFor({ state: 'attached' });
    const other = await page.context().newPage();
    await other.goto(`/d/${number}`);
    await page.getByRole('banner').getByRole('link', { name: 'Notifications', exact: true }).waitFor();
    expect(await page.locator('.bell .icon-count').isVisible()).toBe(false);
    expect(await page.title()).toMatch(/^Categories · /);
    await page.context().close();
  });
});

test('an open page shows that the network is offline', async () => {
  const page = await forum.open('guest');
  await page.goto('/');
  await page.context().setOffline(true);
  await page.locator('.toast').getByText('You are offline.').waitFor();
  await page.context().close();
});

describe('an open discussion', () => {
  test('announces new replies without moving the page, and links to the first of them', async () => {
    const page = await forum.open('ada', { viewport: { width: 320, height: 700 } });
    // At its end, where the elements at the top are far out of view.
    await openListening(page, '/d/1/5', 'x-replies');
    await painted(page);
    const place = (): Promise<number> => page.evaluate('scrollY');
    const before = await place();
    await reply('bob', 'The first of two replies');
    await page.getByRole('status').getByRole('link', { name: 'New replies: 1' }).waitFor();
    await reply('mia', 'The second of two replies');
    await page.getByRole('link', { name: 'New replies: 2' }).waitFor();
    expect(await place()).toBe(before);
    await page.getByRole('link', { name: 'New replies: 2' }).click();
    await page.getByRole('main').getByText('The first of two replies').waitFor();
    expect(new URL(page.url()).hash).toMatch(/^#post-\d+$/);
    expect(await page.getByRole('link', { name: /^New replies/ }).count()).toBe(0);
    await page.context().close();
  });

  test('shares one stream between all tabs of a browser', async () => {
    const first = await forum.open('ada');
    const streams: string[] = [];
    first
      .context()
      .on('request', (request) => void (request.url().includes('/api/live') && streams.push(request.url())));
    const pages = [first, await first.context().newPage(), await first.context().newPage()];
    for (const page of pages) {
      await page.goto('/d/2');
      await defined(page, 'x-live');
    }
    await expect.poll(() => streams.length).toBe(1);
    await first.context().close();
  });

  test('opens no stream for guests', async () => {
    const page = await forum.open('guest');
    const streams: string[] = [];
    page.on('request', (request) => void (request.url().includes('/api/live') && streams.push(request.url())));
    await page.goto('/d/1', { waitUntil: 'networkidle' });
    expect(streams).toEqual([]);
    await page.context().close();
  });
});

test.runIf(FULL).each([320, 1280])(
  'an open page shows once that the forum was updated, and reloads on request, at %i pixels',
  async (width) => {
    const page = await forum.open('ada', { viewport: { width, height: 700 } });
    // As if the page was loaded before an update.
    await page.route('**/api/live?*', (route) =>
      route.continue({
        url: route
          .request()
          .url()
          .replace(/version=[^&]+/, 'version=old'),
      }),
    );
    await openListening(page, '/categories', 'x-live');
    const bar = page.locator('x-bar');
    await bar.getByText('The forum was updated').waitFor();
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    await bar.getByRole('button', { name: 'Close' }).click();
    await page.evaluate(`document.dispatchEvent(new CustomEvent('parley:site.updated'))`);
    await painted(page);
    expect(await bar.count()).toBe(0);
    await page.reload();
    await Promise.all([page.waitForEvent('load'), bar.getByRole('button', { name: 'Reload' }).click()]);
    await page.context().close();
  },
);
