import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined, pass } from './checks.ts';
import { useForum } from './forum.ts';

const forum = useForum();

interface Early {
  readonly page: Page;
  /** Navigation requests since then, as method and path. */
  readonly visits: readonly string[];
  /** Lets the module load, which has not been defined yet. */
  come(): Promise<void>;
}

/** A page on which the module of this element is delayed. */
async function openBefore(tag: string, path = '/d/1', options: BrowserContextOptions = {}): Promise<Early> {
  const page = await forum.open('bob', options);
  const { promise, resolve } = Promise.withResolvers<void>();
  await page.route(`**/${tag}.js`, async (route) => {
    await promise;
    await route.continue();
  });
  await page.goto(path);
  const visits: string[] = [];
  page.on('request', (request) => {
    if (request.isNavigationRequest()) visits.push(`${request.method()} ${new URL(request.url()).pathname}`);
  });
  const come = async (): Promise<void> => {
    expect(await page.locator(`${tag}:defined`).count()).toBe(0);
    resolve();
  };
  return { page, visits, come };
}
/** Reloads the page without the module of reactions. */
const refuse = async (page: Page): Promise<void> => {
  await page.route('**/x-reactions.js', (route) => route.abort());
  await page.reload();
};
const react = (page: Page): Locator => page.locator('#post-1').getByRole('link', { name: 'React to post 1' });
const like = (page: Page): Locator => page.locator('#post-1 button.reaction', { hasText: 'Like' });

describe('a press before the module of its element has loaded', () => {
  test.each([
    { what: 'the menu of a post', tag: 'x-posts', name: 'More about post 1', opened: '.menu:popover-open a' },
    { what: 'the reaction menu', tag: 'x-reactions', name: 'React to post 1', opened: '.reaction-menu button' },
  ])('opens $what in place on a phone', async ({ tag, name, opened }) => {
    const options = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true };
    const { page, visits, come } = await openBefore(tag, '/d/1', options);
    await page.getByRole('link', { name, exact: true }).tap();
    await come();
    await page.locator(opened).first().waitFor();
    expect(visits).toEqual([]);
    await page.context().close();
  });

  test('opens the notifications menu by keyboard and moves focus into it', async () => {
    const { page, visits, come } = await openBefore('x-notifications-menu', '/categories');
    await page.locator('.bell').press('Enter');
    await come();
    await page.getByRole('dialog', { name: 'Notifications' }).waitFor();
    expect(await page.evaluate('document.activeElement.closest(".notifications-menu") !== null')).toBe(true);
    expect(visits).toEqual([]);
    await page.context().close();
  });

  test('shows the preview in place', async () => {
    const { page, visits, come } = await openBefore('x-composer', '/new');
    await page.getByLabel('Your text').fill('An *ash* oar');
    await page.getByRole('button', { name: 'Preview' }).click();
    await come();
    await page.locator('.composer-view em', { hasText: 'ash' }).waitFor();
    expect(visits).toEqual([]);
    await page.context().close();
  });

  test('toggles a reaction once, however often it is pressed', async () => {
    const { page, visits, come } = await openBefore('x-reactions');
    const sent: string[] = [];
    page.on('request', (request) => void (request.method() === 'POST' && sent.push(new URL(request.url()).pathname)));
    const given = (await like(page).getAttribute('aria-pressed')) === 'true';
    await like(page).dblclick();
    await come();
    await expect.poll(() => like(page).getAttribute('aria-pressed')).toBe(String(!given));
    expect([sent, visits]).toEqual([['/api/reactions/toggle'], []]);
    await page.context().close();
  });

  test.runIf(FULL)('is ignored if something else is pressed meanwhile', async () => {
    const { page, visits, come } = await openBefore('x-reactions');
    await react(page).click();
    await page.locator('#post-1 .prose').click();
    await come();
    await defined(page, 'x-reactions');
    await pass(page, 2_000);
    expect([visits, await page.locator('.reaction-menu').isVisible()]).toEqual([[], false]);
    await page.context().close();
  });

  test('opens another tab on request', async () => {
    const { page, visits } = await openBefore('x-reactions');
    const presses: Parameters<Locator['click']>[0][] = [{ modifiers: ['ControlOrMeta'] }, { button: 'middle' }];
    for (const press of presses) {
      const opened = page.context().waitForEvent('page');
      await react(page).click(press);
      await (await opened).close();
    }
    expect(visits).toEqual([]);
    await page.context().close();
  });

  test.each([{ when: 'does not come' }, { when: 'comes late' }])(
    'follows the link once if the module $when',
    async ({ when }) => {
      const { page, visits } = await openBefore('x-reactions');
      if (when === 'does not come') await refuse(page);
      const path = await react(page).getAttribute('href');
      const before = visits.length;
      await react(page).click();
      await page.getByRole('main').getByRole('button', { name: 'Thanks' }).waitFor();
      expect(visits.slice(before)).toEqual([`GET ${path}`]);
      await page.context().close();
    },
  );

  test.runIf(FULL)('submits a form once if the module does not load', async () => {
    const { page, visits } = await openBefore('x-reactions');
    await refuse(page);
    const given = (await like(page).getAttribute('aria-pressed')) === 'true';
    await like(page).dblclick();
    await expect.poll(() => like(page).getAttribute('aria-pressed')).toBe(String(!given));
    expect(visits.filter((one) => one.startsWith('POST'))).toHaveLength(1);
    await page.context().close();
  });
});
