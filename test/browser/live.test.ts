import { describe, expect, test } from 'vitest';
import { Accounts } from '#plugins/accounts';
import { Discussions } from '#plugins/discussions';
import { useForum, type Person } from './forum.ts';

const forum = useForum();

/** Replies to discussion 1, as somebody elsewhere does. */
async function reply(name: Person, content: string): Promise<void> {
  const { app } = forum.app;
  const { id } = forum.people[name];
  const viewer = (await app.service(Accounts).viewers([id])).get(id)!;
  const discussions = app.service(Discussions);
  await discussions.reply(viewer, { discussionId: (await discussions.find('1', viewer))!.id, content });
}

describe('an open discussion', () => {
  test('says that replies have come, without moving what is read, and leads to the first of them', async () => {
    const page = await forum.open('ada', { viewport: { width: 320, height: 700 } });
    // At its end, where the elements at its top are far out of sight.
    await page.goto('/d/1/5');
    for (const element of ['x-live', 'x-replies']) await page.locator(`${element}:defined`).waitFor({ state: 'attached' });
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

  test('has one stream for all tabs of a browser', async () => {
    const first = await forum.open('ada');
    const streams: string[] = [];
    first.context().on('request', (request) => void (request.url().includes('/api/live') && streams.push(request.url())));
    const pages = [first, await first.context().newPage(), await first.context().newPage()];
    for (const page of pages) {
      await page.goto('/d/2');
      await page.locator('x-live:defined').waitFor({ state: 'attached' });
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
