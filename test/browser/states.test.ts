import { TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import { FULL } from '../kit/full.ts';
import { listen, movesSideways, shownThoughHidden, spaceText, walkFocus } from './checks.ts';
import { logIn, PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();

/** Problems of the page in its current state. Unlike a URL, a state is not reopened for each check. */
async function lookAt(page: Page, name: string): Promise<readonly string[]> {
  const found: string[] = [];
  // Colour schemes affect what is drawn, the width affects the layout.
  for (const [colorScheme, width, height] of [
    ['dark', 1280, 900],
    ['light', 320, 700],
  ] as const) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await page.evaluate('document.activeElement?.blur(), scrollTo(0, 0)');
    found.push(...(await judge(page)).map((one) => `${name} ${colorScheme} ${width}: ${one}`));
    if (await movesSideways(page)) found.push(`${name} ${width}: moves sideways`);
  }
  found.push(
    ...[...(await spaceText(page)), ...(await walkFocus(page)), ...(await shownThoughHidden(page))].map(
      (one) => `${name}, cut or unseen: ${one}`,
    ),
  );
  return found;
}
/** Browser errors, except refused requests, which some of the states result from. */
const complaints = (heard: readonly string[]): readonly string[] =>
  heard.filter((line) => !/the server responded with a status of 4\d\d/.test(line));
const press = (page: Page, name: string): Promise<void> =>
  page.getByRole('main').getByRole('button', { name, exact: true }).click();

test.runIf(FULL)('a refused sign-up reports each invalid field, and preserves the input', async () => {
  const page = await forum.open('guest');
  const heard = listen(page);
  await page.goto('/register');
  await page.getByLabel('Username').fill('x');
  await page.getByLabel('E-mail').fill('nowhere@forum.test');
  await page.getByLabel('Password', { exact: true }).fill('short');
  await page.getByLabel('Repeat the password').fill('longer');
  await page.evaluate('document.querySelector("main form").noValidate = true');
  await press(page, 'Sign up');
  await page.getByRole('alert').getByRole('link', { name: 'Repeat the password: is not the same' }).click();
  await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('f-password_confirmation');
  expect(await page.getByLabel('E-mail').inputValue()).toBe('nowhere@forum.test');
  expect([...(await lookAt(page, 'refused sign-up')), ...complaints(heard)]).toEqual([]);
  await page.context().close();
});

test.runIf(FULL)('the chosen text size is applied', async () => {
  const page = await forum.open('guest');
  const size = (): Promise<string> => page.evaluate('getComputedStyle(document.documentElement).fontSize');
  await page.goto('/settings/appearance');
  const usual = await size();
  await page.getByRole('radio', { name: 'Larger' }).check();
  await press(page, 'Save');
  await page.locator('[data-text=larger]').waitFor();
  expect([usual, await size()]).toEqual(['16px', '20px']);
  expect([
    await page.getByRole('heading', { level: 1 }).textContent(),
    await page.locator('.page-head p').count(),
  ]).toEqual(['Appearance', 0]);
  expect(await lookAt(page, 'larger text')).toEqual([]);
  await page.context().close();
});

test.runIf(FULL)('on a wide screen the preview is shown next to the text, and follows it', async () => {
  const page = await forum.open('ada', { viewport: { width: 1500, height: 900 } });
  await page.goto('/new');
  await page.locator('.composer-bar').waitFor();
  const [area, view] = [page.getByLabel('Your text'), page.locator('.composer-view')];
  await area.fill('Sealed with **tar**.');
  await press(page, 'Preview');
  await view.getByText('tar').waitFor();
  const [text, shown] = [(await area.boundingBox())!, (await view.boundingBox())!];
  expect(shown.x).toBeGreaterThanOrEqual(text.x + text.width - 1);
  await page.keyboard.type(' And _rope_.');
  await view.locator('em', { hasText: 'rope' }).waitFor();
  expect(await lookAt(page, 'preview beside')).toEqual([]);
  await page.getByRole('button', { name: 'Bold' }).click();
  await expect.poll(() => area.inputValue()).toContain('****');
  await press(page, 'Hide preview');
  expect([await view.count(), await area.isVisible()]).toEqual([0, true]);
  await page.context().close();
});

test('a preview replaces the text, and a list that loads more replaces its pagination', async () => {
  const page = await forum.open('ada');
  await page.goto('/d/1/reply');
  await page.locator('.composer-bar').waitFor();
  await page.getByLabel('Your text').fill('Sealed with **tar**.');
  await press(page, 'Preview');
  await page.locator('.composer-view strong').waitFor();
  expect([await page.getByLabel('Your text').isVisible(), ...(await lookAt(page, 'preview'))]).toEqual([false]);
  // Its buttons would change a text that is not visible.
  expect(await page.getByRole('toolbar').isVisible()).toBe(false);
  await press(page, 'Write');
  await page.getByRole('toolbar').waitFor();
  await press(page, 'Preview');
  await page.locator('.composer-view strong').waitFor();
  // With nothing to send, the field returns, so that the browser can report that there.
  await page.evaluate(`document.querySelector('textarea').value = ''`);
  await press(page, 'Post reply');
  await page.getByLabel('Your text').waitFor();
  await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('content');
  await page.goto('/');
  await page.getByRole('button', { name: 'Show more' }).waitFor({ state: 'attached' });
  expect([await page.locator('.pager').isVisible(), ...(await shownThoughHidden(page))]).toEqual([false]);
  const shown = await page.locator('[role=feed] h2 a, [role=feed] h3 a').count();
  await page.evaluate(`document.querySelector('.feed-more button').click()`);
  await expect.poll(() => page.evaluate(`document.activeElement.closest('[role=feed]') !== null`)).toBe(true);
  expect(
    await page.evaluate(
      `[...document.querySelectorAll('[role=feed] h2 a, [role=feed] h3 a')].indexOf(document.activeElement)`,
    ),
  ).toBe(shown);
  await page.context().close();
});

test.runIf(FULL)(
  'two-factor login: key, backup codes and code prompt',
  async () => {
    const page = await forum.open('bob');
    const heard = listen(page);
    const found: string[] = [];
    await page.goto('/settings/security/two-factor');
    await press(page, 'Set up');
    const secret = (await page.locator('p.secret').textContent())!.replace(/\s/g, '');
    found.push(...(await lookAt(page, 'key')));
    await page.getByLabel('Code', { exact: true }).fill(new TOTP({ secret }).generate());
    await press(page, 'Switch it on');
    const code = (await page.locator('.two-factor-codes li').first().textContent())!;
    found.push(...(await lookAt(page, 'backup codes')));
    await page.context().close();

    const elsewhere = await forum.open('guest');
    await elsewhere.goto('/login');
    await elsewhere.getByLabel('Username or e-mail').fill('bob');
    await elsewhere.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await press(elsewhere, 'Log in');
    await elsewhere.getByLabel(/Code from your app/).fill('000000');
    await press(elsewhere, 'Log in');
    await elsewhere.getByRole('alert').waitFor();
    found.push(...(await lookAt(elsewhere, 'question')));
    await elsewhere.getByLabel(/Code from your app/).fill(code);
    await press(elsewhere, 'Log in');
    await elsewhere.getByRole('button', { name: 'Account of bob' }).waitFor();
    expect([...found, ...complaints(heard)]).toEqual([]);
    await elsewhere.context().close();
  },
  180_000,
);

test.runIf(FULL)(
  'a profile picture, and a suspension as seen by the member and the moderator',
  async () => {
    const zoe = await forum.open('guest');
    const heard = listen(zoe);
    const found: string[] = [];
    await logIn(zoe, 'zoe');
    await zoe.goto('/settings/profile');
    const buffer = await sharp({ create: { width: 90, height: 50, channels: 3, background: '#2a7' } })
      .png()
      .toBuffer();
    await zoe.getByLabel('New picture').setInputFiles({ name: 'boat.png', mimeType: 'image/png', buffer });
    await press(zoe, 'Save picture');
    await zoe.getByText('This picture is shown').waitFor();
    found.push(...(await lookAt(zoe, 'profile with a picture')));

    const mia = await forum.open('mia');
    await mia.goto('/mod/members/zoe');
    await mia.getByLabel('Reason').fill('An-unbroken-word-that-is-longer-than-a-narrow-screen-and-goes-on');
    await press(mia, 'Suspend');
    await mia.getByText('The member was suspended.').waitFor();
    found.push(...(await lookAt(mia, 'suspended, as moderators see it')));
    for (const path of ['/', '/settings/standing']) {
      await zoe.goto(path);
      found.push(...(await lookAt(zoe, `${path} of a suspended member`)));
    }
    expect([...found, ...complaints(heard)]).toEqual([]);
    await Promise.all([zoe, mia].map((page) => page.context().close()));
  },
  180_000,
);
