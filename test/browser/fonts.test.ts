import { mkdtemp, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { movesSideways, settle, spaceText } from './checks.ts';
import { useForum } from './forum.ts';
import { openBrowser } from './look.ts';

const forum = useForum();
/**
 * A font a fifth wider than Noto, which is used for every page elsewhere: if both are installed, fontconfig prefers
 * Noto.
 */
const DEJAVU = '/usr/share/fonts/truetype/dejavu';
const PAGES = [
  '/',
  '/categories',
  '/d/1',
  '/new',
  '/search?q=bilge',
  '/tags',
  '/u/ada',
  '/notifications',
  '/settings/profile',
  '/settings/security',
  '/settings/notifications',
  '/mod',
  '/mod/log',
  '/mod/reports',
  '/mod/approval',
  '/admin',
  '/admin/audit',
  '/admin/categories',
  '/admin/jobs',
  '/admin/plugins',
  '/admin/settings',
  '/admin/statistics',
  '/admin/users',
  '/admin/webhooks',
];

test('no page overflows or cuts off text if only DejaVu is installed', async () => {
  expect(existsSync(DEJAVU), DEJAVU).toBe(true);
  const place = await mkdtemp(join(tmpdir(), 'parley-fonts-'));
  const file = join(place, 'fonts.conf');
  await writeFile(
    file,
    `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${DEJAVU}</dir><cachedir>${join(place, 'cache')}</cachedir></fontconfig>`,
  );
  const known = await forum.open('root');
  await using browser = await openBrowser({
    env: { ...process.env, FONTCONFIG_FILE: file } as Record<string, string>,
  });
  const storageState = await known.context().storageState();
  const context = await browser.newContext({
    baseURL: forum.url,
    locale: 'en',
    storageState,
    viewport: { width: 320, height: 700 },
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const found: string[] = [];
  for (const path of PAGES) {
    await page.goto(path);
    await settle(page);
    if (await movesSideways(page)) found.push(`${path}: moves sideways`);
    found.push(...(await spaceText(page)).map((one) => `${path}, with wide spacing: ${one}`));
  }
  await known.context().close();
  expect(found).toEqual([]);
}, 300_000);
