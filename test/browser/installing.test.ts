import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { openSite, PASSWORD, type Site } from '../plugins/installer/site.ts';
import { listen, movesSideways, spaceText, walkFocus } from './checks.ts';
import { judge, openBrowser } from './look.ts';

let browser: Browser;
beforeAll(async () => void (browser = await openBrowser()));
afterAll(() => browser?.close());

const addressesOf =
  (site: Site) =>
  (path: string): string =>
    site.url.replace('127.0.0.1', 'localhost') + path;
const heading = (page: Page): Promise<string | null> => page.locator('h1').textContent();

describe('the installer in a browser', () => {
  test.runIf(FULL)('every step is accessible, wide and narrow, light and dark', async () => {
    await using site = await openSite({ embedded: true });
    const address = addressesOf(site);
    const context = await browser.newContext({ reducedMotion: 'reduce' });
    const page = await context.newPage();
    const messages = listen(page);
    await page.goto(address(site.link));
    // Colour schemes affect what is drawn, the width affects the layout.
    const look = async (name: string): Promise<void> => {
      for (const [colorScheme, width] of [
        ['dark', 1280],
        ['light', 320],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        expect([name, width, await judge(page), await movesSideways(page)]).toEqual([name, width, [], false]);
      }
      expect([name, await spaceText(page), await walkFocus(page)]).toEqual([name, [], []]);
    };
    await look('site');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('A PostgreSQL server').check();
    await page.getByLabel('Its address', { exact: true }).fill('postgres://ada:sesame@localhost:1/boats');
    await page.getByRole('button', { name: 'Test the database' }).click();
    await page.getByText('Nothing listens at localhost:1').waitFor();
    await look('services');
    await page.getByLabel('Built in').check();
    await page.getByLabel('Its address', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Continue' }).click();
    await look('administrator');
    await page.getByLabel('Name').fill('ada');
    await page.getByLabel('E-mail address').fill('ada@example.org');
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByLabel('Password again').fill(`${PASSWORD}!`);
    await page.getByRole('button', { name: 'Install' }).click();
    await page.getByRole('alert').waitFor();
    await look('refused');
    // The browser reports each unsuccessful response as a failed load.
    expect(messages.filter((line) => !line.includes('400 (Bad Request)'))).toEqual([]);
    // Only the first browser that submits a step may continue.
    await context.clearCookies();
    await page.goto(address(site.link));
    expect(await heading(page)).toBe('The link was used');
    await look('used');
    await context.close();
  });

  test.runIf(FULL)('leads from the setup link to a working forum without JavaScript', async () => {
    const content = Promise.withResolvers<void>();
    await using site = await openSite({
      variables: { BASE_URL: 'http://localhost' },
      fill: (progress) => {
        progress('12 of 40 members');
        return content.promise;
      },
    });
    const address = addressesOf(site);
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 320, height: 800 } });
    const page = await context.newPage();
    await page.goto(address('/'));
    expect(await heading(page)).toBe('The link is on the console');
    await page.goto(address(site.link));
    expect(page.url()).toBe(address('/install/site'));
    await page.getByLabel('Name').fill('The Quay');
    await page.getByLabel('Time zone').selectOption('Europe/Lisbon');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByLabel('Mail server, if there is one').press('Enter');
    await page.getByLabel('Name').fill('ada');
    await page.getByLabel('E-mail address').fill('ada@example.org');
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await page.getByLabel('Password again').fill(PASSWORD);
    await page.getByLabel('Fill the forum with lifelike members').check();
    await page.getByRole('button', { name: 'Install' }).click();
    await page.getByText('12 of 40 members').waitFor();
    expect(page.url()).toBe(address('/install/progress'));
    content.resolve();
    // Without interaction: the page refreshes every two seconds.
    await page.waitForURL(address('/login'), { timeout: 60_000 });
    await page.getByText('Your forum is ready. Log in as ada.').waitFor();
    await page.locator('[name="identifier"]').fill('ada');
    await page.locator('[name="password"]').fill(PASSWORD);
    await page.locator('main').getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL((url) => url.pathname !== '/login');
    expect((await page.goto(address('/install')))?.status()).toBe(403);
    expect(await heading(page)).toBe('Already installed');
    await page.getByRole('link', { name: 'To the forum' }).click();
    await page.getByText('The Quay').first().waitFor();
    await context.close();
  });
});
