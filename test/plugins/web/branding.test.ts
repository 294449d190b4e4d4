import { describe, expect, test } from 'vitest';
import { useForum } from '../discussions/forum.ts';

const forum = useForum();
const set = (values: Readonly<Record<string, string>>): Promise<unknown> => forum.app.app.settings.set(values);
const page = async (): Promise<string> => (await forum.guest.get('/')).text;
const hrefs = (html: string, rel: string): readonly string[] =>
  [...html.matchAll(/<link rel="([^"]+)" href="([^"]+)"/g)].flatMap(([, is, href]) => (is === rel ? [href!] : []));
const manifest = async () => {
  const answer = await forum.guest.get(hrefs(await page(), 'manifest')[0]!);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/manifest+json']);
  return JSON.parse(answer.text) as { readonly icons: readonly { readonly src: string }[] };
};

describe('the web app manifest', () => {
  test('has the name and description of the forum, and the theme’s icon', async () => {
    await set({ 'site.name': 'The Slipway', 'site.description': 'About boats.' });
    const { icons, ...rest } = await manifest();
    expect(rest).toMatchObject({ id: '/', start_url: '/', name: 'The Slipway', description: 'About boats.' });
    expect((await forum.guest.get(icons[0]!.src)).headers.get('content-type')).toBe('image/svg+xml');
  });
});

describe('the site icon', () => {
  test('is shown in the header, in the tab and on home screens', async () => {
    expect(await page()).toContain('<span class="brand-mark" aria-hidden="true">T</span>');
    await set({ 'site.icon': '/uploads/1/our-boat.png' });
    const html = await page();
    expect(html).toMatch(/<img class="brand-icon" src="\/uploads\/1\/our-boat\.png" alt=""/);
    for (const rel of ['icon', 'apple-touch-icon']) expect(hrefs(html, rel)).toEqual(['/uploads/1/our-boat.png']);
    expect((await manifest()).icons).toEqual([{ src: '/uploads/1/our-boat.png', sizes: 'any' }]);
    await set({ 'site.icon': '' });
    expect(hrefs(await page(), 'apple-touch-icon')).toEqual([]);
  });

  test.each(['//elsewhere/a.png', 'https://elsewhere/a.png', 'javascript:alert(1)', 'a.png', '/a b.png'])(
    'must be on this site: %s is refused',
    async (icon) => {
      await expect(set({ 'site.icon': icon })).rejects.toThrow('site.icon');
    },
  );
});

describe('the accent colour', () => {
  const accent = async (): Promise<string | undefined> => {
    const sheet = hrefs(await page(), 'stylesheet').find((href) => href.endsWith('tokens.css'))!;
    return /--accent:light-dark\(([^)]*\))/.exec((await forum.guest.get(sheet)).text)?.[1];
  };

  test('is the site’s own if set, otherwise the theme’s', async () => {
    const own = await accent();
    await set({ 'site.accent': '#8a1538' });
    expect(await accent()).toBe('oklch(41.57% .1506 10.5)');
    await set({ 'site.accent': '' });
    expect(await accent()).toBe(own);
  });

  test.each(['red', '#abc', '#8a1538;} body{display:none', 'oklch(50% .1 20)'])('cannot be %s', async (colour) => {
    await expect(set({ 'site.accent': colour })).rejects.toThrow('site.accent');
  });
});
