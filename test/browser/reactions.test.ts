import { describe, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined, listen, movesSideways, openListening } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();

describe('reactions below a post', () => {
  test('are added and removed without leaving the page', async () => {
    const page = await forum.open('bob');
    const messages = listen(page);
    await page.goto('/d/1');
    const post = page.locator('#post-1');
    const given = post.locator('.reaction', { hasText: 'Love' });
    const address = page.url();
    await page.evaluate('customElements.whenDefined("x-reactions").then(() => true)');
    await post.getByRole('link', { name: 'React to post 1' }).click();
    await page.locator('.reaction-menu').getByRole('button', { name: 'Love' }).click();
    await given.waitFor();
    expect([await given.getAttribute('aria-pressed'), await given.textContent(), page.url()]).toEqual([
      'true',
      'Love 1',
      address,
    ]);
    expect(await judge(page)).toEqual([]);
    await given.click();
    await given.waitFor({ state: 'detached' });
    expect(messages).toEqual([]);
    await page.context().close();
  });

  test('can be added to a post far down, at which a phone opened the page', async () => {
    const page = await forum.open('bob', { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true });
    await page.goto('/d/1/19#post-19');
    const address = page.url();
    // Of the reactions, only the posts' own links are in view.
    expect(await page.evaluate('document.querySelector("x-reactions").getBoundingClientRect().bottom')).toBeLessThan(
      -400,
    );
    await defined(page, 'x-reactions');
    const post = page.locator('#post-19');
    await post.getByRole('link', { name: 'React to post 19' }).tap();
    await page.locator('.reaction-menu').getByRole('button', { name: 'Thanks' }).tap();
    await post.locator('.reaction', { hasText: 'Thanks' }).waitFor();
    expect(page.url()).toBe(address);
    await page.context().close();
  });

  test.runIf(FULL)('match the last presses, even if the first response arrives last', async () => {
    const page = await forum.open('ada');
    await page.goto('/d/1');
    await page.evaluate('customElements.whenDefined("x-reactions").then(() => true)');
    let answered = 0;
    await page.route('**/api/reactions/toggle', async (route) => {
      const response = await route.fetch();
      if (answered++ === 0) await page.waitForTimeout(2_000);
      await route.fulfill({ response });
    });
    const shown = page.locator('#post-2 .reaction');
    for (const name of ['Laugh', 'Love']) {
      await page.getByRole('link', { name: 'React to post 2', exact: true }).click();
      await page.locator('.reaction-menu').getByRole('button', { name }).click();
      // A press sooner than this would only close what is open.
      await page.waitForTimeout(500);
    }
    await expect.poll(() => answered).toBe(2);
    await page.waitForTimeout(2_500);
    const texts = async () => (await shown.allTextContents()).map((text) => text.trim());
    const seen = await texts();
    await page.reload();
    expect(seen).toEqual(await texts());
    await page.context().close();
  });

  test('of others appear in place, also beside one’s own button, and a burst is one request', async () => {
    const reader = await forum.open('ada');
    const messages = listen(reader);
    await openListening(reader, '/d/1', 'x-posts', 'x-reactions');
    const post = reader.locator('#post-3');
    const given = (label: string) => post.locator('.reaction', { hasText: label });
    await post.getByRole('link', { name: 'React to post 3' }).click();
    await reader.locator('.reaction-menu').getByRole('button', { name: 'Love' }).click();
    await given('Love').waitFor();
    await given('Love').focus();
    // What this reader's own reaction leads to is over by then.
    await reader.waitForResponse((answer) => 'x-fragment' in answer.request().headers());
    const asked: string[] = [];
    reader.on('request', (request) => request.headers()['x-fragment'] && asked.push(request.url()));
    const [bob, mia] = [forum.app.client(), forum.app.client()];
    await bob.login('bob', PASSWORD);
    await mia.login('mia', PASSWORD);
    const id = (await bob.get('/api/discussions/1/posts?limit=100')).body.posts[2].id;
    const toggle = (client: typeof bob, reaction: string) =>
      client.post('/api/reactions/toggle', { post_id: id, reaction });
    for (const client of [bob, mia]) for (const kind of ['love', 'wow', 'thanks']) await toggle(client, kind);
    await expect.poll(() => given('Love').textContent(), { timeout: 15_000 }).toMatch(/Love 3$/);
    await expect.poll(() => given('Wow').textContent(), { timeout: 15_000 }).toMatch(/Wow 2$/);
    expect([await given('Love').getAttribute('aria-pressed'), await given('Wow').getAttribute('aria-pressed')]).toEqual(
      ['true', 'false'],
    );
    expect(await given('Love').evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true);
    expect(asked).toHaveLength(1);
    await toggle(bob, 'wow');
    await toggle(mia, 'wow');
    await given('Wow').waitFor({ state: 'detached', timeout: 15_000 });
    expect(messages).toEqual([]);
    await reader.context().close();
  });

  test.runIf(FULL)('show who reacted, from the members’ menu and for guests', async () => {
    const bob = await forum.open('bob');
    await bob.goto('/d/1');
    await bob.evaluate('customElements.whenDefined("x-reactions").then(() => true)');
    // The last post has no reactions yet.
    const last = bob.locator('.stream > .post').last();
    await last.getByRole('link', { name: /React to post/ }).click();
    const who = bob.locator('.reaction-menu').getByRole('link', { name: 'Who reacted' });
    await bob.locator('.reaction-menu').getByRole('button', { name: 'Love' }).waitFor();
    expect(await who.isVisible()).toBe(false);
    await bob.keyboard.press('Escape');
    await bob.getByRole('link', { name: 'React to post 1', exact: true }).click();
    expect(await judge(bob)).toEqual([]);
    await defined(bob, 'x-reactors');
    const address = bob.url();
    await who.click();
    const dialog = bob.getByRole('dialog', { name: 'Reactions to post 1' });
    await dialog.getByRole('link', { name: 'mia' }).first().waitFor();
    expect([bob.url(), await bob.locator('.reaction-menu').isVisible()]).toEqual([address, false]);
    expect(await judge(bob)).toEqual([]);
    await bob.keyboard.press('Escape');
    expect(await dialog.isVisible()).toBe(false);
    // The list opens while the pointer is on a reaction.
    await bob.locator('#post-1 .reaction').first().hover();
    await dialog.getByRole('link', { name: 'mia' }).first().waitFor();
    await bob.mouse.move(2, 2);
    await dialog.waitFor({ state: 'hidden' });
    await bob.context().close();
    const reader = await forum.open('guest');
    await reader.goto('/d/1');
    const like = reader.locator('#post-1').getByRole('link', { name: 'Like' });
    await like.focus();
    await defined(reader, 'x-reactors');
    await like.press('Enter');
    await reader
      .getByRole('dialog', { name: 'Reactions to post 1' })
      .getByRole('link', { name: 'mia' })
      .first()
      .waitFor();
    await reader.context().close();
    const guest = await forum.open('guest', { javaScriptEnabled: false });
    await guest.goto('/d/1');
    await guest.locator('#post-1').getByRole('link', { name: 'Like' }).click();
    await guest.getByRole('main').getByRole('link', { name: 'mia' }).first().waitFor();
    await guest.context().close();
  });

  test.runIf(FULL)('have a page that lists who reacted, with all kinds in one row', async () => {
    const page = await forum.open('bob');
    await page.goto('/d/1');
    await page.goto((await page.getByRole('link', { name: 'React to post 1', exact: true }).getAttribute('href'))!);
    const boxes = await Promise.all((await page.locator('.reaction-choice').all()).map((one) => one.boundingBox()));
    expect(boxes.length).toBeGreaterThan(3);
    expect(new Set(boxes.map((box) => box!.y)).size).toBe(1);
    await page.context().close();
  });

  test('can be added without JavaScript', async () => {
    const page = await forum.open('bob', { javaScriptEnabled: false, viewport: { width: 320, height: 800 } });
    await page.goto('/d/1');
    await page.locator('#post-1').getByRole('link', { name: 'React to post 1' }).click();
    await page.getByRole('main').getByRole('button', { name: 'Thanks' }).click();
    await page.locator('#post-1 .reaction', { hasText: 'Thanks' }).waitFor();
    expect(await movesSideways(page)).toBe(false);
    await page.context().close();
  });
});
