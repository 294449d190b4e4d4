import { describe, expect, test } from 'vitest';
import type { Answer, Client } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';

const forum = useForum();
const GERMAN = { 'Accept-Language': 'de-AT,de;q=0.9,en;q=0.5' };

const languageOf = (text: string): string | undefined => /<html lang="([^"]*)"/.exec(text)?.[1];
const titleOf = (text: string): string | undefined => /<title>([^<]*)/.exec(text)?.[1];

/** The page that an answer leads to. */
async function follow(client: Client, { headers, text }: Answer): Promise<string> {
  const location = headers.get('location');
  if (location === null) return text;
  const { pathname, search } = new URL(location, 'http://forum.test');
  return follow(client, await client.get(pathname + search));
}

describe('a guest', () => {
  test('reads pages as the browser asks, what plugins put into them as well, whoever had them before', async () => {
    for (const how of ['made', 'kept']) {
      const german = expectStatus(await forum.guest.get('/', GERMAN), 200).text;
      expect([languageOf(german), titleOf(german)], how).toEqual(['de', 'Diskussionen · Test forum']);
      // The field is a slot's, the row of links a template's.
      expect(german).toContain('placeholder="Das Forum durchsuchen"');
      expect(german).not.toMatch(/>(Search|Discussions|Categories|Log in|Sign up)</);
      const english = expectStatus(await forum.guest.get('/'), 200).text;
      expect([languageOf(english), titleOf(english)]).toEqual(['en', 'Discussions · Test forum']);
    }
  });

  test('chooses another language than the browser asks for, and takes it back', async () => {
    const guest = forum.app.client();
    const shown = async (): Promise<string | undefined> => languageOf((await guest.get('/')).text);
    await guest.submit('/appearance', { language: 'de' });
    expect(await shown()).toBe('de');
    const settings = (await guest.get('/settings/appearance')).text;
    expect(settings).toContain('<option value="de" selected>Deutsch</option>');
    await guest.submit('/appearance', { scheme: 'dark' });
    expect(await shown()).toBe('de');
    await guest.submit('/appearance', { language: '' });
    expect(await shown()).toBe('en');
  });

  test.each(['tlh', 'de; path=/x', '../de'])(
    'who chooses what is not offered, "%s", has what the browser asks for',
    async (language) => {
      const guest = forum.app.client();
      expect((await guest.submit('/appearance', { language })).status).toBe(303);
      expect(languageOf((await guest.get('/', GERMAN)).text)).toBe('de');
      expect(languageOf((await guest.get('/')).text)).toBe('en');
    },
  );
});

describe('a member', () => {
  test('reads notices, titles with names in them and menus in the language that they chose', async () => {
    const { ada } = forum.as;
    const { number, id } = await forum.start('ada', 'Title: “quoted”');
    await ada.submit('/appearance', { language: 'de' });
    const replied = await ada.submit(`/d/${number}/reply`, { content: 'A reply' });
    const page = await follow(ada, replied);
    expect(page).toContain('Deine Antwort hat die Nummer 2.');
    expect(titleOf(page)).toContain('Title: “quoted”');
    expect(titleOf((await ada.get(`/d/${number}/reply`)).text)).toBe('Antwort auf „Title: “quoted”“ · Test forum');
    const post = await forum.reply('ada', id, 'Another');
    expect((await ada.get(`/p/${post.id}/delete`)).text).toContain('<h1>Diesen Beitrag löschen?</h1>');
    expect((await ada.get('/settings/security')).text).toMatch(/aria-current="page">Sicherheit</);
    await ada.submit('/appearance', { language: '' });
    expect((await ada.get('/settings/security')).text).toMatch(/aria-current="page">Security</);
  });

  test('is told what is wrong with a form in that language', async () => {
    const guest = forum.app.client();
    await guest.submit('/appearance', { language: 'de' });
    const refused = await guest.submit('/register', { username: 'x', email: 'x', password: 'short' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('mindestens');
    expect(refused.text).not.toMatch(/must have|is not an e-mail/);
  });
});

test('the API and mails keep to the language of the site, whoever asks first', async () => {
  await forum.start('ada', 'Listed in one language');
  const german = expectStatus(await forum.guest.get('/api/discussions?limit=3', GERMAN), 200).body.html;
  const english = expectStatus(await forum.guest.get('/api/discussions?limit=3'), 200).body.html;
  expect(german).toBe(english);
  expect(german).toContain('replies');
});

test('what the API refuses is said to a page in its reader’s language, and to programs in English', async () => {
  const ask = async (headers: Readonly<Record<string, string>>) =>
    (await forum.guest.get('/api/posts/none', { ...GERMAN, ...headers })).body as { error: string; code: string };
  const [page, program] = [await ask({ 'Sec-Fetch-Site': 'same-origin' }), await ask({})];
  expect([page.code, program.code]).toEqual(['not_found', 'not_found']);
  expect(program.error).toBe('Not found');
  expect(page.error).toBe('Nicht gefunden');
});

test('what plugins put into a list that is kept for all is in the language of the site, too', async () => {
  const { ada, bob, root } = forum.as;
  const { id, name } = expectStatus(await forum.guest.get('/api/categories/help'), 200).body.category;
  await root.csrf('/admin/categories');
  const saved = await root.post(
    '/admin/categories/save',
    { id, name, asks_for_answers: true },
    { accept: 'application/json' },
  );
  expectStatus(saved, 200);
  const question = await forum.start('ada', 'Solved in one language', 'help');
  const { body } = expectStatus(await bob.post('/api/posts', { discussion_id: question.id, content: 'So' }), 201);
  expectStatus(await ada.put(`/api/discussions/${question.id}/answer`, { post_id: body.post.id }), 200);

  const german = expectStatus(await forum.guest.get('/api/discussions?limit=4', GERMAN), 200).body.html;
  expect(german).toContain('Solved</span>');
  expect(expectStatus(await forum.guest.get('/api/discussions?limit=4'), 200).body.html).toBe(german);
  expect(expectStatus(await forum.guest.get('/', GERMAN), 200).text).toContain('Gelöst</span>');
});
