import type { Locator, Page } from 'playwright-core';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { listen, movesSideways } from './checks.ts';
import { logIn, PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const picture = (): Promise<Buffer> =>
  sharp({ create: { width: 60, height: 40, channels: 3, background: '#c04010' } })
    .png()
    .toBuffer();
const text = (page: Page): Locator => page.getByLabel('Your text');
const SHOWN = /^!\[boat\]\(\/uploads\/[0-9a-f-]{36}\/boat\.png\)\n$/;

/** Passes a file to the text field as the browser does on paste or drop. */
const hand = (page: Page, event: 'paste' | 'drop', bytes: Buffer): Promise<void> =>
  page.evaluate(`{
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(atob('${bytes.toString('base64')}'), (one) => one.charCodeAt(0))], 'boat.png', { type: 'image/png' }));
  const area = document.querySelector('x-composer textarea');
  area.focus();
  area.dispatchEvent('${event}' === 'paste' ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
    : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
}`);
/** Each discussion is used by one test only, as unsent input is restored. */
async function write(discussion: number): Promise<Page> {
  const page = await forum.open('bob');
  await page.goto(`/d/${discussion}/reply`);
  await page.getByRole('button', { name: 'Add pictures or files' }).waitFor();
  return page;
}

describe('a picture in a text', () => {
  test('can be chosen, and is then shown in the post', async () => {
    const page = await write(1);
    const said = listen(page);
    await page.getByText(/or paste them, or drop them anywhere here\. At most .*, of these types: .*pdf/).waitFor();
    await page
      .locator('x-upload input[type="file"]')
      .setInputFiles({ name: 'boat.png', mimeType: 'image/png', buffer: await picture() });
    await expect.poll(() => text(page).inputValue()).toMatch(SHOWN);
    await page.getByRole('button', { name: 'Post reply' }).click();
    const shown = page.locator('.post img[alt="boat"]').first();
    await shown.waitFor();
    await shown.scrollIntoViewIfNeeded();
    await expect.poll(() => page.evaluate(`document.querySelector('.post img[alt="boat"]').naturalWidth`)).toBe(60);
    expect(said).toEqual([]);
    await page.context().close();
  });

  test.runIf(FULL)('can also be chosen with a toolbar button', async () => {
    const page = await write(9);
    const asked = page.waitForEvent('filechooser');
    await page.getByRole('button', { name: 'Insert a picture or file' }).click();
    await (await asked).setFiles({ name: 'boat.png', mimeType: 'image/png', buffer: await picture() });
    await expect.poll(() => text(page).inputValue()).toMatch(SHOWN);
    await page.context().close();
  });

  test.each([
    ['paste', 3],
    ['drop', 4],
  ] as const)('can be added by %s', async (event, discussion) => {
    const page = await write(discussion);
    await hand(page, event, await picture());
    await expect.poll(() => text(page).inputValue()).toMatch(SHOWN);
    await page.context().close();
  });

  test('is dropped anywhere on the writing field, which shows that it takes it', async () => {
    const page = await write(9);
    await page.evaluate('localStorage.clear()');
    await text(page).fill('');
    const drag = (event: string, bytes?: Buffer): Promise<void> =>
      page.evaluate(`{
      const data = new DataTransfer();
      const bytes = Uint8Array.from(atob('${bytes?.toString('base64') ?? ''}'), (one) => one.charCodeAt(0));
      data.items.add(new File([bytes], 'boat.png', { type: 'image/png' }));
      document.querySelector('.composer-foot').dispatchEvent(
        new DragEvent('${event}', { dataTransfer: data, bubbles: true, cancelable: true }));
    }`);
    const dropping = (): Promise<number> => page.locator('.composer.dropping').count();
    await drag('dragover');
    expect(await dropping()).toBe(1);
    await drag('dragleave');
    expect(await dropping()).toBe(0);
    await drag('dragover');
    await drag('drop', await picture());
    await expect.poll(() => text(page).inputValue()).toMatch(SHOWN);
    expect(await dropping()).toBe(0);
    await page.context().close();
  });

  test('leaves what was typed before to be undone step by step', async () => {
    const page = await write(9);
    await page.evaluate('localStorage.clear()');
    await text(page).fill('');
    await text(page).pressSequentially('Before');
    await hand(page, 'paste', await picture());
    await expect.poll(() => text(page).inputValue()).toMatch(/^Before\n!\[boat\]\(\/uploads\/[^)]*\)\n$/);
    await page.keyboard.press('Control+z');
    await page.keyboard.press('Control+z');
    expect(await text(page).inputValue()).toBe('Before');
    await page.keyboard.press('Control+Shift+z');
    await page.keyboard.press('Control+Shift+z');
    expect(await text(page).inputValue()).toMatch(/^Before\n!\[boat\]\(\/uploads\//);
    await page.context().close();
  });

  test('that arrives while another field is filled in leaves the focus and the caret there', async () => {
    const page = await forum.open('bob');
    await page.goto('/new');
    await page.getByRole('button', { name: 'Add pictures or files' }).waitFor();
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route('**/api/uploads', async (route) => {
      await promise;
      await route.continue();
    });
    await hand(page, 'paste', await picture());
    await page.getByLabel('Title').pressSequentially('Boats');
    resolve();
    await expect.poll(() => text(page).inputValue()).toMatch(SHOWN);
    await page.keyboard.type(' and oars');
    expect(await page.getByLabel('Title').inputValue()).toBe('Boats and oars');
    await page.context().close();
  });

  test('of a type that is not taken is refused before it is sent', async () => {
    const page = await write(9);
    let sent = 0;
    page.on('request', (request) => (sent += Number(request.url().endsWith('/api/uploads'))));
    await page
      .locator('x-upload input[type="file"]')
      .setInputFiles({ name: 'boat.exe', mimeType: 'application/octet-stream', buffer: Buffer.from('MZ') });
    await page.locator('.problem', { hasText: /^boat\.exe must end in one of: .*png/ }).waitFor();
    expect(sent).toBe(0);
    await page.context().close();
  });

  test('is sent again after a login where the session has ended, and stays to be tried again without one', async () => {
    const page = await forum.open('guest');
    await logIn(page, 'bob');
    await page.goto('/d/10/reply');
    await page.getByRole('button', { name: 'Add pictures or files' }).waitFor();
    // It would ask for the login before anything is sent.
    await page.evaluate(`document.querySelector('x-live').remove()`);
    const dialog = page.getByRole('dialog', { name: 'Log in' });
    await forum.endSessions('bob');
    await hand(page, 'paste', await picture());
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.locator('.problem', { hasText: 'boat.png could not be uploaded.' }).waitFor();
    expect(await text(page).inputValue()).toBe('');
    await page.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByLabel('Username or e-mail').fill('bob');
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Log in' }).click();
    await expect.poll(() => text(page).inputValue()).toMatch(SHOWN);
    await page.context().close();
  });

  test('is given an alternative text where it was added, which updates the text', async () => {
    const page = await write(6);
    await hand(page, 'paste', await picture());
    await expect.poll(() => text(page).inputValue()).toMatch(SHOWN);
    const field = page.getByLabel('Alternative text for boat.png');
    expect(await field.inputValue()).toBe('boat');
    await field.fill('A [red] hull');
    await expect.poll(() => text(page).inputValue()).toMatch(/^!\[A \\\[red\\\] hull\]\(\/uploads\/.+\/boat\.png\)\n$/);
    expect(await judge(page)).toEqual([]);
    // A picture removed from the text has no description field until it is back.
    const written = await text(page).inputValue();
    await text(page).fill('No picture');
    expect(await field.count()).toBe(0);
    await text(page).fill(written);
    expect(await field.inputValue()).toBe('A [red] hull');
    await page.evaluate(`document.querySelector('x-composer textarea').form.reset()`);
    expect(await field.count()).toBe(0);
    await page.context().close();
  });

  test.each([['light', 1280], ...inFull(['dark', 320] as const)] as const)(
    'can be reordered by buttons, %s at %i pixels',
    async (colorScheme, width) => {
      const page = await forum.open('mia', { colorScheme, viewport: { width, height: 900 } });
      const said = listen(page);
      await page.goto('/d/8/reply');
      await page.getByRole('button', { name: 'Add pictures or files' }).waitFor();
      await page.evaluate('localStorage.clear()');
      await text(page).fill('');
      const input = page.locator('x-upload input[type="file"]');
      const names = async (): Promise<readonly (string | undefined)[]> =>
        [...(await text(page).inputValue()).matchAll(/\/([a-z]+\.\w+)\)/g)].map(([, name]) => name);
      const buffer = await picture();
      await input.setInputFiles({ name: 'bow.png', mimeType: 'image/png', buffer });
      await expect.poll(names).toEqual(['bow.png']);
      expect(await page.getByRole('button', { name: 'Move bow.png up' }).isVisible()).toBe(false);
      await text(page).press('Control+End');
      await input.setInputFiles({ name: 'oars.txt', mimeType: 'text/plain', buffer: Buffer.from('Two.') });
      await expect.poll(names).toEqual(['bow.png', 'oars.txt']);
      await text(page).press('Control+End');
      await input.setInputFiles({ name: 'stern.png', mimeType: 'image/png', buffer });
      await expect.poll(names).toEqual(['bow.png', 'oars.txt', 'stern.png']);
      await page.getByLabel('Alternative text for stern.png').fill('The [old] stern');
      const up = page.getByRole('button', { name: 'Move stern.png up' });
      await up.focus();
      await page.keyboard.press('Enter');
      expect(await names()).toEqual(['bow.png', 'stern.png', 'oars.txt']);
      expect(await page.locator('#announcer').textContent()).toBe('stern.png is number 2 of 3 now.');
      await page.keyboard.press('Enter');
      await page.keyboard.press('Enter');
      expect(await names()).toEqual(['stern.png', 'bow.png', 'oars.txt']);
      expect(await up.evaluate('document.activeElement.ariaLabel')).toBe('Move stern.png up');
      expect(await text(page).inputValue()).toMatch(
        /^!\[The \\\[old\\\] stern\]\([^)]*\)\n!\[bow\]\([^)]*\)\n\[oars\.txt\]/,
      );
      await page.getByRole('button', { name: 'Move bow.png down' }).click();
      expect(await names()).toEqual(['stern.png', 'oars.txt', 'bow.png']);
      expect(
        await page
          .locator('.upload-row button:first-of-type')
          .evaluateAll((all: any[]) => all.map((one) => one.ariaLabel)),
      ).toEqual(['Move stern.png up', 'Move oars.txt up', 'Move bow.png up']);
      expect(await judge(page)).toEqual([]);
      expect(await movesSideways(page)).toBe(false);
      expect(said).toEqual([]);
      await page.context().close();
    },
  );

  test.runIf(FULL)('is described and moved in place in a post that is edited', async () => {
    const bob = forum.app.client();
    await bob.login('bob', PASSWORD);
    const buffer = await picture();
    const paths = await Promise.all(
      ['bow & beam.png', 'stern.png'].map(async (name) => {
        const body = new FormData();
        body.append('file', new Blob([new Uint8Array(buffer)]), name);
        const { upload } = (await bob.request('POST', '/api/uploads', { body })).body as { upload: { url: string } };
        return new URL(upload.url).pathname;
      }),
    );
    const content = `![The \\[new\\] bow](${paths[0]})\n\nBetween.\n\n![stern](${paths[1]})\n\n[a](/uploads/%zz)`;
    const { id: discussion } = (await bob.get('/api/discussions/8')).body.discussion as { id: string };
    const { body } = await bob.post('/api/posts', { discussion_id: discussion, content });
    const page = await forum.open('bob');
    const said = listen(page);
    await page.goto(`/p/${body.post.id as string}/edit`);
    const shows = page.locator('.upload-description input');
    await shows.nth(1).waitFor();
    expect(await shows.evaluateAll((all: any[]) => all.map(({ value }) => value))).toEqual(['The [new] bow', 'stern']);
    await shows.first().fill('The *old* bow');
    await page.getByRole('button', { name: 'Move stern.png up' }).click();
    expect(await text(page).inputValue()).toBe(
      `![stern](${paths[1]})\n\nBetween.\n\n![The \\*old\\* bow](${paths[0]})\n\n[a](/uploads/%zz)`,
    );
    expect(said).toEqual([]);
    await page.context().close();
  });

  test('can be uploaded again after a network error', async () => {
    const page = await write(7);
    await page.route('**/api/uploads', (route) => route.abort());
    await hand(page, 'paste', await picture());
    const again = page.locator('x-upload .problem', { hasText: 'boat.png could not be uploaded.' }).getByRole('button');
    await again.waitFor();
    expect(await text(page).inputValue()).not.toContain('boat');
    await page.unroute('**/api/uploads');
    await again.click();
    await expect.poll(() => text(page).inputValue()).toMatch(/!\[boat\]\(\/uploads\//);
    expect(await page.locator('x-upload .problem').count()).toBe(0);
    await page.context().close();
  });

  test('is waited for before the text is sent, and can be cancelled by keyboard', async () => {
    const page = await write(8);
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/api/uploads', async (route) => {
      await held;
      await route.continue().catch(() => undefined);
    });
    await text(page).fill('Before\n');
    await hand(page, 'paste', await picture());
    await page.getByRole('button', { name: 'Cancel' }).press('Enter');
    await expect.poll(async () => (await text(page).inputValue()).trim()).toBe('Before');
    expect(await page.evaluate('document.activeElement.localName')).toBe('textarea');
    await hand(page, 'paste', await picture());
    await text(page).press('Control+Enter');
    await page.locator('.toast', { hasText: 'a file is still being uploaded' }).waitFor();
    release();
    await expect.poll(() => text(page).inputValue()).toMatch(/!\[boat\]\(\/uploads\//);
    await text(page).press('Control+Enter');
    await page.locator('.post', { hasText: 'Before' }).locator('img[alt="boat"]').waitFor();
    await page.context().close();
  });

  test('that is refused leaves no trace in the text, and the reason is shown', async () => {
    const page = await write(5);
    await text(page).fill('Before');
    await page
      .locator('x-upload input[type="file"]')
      .setInputFiles({ name: 'boat.png', mimeType: 'image/png', buffer: Buffer.from('no picture') });
    await page.locator('x-upload .problem', { hasText: 'boat.png is not a .png file' }).waitFor();
    await page
      .locator('x-upload input[type="file"]')
      .setInputFiles({ name: 'oars.exe', mimeType: 'application/octet-stream', buffer: Buffer.from('MZ') });
    const kind = page.locator('x-upload .problem', { hasText: 'oars.exe' });
    await expect.poll(() => kind.textContent()).toMatch(/^oars\.exe must end in one of: png, .*txt\.$/);
    // Retrying would fail the same way.
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect((await text(page).inputValue()).trim()).toBe('Before');
    await page
      .locator('x-upload input[type="file"]')
      .setInputFiles({ name: 'large.png', mimeType: 'image/png', buffer: Buffer.alloc(6 * 1024 ** 2) });
    await page.locator('x-upload .problem', { hasText: 'large.png is larger than 5 MiB.' }).waitFor();
    await page.context().close();
  });
});

test('without JavaScript there is a page with an upload form, and the Markdown to copy', async () => {
  const page = await forum.open('bob', { javaScriptEnabled: false });
  await page.goto('/d/1/reply');
  await page.goto((await page.getByRole('link', { name: 'Upload a file and copy its address' }).getAttribute('href'))!);
  await page
    .getByLabel('File', { exact: true })
    .setInputFiles({ name: 'boat.png', mimeType: 'image/png', buffer: await picture() });
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.getByText('boat.png is uploaded.').waitFor();
  expect(await page.getByLabel('Markdown of boat.png').first().inputValue()).toMatch(/^!\[boat\]\(/);
  await page.context().close();
});
