import { beforeAll, describe, expect, test, vi } from 'vitest';
import { Accounts } from 'parley-forum/plugins/accounts';
import { expectStatus, PASSWORD, useForum, type Name } from '../discussions/forum.ts';
import { mailsOf } from '../mail/forum.ts';

/** Members choose a language and a time zone, which belong to their accounts. */
const forum = useForum({ 'site.timezone': 'Europe/Lisbon', 'security.bind_fingerprint': false });
const GERMAN = { 'Accept-Language': 'de' };
const languageOf = (text: string): string | undefined => /<html lang="([^"]*)"/.exec(text)?.[1];
const choose = (name: Name, language: string, timezone: string) =>
  forum.as[name].submit('/settings/language', { language, timezone });
/** The exact time of the first post on a page, next to its relative time. */
const titleOf = async (name: Name, path: string): Promise<string | undefined> =>
  /<time [^>]*title="([^"]*)"/.exec((await forum.as[name].get(path)).text)?.[1];

let path = '';
beforeAll(async () => {
  const { number } = await forum.start('ada', 'What time is it');
  path = (await forum.as.ada.get(`/d/${number}`)).headers.get('location') ?? '';
});

describe('a language', () => {
  test('that a member chose is used on their pages, on any device', async () => {
    const page = (await forum.as.ada.get('/settings/language')).text;
    expect(page).toContain('<option value="de">Deutsch</option>');
    expect((await choose('ada', 'de', '')).headers.get('location')).toBe('/settings/language');
    expect((await forum.as.ada.get('/settings/language')).text).toContain('Sprache und Zeitzone sind gespeichert.');
    const elsewhere = forum.app.client();
    await elsewhere.login('ada', PASSWORD);
    for (const client of [forum.as.ada, elsewhere])
      expect(languageOf((await client.get('/', { 'Accept-Language': 'en' })).text)).toBe('de');
    expect(languageOf((await forum.as.bob.get('/')).text)).toBe('en');
    expect((await forum.as.ada.get('/settings/language')).text).toContain('<option value="de" selected>');
  });

  test('that is no longer chosen falls back to the browser’s', async () => {
    await forum.as.ada.submit('/appearance', { language: 'en' });
    await choose('ada', '', '');
    expect(languageOf((await forum.as.ada.get('/', GERMAN)).text)).toBe('de');
    expect(languageOf((await forum.as.ada.get('/')).text)).toBe('en');
  });

  test('must be available on the site', async () => {
    const refused = await choose('ada', 'tlh', 'Europe/Berlin');
    expect([refused.status, refused.text.includes('is not a language of this site')]).toEqual([400, true]);
    expect(refused.text).toContain('<option value="Europe/Berlin" selected>');
    expect((await choose('ada', '', 'Mars/Olympus')).status).toBe(400);
    expect((await forum.guest.get('/settings/language')).status).toBe(303);
  });
});

describe('a new member', () => {
  const signUp = async (name: string, language: string) => {
    const client = forum.app.client({ 'accept-language': language });
    const form = (await client.get('/register')).text;
    const [, field] = /<input type="hidden" name="language" value="([^"]*)">/.exec(form) ?? [];
    const answer = await client.submit('/register', {
      username: name,
      email: `${name}@forum.test`,
      password: PASSWORD,
      ...(field !== undefined && { language: field }),
    });
    expect(answer.status).toBe(303);
    const account = await forum.app.app.service(Accounts).findByIdentifier(name);
    return [field, account?.language ?? null];
  };

  test('who signs up in another language than the site’s keeps it', async () => {
    expect(await signUp('greta', 'de')).toEqual(['de', 'de']);
    expect(await signUp('emma', 'en')).toEqual([undefined, null]);
    expect(await signUp('tomas', 'cs')).toEqual([undefined, null]);
  });

  test('who signs up in the site’s language follows the site, even if that is not English', async () => {
    await forum.app.app.settings.set({ 'site.locale': 'de' });
    expect(await signUp('hans', 'de')).toEqual([undefined, null]);
    expect(await signUp('ellen', 'en')).toEqual(['en', 'en']);
    await forum.app.app.settings.set({ 'site.locale': 'en' });
  });

  test('cannot sign up in an unavailable language', async () => {
    const client = forum.app.client();
    const form = { username: 'worf', email: 'worf@forum.test', password: PASSWORD, language: 'tlh' };
    expect((await client.submit('/register', form)).status).toBe(400);
    expect(await forum.app.app.service(Accounts).findByIdentifier('worf')).toBeUndefined();
  });
});

describe('a time zone', () => {
  test('is used for the times on a member’s pages, but not for others', async () => {
    expect(await titleOf('bob', path)).toMatch(/January 15, 2026 at 12:\d\d PM GMT\+0/);
    await choose('bob', '', 'Asia/Tokyo');
    expect(await titleOf('bob', path)).toMatch(/January 15, 2026 at 9:\d\d PM GMT\+9/);
    expect((await forum.as.bob.get(path)).text).toContain('data-zone="Asia/Tokyo"');
    expect(await titleOf('mia', path)).toMatch(/12:\d\d PM GMT\+0/);
    expect((await forum.as.mia.get(path)).text).not.toContain('data-zone');
  });

  test('chosen by name stays when the reader travels, even if it is the site’s', async () => {
    await choose('mia', '', 'Europe/Lisbon');
    expect((await forum.as.mia.get(path)).text).toContain('data-zone="Europe/Lisbon"');
    await choose('mia', '', '');
  });

  test('may be given by any of its names', async () => {
    for (const [name, known] of [
      ['Asia/Kolkata', Intl.DateTimeFormat('en', { timeZone: 'Asia/Kolkata' }).resolvedOptions().timeZone],
      ['europe/berlin', 'Europe/Berlin'],
    ] as const) {
      expectStatus(await choose('mia', '', name), 303);
      expect((await forum.as.mia.get('/settings/language')).text).toContain(`<option value="${known}" selected>`);
    }
    for (const name of ['+05:30', 'Mars/Olympus']) expect((await choose('mia', '', name)).status).toBe(400);
    await choose('mia', '', '');
  });

  test('is used for reminders', async () => {
    const { discussion_id: id } = expectStatus(
      await forum.as.bob.post('/api/discussions', { title: 'To keep', content: 'This', category_id: 'general' }),
      201,
    ).body;
    const { bookmark } = expectStatus(await forum.as.bob.post('/api/bookmarks', { discussion_id: id }), 201).body;
    expect((await forum.as.bob.get(`/bookmarks/${bookmark.id}`)).text).toContain('Asia/Tokyo');
    await forum.as.bob.submit(`/bookmarks/${bookmark.id}`, { remind_at: '2026-03-01T09:00' });
    const { bookmarks } = (await forum.as.bob.get('/api/bookmarks')).body;
    expect(bookmarks[0].remind_at).toBe('2026-03-01T00:00:00.000Z');
  });
});

test('mails use both', async () => {
  await choose('bob', 'de', 'Asia/Tokyo');
  const accounts = forum.app.app.service(Accounts);
  for (const name of ['bob', 'mia'] as const) await accounts.setPassword(forum.ids[name], 'Another-Voyage-43');
  const mailed = async (name: string): Promise<string> => {
    const mails = await mailsOf(forum.app);
    return mails.find(({ headers }) => headers['to']?.startsWith(name))?.body ?? '';
  };
  await vi.waitFor(async () => expect([await mailed('bob'), await mailed('mia')]).not.toContain(''), {
    timeout: 10_000,
  });
  expect(await mailed('bob')).toMatch(
    /Das Passwort deines Kontos wurde geändert \(15\. Januar 2026 um 21:\d\d GMT\+9\)/,
  );
  expect(await mailed('bob')).toContain('<html lang="de">');
  expect(await mailed('mia')).toMatch(/was changed \(January 15, 2026 at 12:\d\d PM GMT\+0\)/);
});

describe('the API', () => {
  const own = async (name: Name, id = forum.ids[name]) =>
    expectStatus(await forum.as[name].get(`/api/users/${id}`), 200).body.user;

  test('shows and changes the caller’s own language and time zone only', async () => {
    const change = (body: object) => forum.as.root.put(`/api/users/${forum.ids.root}`, body);
    expect(await own('root')).toMatchObject({ language: null, timezone: null });
    expect((await change({ language: 'de', timezone: 'America/Lima' })).body.user).toMatchObject({
      language: 'de',
      timezone: 'America/Lima',
    });
    expect((await change({ timezone: null })).body.user).toMatchObject({ language: 'de', timezone: null });
    expect(await own('ada', forum.ids.root)).not.toHaveProperty('language');
    expect(await own('root', forum.ids.ada)).not.toHaveProperty('timezone');
    const refused = await change({ bio: 'Kept as it was', timezone: 'Nowhere' });
    expect([refused.status, refused.body.details?.[0]?.field]).toEqual([400, 'timezone']);
    expect((await own('root')).bio).toBe('');
  });
});
