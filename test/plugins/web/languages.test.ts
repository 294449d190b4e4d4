import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Answer, Client } from 'parley-forum/testing';
import { Notifications } from 'parley-forum/ports/notifications';
import { runCommand } from '../../../core/cli/run-command.ts';
import { expectStatus, PASSWORD, useForum } from '../discussions/forum.ts';

const forum = useForum();
const GERMAN = { 'Accept-Language': 'de-AT,de;q=0.9,en;q=0.5' };

const languageOf = (text: string): string | undefined => /<html lang="([^"]*)"/.exec(text)?.[1];
const titleOf = (text: string): string | undefined => /<title>([^<]*)/.exec(text)?.[1];

/** The page that a response redirects to. */
async function follow(client: Client, { headers, text }: Answer): Promise<string> {
  const location = headers.get('location');
  if (location === null) return text;
  const { pathname, search } = new URL(location, 'http://forum.test');
  return follow(client, await client.get(pathname + search));
}

describe('a guest', () => {
  test('gets pages in the browser’s language, including parts of plugins, cached or not', async () => {
    for (const how of ['made', 'kept']) {
      const german = expectStatus(await forum.guest.get('/', GERMAN), 200).text;
      expect([languageOf(german), titleOf(german)], how).toEqual(['de', 'Diskussionen · Test forum']);
      // The field comes from a slot, the links from a template.
      expect(german).toContain('placeholder="Das Forum durchsuchen"');
      expect(german).not.toMatch(/>(Search|Discussions|Categories|Log in|Sign up)</);
      const english = expectStatus(await forum.guest.get('/'), 200).text;
      expect([languageOf(english), titleOf(english)]).toEqual(['en', 'Discussions · Test forum']);
    }
  });

  test('can choose another language than the browser’s, and undo it', async () => {
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
    'who chooses an unavailable language, "%s", gets the browser’s',
    async (language) => {
      const guest = forum.app.client();
      expect((await guest.submit('/appearance', { language })).status).toBe(303);
      expect(languageOf((await guest.get('/', GERMAN)).text)).toBe('de');
      expect(languageOf((await guest.get('/')).text)).toBe('en');
    },
  );
});

describe('a member', () => {
  test('reads notices, titles with names, and menus in the chosen language', async () => {
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

  test('gets form errors in that language', async () => {
    const guest = forum.app.client();
    await guest.submit('/appearance', { language: 'de' });
    const refused = await guest.submit('/register', { username: 'x', email: 'x', password: 'short' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('mindestens');
    expect(refused.text).not.toMatch(/must have|is not an e-mail/);
  });
});

test('the API and mails use the site’s language, whatever the request’s', async () => {
  await forum.start('ada', 'Listed in one language');
  const german = expectStatus(await forum.guest.get('/api/discussions?limit=3', GERMAN), 200).body.html;
  const english = expectStatus(await forum.guest.get('/api/discussions?limit=3'), 200).body.html;
  expect(german).toBe(english);
  expect(german).toContain('replies');
});

test('API errors are in the reader’s language for a page, and in English for API clients', async () => {
  const ask = async (headers: Readonly<Record<string, string>>) =>
    (await forum.guest.get('/api/posts/none', { ...GERMAN, ...headers })).body as { error: string; code: string };
  const [page, program] = [await ask({ 'Sec-Fetch-Site': 'same-origin' }), await ask({})];
  expect([page.code, program.code]).toEqual(['not_found', 'not_found']);
  expect(program.error).toBe('Not found');
  expect(page.error).toBe('Nicht gefunden');
});

test('parts of plugins in a shared list are in the site’s language too', async () => {
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

/** Words that occur on no German page; content and names in these tests contain none of them. */
const ENGLISH =
  /\b(?:the|and|of|to|you|your|is|are|for|this|that|with|not|by|from|who|what|all|more|post|posts|discussions?|reply|replies|settings|save|delete|edit|show|members?|moderators?|everyone|nobody|unknown|something|account|group|cannot|never|off|like|love|wait|waiting|running|search|log in|sign up)\b/i;
/** Names of the default categories and of time zones, which are not translated. */
const OWN =
  /Announcements|General|Help|News from the team\.|Talk about anything\.|Ask questions and get answers\.|Only moderators and admins see this\.|Port of Spain|Isle of Man/g;
/** Kinds of reactions have editable names; plugins, webhooks, jobs and audit actions have English names. */
const NAMED_IN_ENGLISH = /^\/admin\/(?:plugins|webhooks|audit|jobs|reactions)/;

/** The visible and accessible texts of a page. */
function wordsOf(html: string): readonly string[] {
  const page = html.replaceAll(/<(script|style|code)\b.*?<\/\1>/gs, '').replaceAll(OWN, '');
  const said = [...page.matchAll(/\s(?:aria-label|title|placeholder|alt|label)="([^"]*)"/g)].map(([, text]) => text!);
  return [...page.split(/<[^>]*>/), ...said]
    .map((text) => text.trim())
    .filter((text) => text !== '' && !text.startsWith('/'));
}

describe('German pages contain no English words', () => {
  const english = async (client: Client, paths: readonly string[]): Promise<readonly string[]> => {
    const found = new Set<string>();
    for (const path of paths) {
      const { status, text } = await client.get(path);
      if (![200, 301, 303, 400, 403, 404].includes(status)) found.add(`${path}: ${status}`);
      for (const words of status === 301 || status === 303 ? [] : wordsOf(text))
        if (ENGLISH.test(words)) found.add(`${path}: ${words}`);
    }
    return [...found];
  };
  const pathsFor = (wanted: (can: unknown) => boolean): readonly string[] =>
    forum.app.app.routes
      .list()
      .filter(({ surface, method, path }) => surface.id === 'pages' && method === 'get' && !path.includes(':'))
      .filter(({ can, path }) => wanted(can) && !NAMED_IN_ENGLISH.test(path) && !path.startsWith('/login/'))
      .map(({ path }) => path);

  const settingsPages = async (client: Client): Promise<readonly string[]> =>
    [...(await client.get('/admin/settings')).text.matchAll(/<h2><a href="([^"]+)"/g)].map(([, href]) => href!);

  test('for a guest', async () => {
    const guest = forum.app.client();
    await guest.submit('/appearance', { language: 'de' });
    const { number, postId } = await forum.start('ada', 'Wanten');
    const there = [
      `/d/${number}-wanten`,
      `/p/${postId}`,
      `/p/${postId}/reactions`,
      '/c/general',
      '/u/ada',
      '/u/mia/posts',
    ];
    const missing = ['/nichts', '/d/999999', '/mod', '/search?q=author:', '/search?q=xyzzy'];
    expect(await english(guest, [...pathsFor((can) => can === 'public'), ...there, ...missing])).toEqual([]);
  });

  test('for an administrator, who sees all pages', async () => {
    const { root } = forum.as;
    await root.submit('/appearance', { language: 'de' });
    const { number, postId } = await forum.start('ada', 'Fallen');
    const own = await forum.start('root', 'Schoten');
    expectStatus(await forum.as.ada.post('/api/reactions/toggle', { post_id: own.postId, reaction: 'like' }), 200);
    expectStatus(await forum.as.ada.post('/api/reports', { post_id: own.postId, reason: 'spam' }), 201);
    const there = [
      `/d/${number}-fallen`,
      '/c/general',
      ...['reply', 'edit', 'delete'].map((name) => `/d/${number}/${name}`),
      ...['menu', 'reactions', 'edit', 'delete', 'report', 'history'].map((name) => `/p/${postId}/${name}`),
      `/p/${own.postId}/reactions`,
      '/u/ada',
      '/u/ada/about',
      '/u/ada/clear',
      '/mod/members/ada',
      ...(await settingsPages(root)),
      '/nichts',
    ];
    expect(there.length).toBeGreaterThan(40);
    expect(await english(root, [...pathsFor(() => true), ...there])).toEqual([]);
    await root.submit('/appearance', { language: '' });
  });
});

describe('default names', () => {
  test('are in the reader’s language until they are changed', async () => {
    const { ada, root } = forum.as;
    const { postId } = await forum.start('ada', 'Wanted and sad');
    for (const reaction of ['like', 'sad'])
      expectStatus(await forum.as.bob.post('/api/reactions/toggle', { post_id: postId, reaction }), 200);
    await root.submit('/admin/reactions/save', { slug: 'sad', label: 'Oh no', enabled: 'true' });
    await ada.submit('/appearance', { language: 'de' });
    const reactions = (await ada.get(`/p/${postId}/reactions`)).text;
    expect(reactions).toContain('Gefällt mir');
    expect(reactions).toContain('Oh no');
    expect((await ada.get('/u/mia')).text).toContain('<span class="badge">Moderation</span>');
    expect((await ada.get('/settings/security/sessions')).text).toContain('<strong>Unbekanntes Gerät</strong>');
    await ada.submit('/appearance', { language: '' });
    expect((await ada.get(`/p/${postId}/reactions`)).text).toContain('Like');
    expect((await ada.get('/u/mia')).text).toContain('<span class="badge">Moderator</span>');
  });

  test('replace a missing notification title; the API uses the site’s language', async () => {
    const { bob } = forum.as;
    const about = { type: 'moderation_member', userId: forum.ids.bob, url: '/settings/standing' };
    await forum.app.app.service(Notifications).notify([{ ...about, key: 'untitled' }]);
    await bob.submit('/appearance', { language: 'de' });
    expect((await bob.get('/notifications')).text).toMatch(/etwas zu sagen:\s*<strong>dein Konto</);
    const { notifications } = expectStatus(await bob.get('/api/notifications'), 200).body;
    expect(notifications[0]).toMatchObject({ title: 'your account' });
    await bob.submit('/appearance', { language: '' });
    expect((await bob.get('/notifications')).text).toContain('<strong>your account</strong>');
  });

  test('of suggestion groups are embedded in the page', async () => {
    const headings = (text: string): string | undefined => /data-headings="([^"]*)"/.exec(text)?.[1];
    expect(headings((await forum.guest.get('/', GERMAN)).text)).toContain('&quot;Members&quot;:&quot;Mitglieder&quot;');
    expect(headings((await forum.guest.get('/')).text)).toBeUndefined();
  });

  test('appear on the button that repeats a request after a confirmation', async () => {
    const { root } = forum.as;
    await root.submit('/appearance', { language: 'de' });
    await root.submit('/login/confirm/end', {});
    const asked = await root.submit('/admin/plugins/enable', { id: 'typing' });
    expect(asked.status).toBe(403);
    const pending = /name="pending" value="([^"]+)"/.exec(asked.text)![1]!;
    const resumed = await root.submit('/login/confirm', { password: PASSWORD, pending });
    expect(resumed.text).toContain('Weiter: Ein Plugin einschalten');
    await root.submit('/appearance', { language: '' });
  });
});

describe('a package with files that cannot be used', () => {
  const FILES = {
    'package.json': JSON.stringify({
      name: 'parley-plugin-bell',
      version: '1.0.0',
      type: 'module',
      parley: { plugin: './plugin.js' },
      peerDependencies: { 'parley-forum': '*' },
    }),
    'plugin.js': `
      import { navigation } from 'parley-forum/plugins/web';
      export default { id: 'bell', setup: (_services, plugin) =>
        plugin.extend(navigation, { area: 'main', label: 'bell:title', href: '/bell' }) };`,
    'views/bell.hbs': '{{! No data. }}\n<p>{{t "bell:title"}}</p>\n',
    'locales/en.json': '{ "title": "The ship’s bell" }',
    'client/bell.css': '.bell { color: var(--accent); content: "}\\"" } /* { */\n.b\\{ { top: 0 }\n',
  };
  const write = async (folder: string, files: Readonly<Record<string, string>>): Promise<void> => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
  };
  const doctor = async (): Promise<readonly string[]> => {
    const lines: string[] = [];
    const nothing = async (): Promise<undefined> => undefined;
    const console = { terminal: false, columns: 80, print: (line: string) => void lines.push(line), progress: nothing };
    await runCommand(forum.app.app, ['doctor'], { ...console, secret: nothing }).catch(nothing);
    return lines;
  };

  test('is not installed; one whose files break later harms no page, and the doctor names them', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'parley-bell-'));
    const { installer, plugins } = forum.app.app;
    const main = async (): Promise<string> => expectStatus(await forum.guest.get('/'), 200).text;
    const styles = async (): Promise<string> =>
      expectStatus(await forum.guest.get(/\/assets\/s\/plugins@[^"]*plugins\.css/.exec(await main())![0]), 200).text;
    await write(folder.path, { ...FILES, 'views/bell.hbs': '{{{title}}}' });
    await expect(installer.install(folder.path)).rejects.toThrow(
      /^\[bell\] has files that cannot be used: .*views\/bell\.hbs:1: prints without escaping/,
    );
    expect(installer.find('bell')).toBeUndefined();

    await write(folder.path, FILES);
    await installer.install(folder.path);
    expect(await main()).toContain('The ship’s bell');
    expect(await styles()).toMatch(/@layer plugins\.bell\{\.bell\{/);
    expect(await doctor()).not.toContainEqual(expect.stringContaining('"bell"'));

    await write(folder.path, {
      'locales/en.json': '{ "title" }',
      'views/bell.hbs': '<p>\n{{nothing else}}\n</p>',
      'client/bell.css': '.bell {\n  color: red;\n.clapper {\n}\n',
    });
    await plugins.disable('bell');
    await plugins.enable('bell');
    expect(await main()).toContain('bell:title');
    expect(await styles()).not.toContain('.bell{');
    expect(await styles()).toContain('@layer plugins.tags{');
    expect(await doctor()).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^✗ plugin "bell" has a file that cannot be used: .*views\/bell\.hbs:2: unknown helper/),
        expect.stringMatching(/^✗ plugin "bell" .*client\/bell\.css:1: this "\{" is not closed$/),
        expect.stringMatching(/^✗ plugin "bell" .*locales\/en\.json:1: is not valid JSON/),
      ]),
    );
    await installer.remove('bell');
  });
});
