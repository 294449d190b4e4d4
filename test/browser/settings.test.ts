import { expect, test } from 'vitest';
import { inFull } from '../kit/full.ts';
import { movesSideways } from './checks.ts';
import { useForum } from './forum.ts';
import { judge } from './look.ts';

const forum = useForum();

test.each([[320, 'dark', true], ...inFull([1280, 'light', true] as const), [320, 'light', false]] as const)(
  'a setting is found by search and shown on its page, at %i pixels in %s colours, JavaScript: %s',
  async (width, colorScheme, script) => {
    const page = await forum.open('root', {
      viewport: { width, height: 800 },
      colorScheme,
      javaScriptEnabled: script,
    });
    // The accessibility check runs in the page and requires JavaScript.
    const good = async (): Promise<void> =>
      expect([await movesSideways(page), script ? await judge(page) : []]).toEqual([false, []]);
    await page.goto('/admin/settings');
    const search = page.getByRole('search', { name: 'Find a page or a setting' });
    const find = async (words: string): Promise<void> => {
      await search.getByRole('searchbox').fill(words);
      await search.getByRole('searchbox').press('Enter');
    };
    await find('no such thing');
    await page.getByRole('heading', { name: 'No matching pages or settings' }).waitFor();
    await good();
    await find('suggestions a minute');
    const link = page.getByRole('link', { name: 'Suggestions a minute' });
    await link.waitFor();
    await good();
    await link.click();
    const field = page.getByLabel('Suggestions a minute');
    await expect.poll(() => field.evaluate((input) => input.matches(':target'))).toBe(true);
    expect((await field.boundingBox())!.y).toBeGreaterThan(0);
    expect((await field.boundingBox())!.y).toBeLessThan(800);
    await good();
    await page.context().close();
  },
);
