import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { defined } from './checks.ts';
import { useForum } from './forum.ts';

const forum = useForum();

/** A page of bob's, and each prompt before leaving it, which is always accepted. */
async function open(path: string): Promise<{ readonly page: Page; readonly asked: string[] }> {
  const page = await forum.open('bob');
  const asked: string[] = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.type());
    void dialog.accept();
  });
  await page.goto(path);
  return { page, asked };
}
/** The URL of the form that reports the first post. */
async function report(): Promise<string> {
  const { posts } = (await forum.app.client().get('/api/discussions/1/posts')).body;
  return `/p/${posts[0].id}/report`;
}

describe('leaving a page', () => {
  test('is confirmed while it has unsaved text, and no longer once it is sent', async () => {
    const { page, asked } = await open(await report());
    const note = page.getByRole('textbox', { name: 'What should the moderators know?' });
    await note.focus();
    await defined(page, 'x-leaving');
    await note.pressSequentially('Three times');
    await page.goto('/');
    expect(asked).toEqual(['beforeunload']);
    await page.goto(await report());
    await page.getByRole('radio').first().check();
    await page.getByRole('textbox', { name: 'What should the moderators know?' }).pressSequentially('Three times');
    await defined(page, 'x-leaving');
    await page.getByRole('main').getByRole('button', { name: 'Send report' }).click();
    await page.waitForURL('**/d/1**');
    await page.goto('/');
    expect(asked).toEqual(['beforeunload']);
    await page.context().close();
  });

  test('is not confirmed if nothing was written, or it was deleted again', async () => {
    const { page, asked } = await open(await report());
    const note = page.getByRole('textbox', { name: 'What should the moderators know?' });
    await note.pressSequentially('x');
    await defined(page, 'x-leaving');
    await note.press('Backspace');
    await page.goto('/');
    expect(asked).toEqual([]);
    await page.context().close();
  });

  test.each(['/new', '/d/1/reply'])('is not confirmed at %s, where a draft is saved', async (path) => {
    const { page, asked } = await open(path);
    await defined(page, 'x-composer');
    await page.getByLabel('Your text').pressSequentially('Kept by itself');
    await defined(page, 'x-leaving');
    await page.goto('/');
    expect(asked).toEqual([]);
    await page.context().close();
  });
});
