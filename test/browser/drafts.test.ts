import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { FULL, inFull } from '../kit/full.ts';
import { defined, listen, movesSideways } from './checks.ts';
import { PASSWORD, useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();
const area = (page: Page): Locator => page.getByLabel('Your text');
const line = (page: Page): Locator => page.locator('.composer-state');

/** A device of bob's, with its own storage. */
const device = (): Promise<Page> => forum.open('bob');
async function open(page: Page, path = '/d/1/reply'): Promise<void> {
  await page.goto(path);
  await page.locator('.composer-bar').waitFor();
  await defined(page, 'x-draft');
}
let bob: Client | undefined;
/** The drafts on the server, by kind of form. */
async function kept(): Promise<Record<string, any>> {
  if (!bob) await (bob = forum.app.client()).login('bob', PASSWORD);
  const { drafts } = (await bob.get('/api/drafts')).body as { drafts: readonly { key: string; fields: object }[] };
  return Object.fromEntries(drafts.map(({ key, fields }) => [key.replace(/-.*/, ''), fields]));
}
const untilKept = async (content: string): Promise<void> => {
  await expect.poll(async () => (await kept())['reply']?.content, { timeout: 15_000 }).toBe(content);
};

test.runIf(FULL)(
  'a draft written on one device is available on another, and deleted everywhere once it is sent',
  async () => {
    const [first, second] = [await device(), await device()];
    const heard = [...listen(first), ...listen(second)];
    await open(first);
    await area(first).pressSequentially('Begun on the train');
    await untilKept('Begun on the train');
    await open(second);
    await expect.poll(() => area(second).inputValue()).toBe('Begun on the train');
    expect(await line(second).textContent()).toMatch(/^Draft from another device \(.*\)\. Discard$/);
    await area(second).press('Control+End');
    await area(second).pressSequentially(', ended at home');
    await untilKept('Begun on the train, ended at home');
    // Nothing was written there since, so the newer one wins.
    await open(first);
    await expect.poll(() => area(first).inputValue()).toBe('Begun on the train, ended at home');
    await first.getByRole('button', { name: 'Post reply' }).click();
    await first.locator('.post', { hasText: 'ended at home' }).waitFor();
    await expect.poll(kept).toEqual({});
    expect(heard).toEqual([]);
    for (const page of [first, second]) await page.context().close();
  },
);

test.runIf(FULL)('a draft stores which post it answers, across devices and in the list of drafts', async () => {
  const [first, second] = [await device(), await device()];
  const to = (page: Page) => page.getByRole('main').locator('form[action*="/reply"]').getAttribute('action');
  await open(first, '/d/1/reply?to=3');
  await area(first).pressSequentially('To the third');
  await untilKept('To the third');
  expect((await kept())['reply']).toMatchObject({ '?to': '3' });
  await open(first, '/d/1/reply');
  await expect.poll(() => area(first).inputValue()).toBe('To the third');
  expect(await to(first)).toBe('/d/1/reply?to=3');
  await first.goto('/drafts');
  await first.getByRole('main').getByRole('list', { name: 'drafts' }).getByRole('link').first().click();
  await first.waitForURL('**/d/1/reply?draft=1&to=3');
  await first.locator('.answered').getByText('post 3').waitFor();
  await second.goto('/d/1');
  await defined(second, 'x-posts');
  await second.getByText('Write a reply…').click();
  await second.locator('.dock-head').getByText('Reply to mia, post 3').waitFor();
  await second.getByRole('button', { name: 'Discard' }).click();
  await second.locator('.dock-head').getByText('Reply', { exact: true }).waitFor();
  expect(await to(second)).toBe('/d/1/reply');
  await expect.poll(kept, { timeout: 15_000 }).toEqual({});
  for (const page of [first, second]) await page.context().close();
});

test('with conflicting drafts the author chooses, and neither is lost', async () => {
  const [first, second] = [await device(), await device()];
  await open(first);
  await open(second);
  await area(first).pressSequentially('Here');
  await untilKept('Here');
  await area(second).pressSequentially('There');
  await line(second).getByText('from another device').waitFor();
  expect([await area(second).inputValue(), (await kept())['reply'].content]).toEqual(['There', 'Here']);
  await second.getByRole('button', { name: 'Restore it' }).click();
  expect(await area(second).inputValue()).toBe('Here');
  await area(second).fill('');
  await expect.poll(kept, { timeout: 15_000 }).toEqual({});
  for (const page of [first, second]) await page.context().close();
});

test.runIf(FULL)('a draft in one tab is preserved when another tab sends its own', async () => {
  const page = await device();
  await open(page);
  await area(page).pressSequentially('Shaft');
  await untilKept('Shaft');
  const other = await page.context().newPage();
  await open(other);
  await expect.poll(() => area(other).inputValue()).toBe('Shaft');
  await area(page).fill('Shaft and stern gland, for later');
  await expect.poll(() => other.evaluate('JSON.stringify(localStorage)')).toContain('for later');
  await area(other).fill('Shaft, at once');
  await other.getByRole('button', { name: 'Post reply' }).click();
  await other.locator('.post', { hasText: 'Shaft, at once' }).waitFor();
  await expect.poll(() => page.evaluate('JSON.stringify(localStorage)'), { timeout: 5_000 }).toContain('for later');
  await open(page);
  await expect.poll(() => area(page).inputValue()).toBe('Shaft and stern gland, for later');
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect.poll(kept).toEqual({});
  await page.context().close();
});

test.runIf(FULL)('text written before the draft module has loaded is saved as well', async () => {
  const page = await device();
  const late = Promise.withResolvers<void>();
  await page.route(/x-draft[^/]*\.js/, async (route) => {
    await late.promise;
    await route.continue();
  });
  await page.goto('/d/3/reply');
  await page.locator('.composer-bar').waitFor();
  await area(page).pressSequentially('Early');
  await page.getByText(/^Saved \d/).waitFor();
  expect(await page.locator('x-draft:defined').count()).toBe(0);
  late.resolve();
  await untilKept('Early');
  await area(page).fill('');
  await expect.poll(kept, { timeout: 15_000 }).toEqual({});
  await page.context().close();
});

test.runIf(FULL)(
  'the time of the last save is shown, even if the server prefilled the form, until it is discarded',
  async () => {
    const page = await device();
    await open(page, '/d/4/reply');
    await area(page).pressSequentially('First');
    await line(page)
      .getByText(/^Saved \d/)
      .waitFor();
    expect(await line(page).textContent()).toMatch(/^Saved \d\d?:\d\d( [AP]M)? Discard$/);
    await untilKept('First');
    const other = await device();
    await open(other, '/d/4/reply?draft=1');
    await line(other)
      .getByText(/^Saved \d/)
      .waitFor();
    expect(await area(other).inputValue()).toBe('First');
    await other.getByRole('button', { name: 'Discard' }).click();
    await other.waitForURL('**/d/4/reply');
    await defined(other, 'x-draft');
    expect([await area(other).inputValue(), await kept()]).toEqual(['', {}]);
    for (const one of [page, other]) await one.context().close();
  },
);

test('leaving a page at once preserves its whole form', async () => {
  const page = await device();
  await open(page, '/new');
  await page.getByLabel('Title').fill('Which varnish');
  await page.getByLabel('Tags').fill('oak');
  await page.getByRole('radio', { name: 'General' }).check();
  await area(page).pressSequentially('Holds best?');
  await page.goto('/drafts');
  await expect
    .poll(async () => (await kept())['new'])
    .toMatchObject({ title: 'Which varnish', tags: 'oak', content: 'Holds best?' });
  await page.reload();
  await page.getByRole('link', { name: 'Which varnish' }).click();
  await expect
    .poll(async () => [await area(page).inputValue(), await page.getByLabel('Tags').inputValue()])
    .toEqual(['Holds best?', 'oak']);
  await expect.poll(() => page.getByRole('radio', { name: 'General' }).isChecked()).toBe(true);
  await page.getByRole('button', { name: 'Discard' }).click();
  await expect.poll(kept).toEqual({});
  await page.context().close();
});

test.each([320, ...inFull(1280)])('the list of drafts is accessible at %i pixels', async (width) => {
  await kept();
  const { id } = (await bob!.get('/api/discussions/3')).body.discussion as { id: string };
  await bob!.put('/api/drafts/new', {
    fields: { title: 'A long title that goes on and on until it wraps', content: 'x '.repeat(200) },
  });
  await bob!.put(`/api/drafts/reply-${id}`, { fields: { content: 'Short' } });
  const page = await forum.open('bob', { viewport: { width, height: 800 } });
  await page.goto('/drafts');
  expect(await judge(page)).toEqual([]);
  expect(await movesSideways(page)).toBe(false);
  await page.getByRole('button', { name: /^Discard the draft “A long/ }).click();
  await page.getByText('Draft discarded.').waitFor();
  expect(Object.keys(await kept())).toEqual(['reply']);
  await page.context().close();
});
