import { expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { inFull } from '../kit/full.ts';
import { defined, listen, movesSideways } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
/** The content of the dot beside the picture of a post’s author. */
const dot = (post: string): string =>
  `getComputedStyle(document.querySelector('${post} .post-avatar'), '::after').content`;

test.each([[320, 'light'], ...inFull([1280, 'dark'] as const)] as const)(
  'members in view who are online have a dot, and words for screen readers, at %i pixels',
  async (width, colorScheme) => {
    const [ada, bob] = [forum.app.client(), forum.app.client()];
    await ada.login('ada', PASSWORD);
    await bob.login('bob', PASSWORD);
    await ada.submit('/settings/privacy', { hide_presence: 'true' });
    await bob.get('/');
    const page = await forum.open('guest', { viewport: { width, height: 800 }, colorScheme });
    const messages = listen(page);
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname, searchParams } = new URL(request.url());
      if (pathname === '/api/presence/members') asked.push(searchParams.get('usernames')!);
    });
    await page.goto('/d/1');
    await page.locator('#post-1 .post-when').hover();
    await defined(page, 'x-online');
    await expect.poll(() => asked.join()).toContain('ada');
    await page.locator('#post-2').scrollIntoViewIfNeeded();
    await expect.poll(() => page.evaluate(dot('#post-2'))).toBe('""');
    expect(await page.locator('#post-2 .post-by').ariaSnapshot()).toMatch(/bob ?, online now/);
    // Ada is here, too, but hides it.
    expect(await page.evaluate(dot('#post-1'))).toBe('none');
    expect(
      asked
        .join()
        .split(',')
        .filter((name) => name === 'bob'),
    ).toHaveLength(1);
    expect(await movesSideways(page)).toBe(false);
    expect(await judge(page)).toEqual([]);
    expect(messages).toEqual([]);
    await page.context().close();
  },
);

test('guests are not told who is online where only members see that', async () => {
  await forum.app.app.service(Settings).set({ 'presence.public': false });
  const page = await forum.open('guest');
  const messages = listen(page);
  await page.goto('/d/1/2');
  await defined(page, 'x-posts');
  expect(await page.locator('x-online').count()).toBe(0);
  expect(messages).toEqual([]);
  await page.context().close();
  await forum.app.app.service(Settings).set({ 'presence.public': true });
});
