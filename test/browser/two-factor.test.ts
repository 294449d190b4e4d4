import type { Locator, Page } from 'playwright-core';
import { TOTP } from 'otpauth';
import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { defined, movesSideways } from './checks.ts';
import { logIn, PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const codes = (page: Page): Locator => page.locator('.two-factor-codes li');

/** Enables two-factor login for a member, and stays on the page with the backup codes. */
async function switchOn(page: Page): Promise<void> {
  await page.goto('/settings/security/two-factor');
  await page.getByRole('main').getByRole('button', { name: 'Set up' }).click();
  const secret = (await page.locator('p.secret').textContent())!.replace(/\s/g, '');
  await page.getByLabel('Code', { exact: true }).fill(new TOTP({ secret }).generate());
  await page.getByRole('main').getByRole('button', { name: 'Switch it on' }).click();
  await codes(page).first().waitFor();
}

test.runIf(FULL).each([320, 1280])(
  'backup codes can be copied, printed on their own and saved, at %i pixels',
  async (width) => {
    const page = await forum.open(width === 320 ? 'bob' : 'mia', { viewport: { width, height: 800 } });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await switchOn(page);
    await defined(page, 'x-backup-codes');
    const shown = await codes(page).allTextContents();
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect((await page.evaluate<string>('navigator.clipboard.readText()')).split('\n')).toEqual(shown);
    expect(await judge(page)).toEqual([]);
    expect(await movesSideways(page)).toBe(false);
    await page.evaluate('globalThis.print = () => (globalThis.printed = true)');
    await page.getByRole('button', { name: 'Print' }).click();
    expect(await page.evaluate('globalThis.printed')).toBe(true);
    await page.emulateMedia({ media: 'print' });
    const panels = page.getByRole('main').locator('.panel:visible');
    expect([await panels.count(), await panels.locator(codes(page)).count()]).toEqual([1, 10]);
    await page.emulateMedia({ media: 'screen' });
    const saved = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    expect((await saved).suggestedFilename()).toBe('backup-codes.txt');
    await page.context().close();
  },
);

test.runIf(FULL)('a session that ended while writing can also be renewed in the dialog with a code', async () => {
  const page = await forum.open('guest');
  await logIn(page, 'zoe');
  await switchOn(page);
  const code = (await codes(page).first().textContent())!;
  await page.goto('/d/3/reply');
  await defined(page, 'x-composer');
  await page.getByLabel('Your text').fill('Twice as careful');
  await page.context().clearCookies();
  await page.getByRole('button', { name: 'Post reply' }).click();
  const dialog = page.getByRole('dialog', { name: 'Log in' });
  await dialog.getByLabel('Username or e-mail').fill('zoe');
  await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  const field = dialog.getByLabel(/Code from your app/);
  await field.waitFor();
  await expect.poll(() => field.evaluate((one) => one === one.ownerDocument.activeElement)).toBe(true);
  expect(await judge(page)).toEqual([]);
  await field.fill('000000');
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await dialog.getByRole('alert').waitFor();
  expect(await page.getByLabel('Your text').inputValue()).toBe('Twice as careful');
  await field.fill(code);
  await dialog.getByRole('button', { name: 'Log in' }).click();
  await page.locator('.post', { hasText: 'Twice as careful' }).waitFor();
  expect(await page.getByRole('button', { name: 'Account of zoe' }).count()).toBe(1);
  await page.context().close();
});
