import { afterEach, describe, expect, test } from 'vitest';
import { Settings } from 'parley-forum';
import { expectStatus, useForum } from '../discussions/forum.ts';

const forum = useForum();
const settings = () => forum.app.app.service(Settings);
const ALL = ['guidelines', 'help', 'privacy', 'terms', 'imprint'];
const asJson = (path: string, language = 'en') =>
  forum.guest.request('GET', path, { headers: { accept: 'application/json', 'accept-language': language } });
/** Paths of site pages linked in the footer. */
async function linked(): Promise<readonly string[]> {
  const { text } = await forum.guest.get('/categories');
  const foot = text.slice(text.indexOf('<footer class="foot"'));
  return ALL.filter((name) => foot.includes(`href="/${name}"`));
}

afterEach(() =>
  settings().set({
    'site-pages.shown': ALL,
    ...Object.fromEntries(ALL.map((name) => [`site-pages.${name}`, ''])),
  }),
);

describe('a site page', () => {
  test.each([
    ['guidelines', 'Guidelines', 'Talk to each other', 'Redet miteinander'],
    ['help', 'Help', 'You write', 'Du schreibst'],
    ['privacy', 'Privacy', 'What is stored', 'Was gespeichert wird'],
  ])('%s has a default text in the reader’s language', async (name, title, english, german) => {
    const { text } = expectStatus(await forum.guest.get(`/${name}`), 200);
    expect(text).toContain(`<h1>${title}</h1>`);
    expect(text).toContain(english);
    expect(text).toMatch(new RegExp(`<link rel="canonical" href="[^"]+/${name}">`));
    expect((await asJson(`/${name}`, 'de')).body.page.content).toContain(german);
  });

  test('shows the administrator’s text instead, in any language', async () => {
    const saved = await forum.as.root.submit('/admin/settings/save', {
      _group: 'site-pages',
      'site-pages.guidelines': '# First\n\nBe **kind**. <script>alert(1)</script>',
    });
    expectStatus(saved, 303);
    const { text } = await forum.guest.get('/guidelines');
    expect(text).toContain('<strong>kind</strong>');
    expect(text).toMatch(/<h2[^>]*>First<\/h2>/);
    expect(text).not.toContain('alert(1)</script>');
    expect(text).not.toContain('Talk to each other');
    const { body } = await asJson('/guidelines', 'de');
    expect(body).toMatchObject({
      success: true,
      page: { name: 'guidelines', content: expect.stringContaining('kind') },
    });
  });

  test('refuses a text that cannot be rendered', async () => {
    const huge = `${'|a'.repeat(100)}\n${'|-'.repeat(100)}\n${'|\n'.repeat(640)}`;
    const refused = await forum.as.root.post(
      '/admin/settings/save',
      { 'site-pages.help': huge },
      { accept: 'application/json' },
    );
    expect([refused.status, refused.body.details]).toEqual([
      400,
      [{ field: 'site-pages.help', message: expect.any(String) }],
    ]);
    expectStatus(await forum.guest.get('/help'), 200);
  });

  test.each(['terms', 'imprint'])('%s exists once it has a text', async (name) => {
    expect((await forum.guest.get(`/${name}`)).status).toBe(404);
    expect(await linked()).toEqual(['guidelines', 'help', 'privacy']);
    await settings().set({ [`site-pages.${name}`]: 'Harbour Street 1' });
    expect(expectStatus(await forum.guest.get(`/${name}`), 200).text).toContain('Harbour Street 1');
    expect(await linked()).toEqual(['guidelines', 'help', 'privacy', name]);
  });

  test('is removed, with its link, when an administrator hides it', async () => {
    await settings().set({ 'site-pages.shown': ['privacy'] });
    expect(await linked()).toEqual(['privacy']);
    expect((await forum.guest.get('/guidelines')).status).toBe(404);
    expect((await asJson('/help')).status).toBe(404);
  });
});

test('the registration form links to the pages that bind new members', async () => {
  const note = async (): Promise<readonly string[]> => {
    const { text } = await forum.guest.get('/register');
    const form = /<form[^>]* action="\/register"[^]*?<\/form>/.exec(text)![0];
    return ALL.filter((name) => form.includes(`href="/${name}"`));
  };
  expect(await note()).toEqual(['guidelines', 'privacy']);
  await settings().set({ 'site-pages.terms': 'Pay for what you drink.' });
  expect(await note()).toEqual(['guidelines', 'privacy', 'terms']);
  await settings().set({ 'site-pages.shown': ['help'] });
  expect(await note()).toEqual([]);
});

test('the editor links to the help page while that exists', async () => {
  const write = async (): Promise<string> => expectStatus(await forum.as.bob.get('/new'), 200).text;
  const link = /aria-describedby="f-content-help"[^]*id="f-content-help">[^<]*<a href="\/help"[^>]*>Markdown help<\/a>/;
  expect(await write()).toMatch(link);
  await settings().set({ 'site-pages.shown': ['privacy'] });
  expect(await write()).not.toContain('Markdown help');
});
