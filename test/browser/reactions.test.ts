import { describe, expect, test } from 'vitest';
import { listen, movesSideways } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();

describe('reactions below a post', () => {
  test('are given and taken back without leaving the page', async () => {
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

  test('have a page that says who gave them, where all kinds stand in a row', async () => {
    const page = await forum.open('bob');
    await page.goto('/d/1');
    await page.goto((await page.getByRole('link', { name: 'React to post 1', exact: true }).getAttribute('href'))!);
    const boxes = await Promise.all((await page.locator('.reaction-choice').all()).map((one) => one.boundingBox()));
    expect(boxes.length).toBeGreaterThan(3);
    expect(new Set(boxes.map((box) => box!.y)).size).toBe(1);
    await page.context().close();
  });

  test('are given without script', async () => {
    const page = await forum.open('bob', { javaScriptEnabled: false, viewport: { width: 320, height: 800 } });
    await page.goto('/d/1');
    await page.locator('#post-1').getByRole('link', { name: 'React to post 1' }).click();
    await page.getByRole('main').getByRole('button', { name: 'Thanks' }).click();
    await page.locator('#post-1 .reaction', { hasText: 'Thanks' }).waitFor();
    expect(await movesSideways(page)).toBe(false);
    await page.context().close();
  });
});
