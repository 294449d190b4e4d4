import sharp from 'sharp';
import { expect, test } from 'vitest';
import { FULL, inFull } from '../kit/full.ts';
import { defined, movesSideways } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();

const TEXT = `Glue both faces[^1], says ||the *old man*||.

- [x] Plane the edge
- [ ] Clamp it *lightly*

\`\`\`ts
// Hours until the glue holds.
export const hours = (celsius: number): string => \`\${48 / Math.max(1, celsius / 10)} h\`;
\`\`\`

:::spoiler How it ends
The clamp falls off.
:::

[^1]: Twice on end grain.`;

/** Starts a discussion as ada with every kind of content; returns its path. */
async function write(): Promise<string> {
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const pictures: string[] = [];
  for (const background of ['#2a7', '#27a']) {
    const bytes = await sharp({ create: { width: 1_200, height: 700, channels: 3, background } })
      .png()
      .toBuffer();
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(bytes)]), 'boat.png');
    const { url } = (await ada.request('POST', '/api/uploads', { body: form })).body.upload as { url: string };
    pictures.push(`![Boat ${pictures.length + 1}](${new URL(url).pathname})`);
  }
  const { body } = await ada.post('/api/discussions', {
    title: 'Everything in one post',
    content: `${TEXT}\n\n${pictures.join('\n\n')}`,
    category_id: 'general',
  });
  return new URL(body.discussion.url as string).pathname;
}
let path: Promise<string> | undefined;
const written = (): Promise<string> => (path ??= write());

test.each([{ width: 320, colorScheme: 'light' }, ...inFull({ width: 1_280, colorScheme: 'dark' } as const)] as const)(
  'a post with every kind of content is accessible and fits $width px, $colorScheme',
  async ({ width, colorScheme }) => {
    const page = await forum.open('guest', { viewport: { width, height: 900 }, colorScheme });
    await page.goto(await written());
    await page.locator('x-copy button').waitFor();
    expect(await movesSideways(page)).toBe(false);
    for (const summary of await page.locator('.spoiler summary').all()) await summary.click();
    expect(await judge(page)).toEqual([]);
    await page.context().close();
  },
);

test('without JavaScript spoilers open by keyboard, footnotes link both ways, and pictures link to the original', async () => {
  const page = await forum.open('guest', { javaScriptEnabled: false });
  await page.goto(await written());
  const hidden = page.getByText('old man');
  expect(await hidden.isVisible()).toBe(false);
  await page.locator('.spoiler summary').first().press('Enter');
  expect(await hidden.isVisible()).toBe(true);
  await page.locator('a.footnote').click();
  await page.waitForURL(/#fn-/);
  await page.locator('a.footnote-back').click();
  await page.waitForURL(/#fnref-/);
  expect(await page.getByRole('checkbox', { name: 'Plane the edge' }).isChecked()).toBe(true);
  expect(await page.locator('figure.code').textContent()).toMatch(/^TypeScript/);
  const [file] = await Promise.all([
    page.waitForResponse(/\/uploads\/[^/]+\/boat\.png$/),
    page.locator('a.picture').first().click(),
  ]);
  expect(file.status()).toBe(200);
  await page.context().close();
});

test('code is copied exactly as written', async () => {
  const page = await forum.open('guest', { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto(await written());
  await page.locator('x-copy button').click();
  await page.getByRole('button', { name: 'Copied' }).waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(/```ts\n([^]*?)```/.exec(TEXT)![1]);
  await page.context().close();
});

test.runIf(FULL)(
  'right-to-left text does not reorder code, and footnotes in it leave space for their numbers',
  async () => {
    const ada = forum.app.client();
    await ada.login('ada', PASSWORD);
    const content = 'Noted[^1].\n\n```js\nconst name = "שלום"; // تعليق\n```\n\n[^1]: ملاحظة';
    const { discussion } = (await ada.post('/api/discussions', { title: 'Both ways', content, category_id: 'general' }))
      .body;
    const page = await forum.open('guest');
    await page.goto(`/d/${discussion.number}`);
    const places = await page.evaluate<{ code: readonly number[]; note: number }>(`(() => {
    const box = (selector) => document.querySelector(selector).getBoundingClientRect();
    const word = document.createRange();
    const { firstChild } = document.querySelector('.code-string');
    word.setStart(firstChild, 1);
    word.setEnd(firstChild, 5);
    const code = [box('.code-keyword'), word.getBoundingClientRect(), box('.code-comment')].map(({ left }) => left);
    return { code, note: box('.prose').right - box('.footnotes li').right };
  })()`);
    expect(places.code).toEqual(places.code.toSorted((a, b) => a - b));
    expect(places.note).toBeGreaterThan(16);
    await page.context().close();
  },
);

test('pictures open in a viewer, one after another, by keyboard', async () => {
  const page = await forum.open('guest');
  await page.goto(await written());
  const viewer = page.getByRole('dialog', { name: 'Pictures' });
  const first = page.locator('a.picture').first();
  await first.scrollIntoViewIfNeeded();
  await expect
    .poll(async () => {
      if (!(await viewer.isVisible())) await first.press('Enter');
      return viewer.isVisible();
    })
    .toBe(true);
  await viewer.getByRole('img', { name: 'Boat 1' }).waitFor();
  await page.keyboard.press('ArrowRight');
  await viewer.getByRole('img', { name: 'Boat 2' }).waitFor();
  expect(await viewer.getByRole('status').textContent()).toBe('2 / 2');
  await page.keyboard.press('+');
  await viewer.getByRole('button', { name: 'Fit the window' }).waitFor();
  expect(await judge(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await viewer.waitFor({ state: 'hidden' });
  await expect
    .poll(() => page.evaluate(`document.activeElement === document.querySelectorAll('a.picture')[1]`))
    .toBe(true);
  await page.context().close();
});

test('the link to a post is copied from its menu if the device has no share dialog', async () => {
  const page = await forum.open('ada', { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto('/d/1');
  await page.evaluate(`delete Navigator.prototype.canShare`);
  await defined(page, 'x-posts');
  await page.getByRole('link', { name: 'More about post 2', exact: true }).press('Enter');
  const share = page.locator('.menu:popover-open').getByRole('link', { name: 'Share' });
  const address = `${forum.url}/d/1/2#post-2`;
  expect(new URL((await share.getAttribute('href'))!, forum.url).href).toBe(address);
  await share.press('Enter');
  await page.getByText('Link copied.').first().waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(address);
  // Like any other entry, it closes the menu.
  expect(await share.isVisible()).toBe(false);
  expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('More about post 2');
  await page.context().close();
});

test('a guest copies the link to a post at its foot, and with the key for the post', async () => {
  const page = await forum.open('guest', { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto('/d/1');
  await page.evaluate(`delete Navigator.prototype.canShare`);
  const copied = () => page.evaluate('navigator.clipboard.readText()');
  await page.getByRole('link', { name: 'Share post 3', exact: true }).click();
  await expect.poll(copied).toBe(`${forum.url}/d/1/3#post-3`);
  await page.locator('#post-2').evaluate((post) => ((post.tabIndex = -1), post.focus()));
  await page.keyboard.press('l');
  await expect.poll(copied).toBe(`${forum.url}/d/1/2#post-2`);
  await page.keyboard.press('s');
  await expect.poll(copied).toBe(`${forum.url}/d/1`);
  await page.reload();
  expect(await judge(page)).toEqual([]);
  await page.context().close();
});

test('if the browser refuses to copy a link, the page reports it and shows the link', async () => {
  const page = await forum.open('ada');
  await page.goto('/d/1');
  await page.evaluate(
    `delete Navigator.prototype.canShare; navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))`,
  );
  await defined(page, 'x-posts');
  await page.getByRole('link', { name: 'More about post 2', exact: true }).press('Enter');
  await page.locator('.menu:popover-open').getByRole('link', { name: 'Share' }).press('Enter');
  await page.getByText(`The browser does not allow copying. The link is ${forum.url}/d/1/2#post-2`).first().waitFor();
  expect(await page.getByRole('link', { name: 'More about post 2', exact: true }).isVisible()).toBe(true);
  await page.context().close();
});

test('a post by an ignored member is collapsed, and can be opened without JavaScript', async () => {
  const ada = forum.app.client();
  await ada.login('ada', PASSWORD);
  const { discussion } = (
    await ada.post('/api/discussions', { title: 'Folded', content: 'Said by ada', category_id: 'general' })
  ).body;
  const page = await forum.open('bob', { javaScriptEnabled: false });
  await page.goto(`/d/${discussion.number}`);
  await page.goto((await page.locator('[data-menu]').first().getAttribute('href'))!);
  await page.getByRole('button', { name: 'Ignore ada', exact: true }).click();
  const text = page.getByText('Said by ada');
  expect(await text.isVisible()).toBe(false);
  expect(new URL(page.url()).pathname).toContain(`/d/${discussion.number}-`);
  await page.getByText('Post by ada, whom you ignore').click();
  expect(await text.isVisible()).toBe(true);
  await page.context().close();
  const scripted = await forum.open('bob');
  await scripted.goto(`/d/${discussion.number}`);
  expect(await judge(scripted)).toEqual([]);
  await scripted.context().close();
});
