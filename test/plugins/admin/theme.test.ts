import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { definePlugin, Plugins, Settings } from 'parley-forum';
import type { Client } from 'parley-forum/testing';
import { runCommand } from '../../../core/cli/run-command.ts';
import { startPanel, type PanelForum } from './forum.ts';

let forum: PanelForum;
let ada: Client;
beforeAll(async () => {
  forum = await startPanel([definePlugin({ id: 'boats', setup() {} })]);
  ada = await forum.session('ada');
});
afterAll(() => forum[Symbol.asyncDispose]());
afterEach(() => forum.app.service(Settings).reset(['site.theme']));

type Files = Readonly<Record<string, string | object>>;
/** Writes a theme into the installation; without files it is a valid one. */
function write(id: string, files: Files = {}, more: object = {}): void {
  const folder = join(forum.app.environment.dataDir, 'themes', id);
  rmSync(folder, { recursive: true, force: true });
  const manifest = { id, name: id, version: '1.0.0', api: 1, ...more };
  for (const [path, content] of Object.entries({ 'theme.json': manifest, ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
}
const set = (theme: string): Promise<void> => forum.app.service(Settings).set({ 'site.theme': theme });
const save = (theme: string) =>
  ada.post('/admin/settings/save', { 'site.theme': theme }, { accept: 'application/json' });
async function doctor(): Promise<readonly string[]> {
  const lines: string[] = [];
  await runCommand(forum.app, ['doctor'], { print: (line: string) => void lines.push(line) } as never).catch(
    (error: Error) => lines.push(error.message),
  );
  return lines;
}
const front = async (): Promise<string> => {
  const { status, text } = await forum.client().get('/login');
  return `${status} ${/class="brand(?:-\w+)?"[^>]*>/.exec(text)?.[0] ?? 'no brand'}${text.includes('of the harbour') ? ' of the harbour' : ''}`;
};

it('a theme is chosen from the installed ones', async () => {
  write('jetty');
  const offered = async (): Promise<readonly string[]> => {
    const { text } = await ada.get('/admin/settings/appearance');
    return [...text.matchAll(/name="site\.theme"[^>]* value="([^"]*)"([^>]*)/g)].map(
      ([, id, rest]) => `${id}${rest!.includes('checked') ? ' checked' : ''}`,
    );
  };
  expect(await offered()).toEqual(['default checked', 'jetty']);
  await ada.submit('/admin/settings/save', { _group: 'appearance', 'site.theme': 'jetty' });
  expect(await offered()).toEqual(['default', 'jetty checked']);
});

it('a theme can bring a language for its own, plugins’ and code’s texts; missing ones stay English', async () => {
  write(
    'quai',
    {
      'locales/fr.json': { 'sign-up': 'Adhérer' },
      'locales/plugins/accounts/fr.json': { 'register.submit': 'Devenir membre' },
      'locales/failures/fr.json': { 'must have at least {count} characters': 'exige {count} caractères' },
      'locales/declared/fr.json': { 'Shortest password': 'Mot de passe le plus court' },
    },
    { extends: 'default' },
  );
  await set('quai');
  const guest = forum.client();
  await guest.submit('/appearance', { language: 'fr' });
  const { text } = await guest.submit('/register', { username: 'eve', email: 'eve@example.test', password: 'short' });
  for (const said of ['<html lang="fr"', 'Adhérer', 'Devenir membre', 'exige 10 caractères', 'Everyone sees it.'])
    expect(text, said).toContain(said);
  expect((await forum.client().get('/register')).text).toContain('<html lang="en"');
  const ada = await forum.session('ada');
  await ada.submit('/appearance', { language: 'fr' });
  expect((await ada.get('/admin/settings/security')).text).toContain('Mot de passe le plus court');
});

describe('a theme that cannot be used is refused when it is chosen, with file, line and remedy,', () => {
  const HEADER = 'templates/partials/header.hbs';
  it.each<[string, Files, RegExp, object?]>([
    [
      'a block that is left open',
      { [HEADER]: '<header>\n{{#if a}}\n</header>' },
      / themes\/broken\/templates\/partials\/header\.hbs:\d+: .*Fix this, or choose another theme/,
    ],
    ['an unknown helper', { [HEADER]: '<header>\n\n{{shout "a"}}</header>' }, /header\.hbs:3: unknown helper "shout"/],
    [
      'a missing argument of a helper',
      { [HEADER]: '<header>\n{{#each}}a{{/each}}</header>' },
      /header\.hbs:2: "each" takes 1/,
    ],
    [
      'a helper that is used as a block',
      { [HEADER]: '{{#lookup @site "name"}}a{{/lookup}}' },
      /header\.hbs:1: unknown block/,
    ],
    ['a block that is used as a helper', { [HEADER]: '{{t (if a)}}' }, /header\.hbs:1: "if" is a block: \{\{#if …\}\}/],
    [
      'blocks that are nested too deep',
      { [HEADER]: `${'{{#with @site}}'.repeat(1_000)}x${'{{/with}}'.repeat(1_000)}` },
      /header\.hbs:1: has more than 100 levels of blocks/,
    ],
    [
      'a partial that does not exist',
      { [HEADER]: '{{> partials/nothing}}' },
      /header\.hbs:1: there is no template "partials\/nothing"/,
    ],
    [
      'partials that include each other',
      { 'templates/partials/badge.hbs': '{{> partials/stat}}', 'templates/partials/stat.hbs': '{{> partials/badge}}' },
      /includes itself/,
    ],
    [
      'an error in a partial of one page only',
      { 'templates/partials/stat.hbs': '{{{text}}}' },
      /stat\.hbs:1: prints without escaping/,
    ],
    [
      'a layout that does not print the body',
      { 'templates/layout.hbs': '<html>{{head}}{{> partials/end}}</html>', 'templates/partials/end.hbs': '{{foot}}' },
      /templates\/layout\.hbs:1: must print \{\{body\}\}, itself or in a partial/,
    ],
    [
      'an error in a page of a plugin',
      { 'templates/plugins/admin/dashboard.hbs': '\n<a href="{{a}}">' },
      /plugins\/admin\/dashboard\.hbs:2: write the whole of href/,
    ],
    [
      'an invalid colour',
      { 'tokens.json': '{\n "measure": 40,\n "color": {\n  "text": { "light": "black" }\n }\n}' },
      / themes\/broken\/tokens\.json:4: the token "text" is "black"; write oklch/,
    ],
    [
      'a token of the wrong type',
      { 'tokens.json': { measure: 'wide' } },
      /broken\/tokens\.json:1: measure must be number/,
    ],
    [
      'tokens that are not valid JSON',
      { 'tokens.json': '{\n "space": [1 2]\n}' },
      /^themes\/broken\/tokens\.json:2: is not valid JSON/,
    ],
    [
      'an unquoted colour in the tokens',
      { 'tokens.json': '{\n "color": {\n  "text": {\n   "light": beige\n  }\n }\n}' },
      /^themes\/broken\/tokens\.json:4: is not valid JSON \(Unexpected token 'b', .+\)$/,
    ],
    ['a truncated file of tokens', { 'tokens.json': '{\n "color": {\n' }, /broken\/tokens\.json:3: is not valid/],
    ['an empty file of tokens', { 'tokens.json': '' }, /broken\/tokens\.json:1: is not valid JSON/],
    [
      'an icon that is markup',
      { 'icons.json': { bell: ['<script>'] } },
      /broken\/icons\.json:1: the icon "bell" must be a list of SVG path data/,
    ],
    [
      'translations of the wrong type',
      { 'locales/de.json': { 'log-in': 7 } },
      /locales\/de\.json:1: log-in must be string or must be object\./,
    ],
    [
      'translations of the wrong type for a plugin',
      { 'locales/plugins/tags/de.json': { title: 7 } },
      /tags\/de\.json:1: title must/,
    ],
    [
      'translations that are not named after a language',
      { 'locales/d_e.json': {} },
      /locales\/d_e\.json: its name must be a language/,
    ],
    [
      'a missing style sheet',
      {},
      /broken\/theme\.json:1: names the style sheet "css\/sea\.css"/,
      { styles: ['css/sea.css'] },
    ],
    ['a missing parent', {}, /no theme "nowhere"; install it/, { extends: 'nowhere' }],
    ['itself as its parent', {}, /extends itself/, { extends: 'broken' }],
    [
      'an invalid manifest',
      {},
      / themes\/broken\/theme\.json:1: api must be .*Fix this, or choose another theme/,
      { api: 2 },
    ],
  ])('because of %s', async (_what, files, why, more) => {
    write('broken', files, more);
    const { status, body } = await save('broken');
    expect([status, body.details]).toEqual([400, [{ field: 'site.theme', message: expect.stringMatching(why) }]]);
    expect(forum.app.service(Settings).get('site.theme')).toBe('default');
    expect(await front()).toMatch(/^200 <?class="brand"/);
  });

  it('when it does not exist, in the form of the panel and on the command line too', async () => {
    const { status, text } = await ada.post('/admin/settings/save', { _group: 'appearance', 'site.theme': 'harbour' });
    expect([status, text.includes('There is no theme &quot;harbour&quot;; install it')]).toEqual([400, true]);
    await expect(
      runCommand(forum.app, ['setting', 'set', 'site.theme', 'harbour'], { print: () => {} } as never),
    ).rejects.toThrow('There is no theme "harbour"');
    expect(forum.app.service(Settings).get('site.theme')).toBe('default');
  });

  it('when its parent is broken', async () => {
    write('parent', { [HEADER]: '{{shout}}{{shout "a"}}' });
    write('child', {}, { extends: 'parent' });
    await expect(set('child')).rejects.toMatchObject({
      details: [
        { message: expect.stringContaining('themes/parent/templates/partials/header.hbs:1: unknown helper "shout"') },
      ],
    });
  });
});

it('a theme with low contrast can be used, and the panel lists the colours', async () => {
  write('fog', { 'tokens.json': { color: { 'text-3': { light: '#bbbbbb' } } } });
  const theme = async (): Promise<object> => {
    const { body } = await ada.get('/admin', { accept: 'application/json' });
    return body.tiles.find(({ label }: { label: string }) => label === 'Theme');
  };
  expect(await theme()).toMatchObject({ text: 'OK', state: 'good' });
  await set('fog');
  expect(await theme()).toMatchObject({ text: 'low contrast in places', state: 'warning' });
  const { text } = await ada.get('/admin/settings/appearance');
  expect(text).toMatch(/hard to read: text-3 on surface-3 in light \(1\.6 : 1, minimum 4\.5 : 1\), .*and 1 more\./);
  const other = await ada.get('/admin/settings/api');
  expect(other.status).toBe(200);
  expect(other.text).not.toContain('hard to read');
});

describe('a theme that breaks while it is in use', () => {
  const GOOD = { 'templates/partials/footer.hbs': '<footer>of the harbour</footer>' };

  it('keeps working as last loaded, and panel, log and doctor report the error', async () => {
    write('harbour', GOOD);
    await set('harbour');
    expect(await front()).toContain('of the harbour');
    expect(await doctor()).not.toContainEqual(expect.stringContaining('site.theme cannot'));
    write('harbour', { ...GOOD, 'templates/partials/discussion-card.hbs': '{{#each}}', 'tokens.json': '{' });
    const plugins = forum.app.service(Plugins);
    for (const on of [false, true]) {
      await (on ? plugins.enable('boats') : plugins.disable('boats'));
      expect(await front()).toMatch(/^200 .* of the harbour$/);
    }
    expect(forum.lines.some(({ message }) => message.startsWith('the theme on disk can no longer be used'))).toBe(true);
    expect((await ada.get('/admin')).text).toContain('cannot be used as it is');
    expect((await ada.get('/admin/settings/appearance')).text).toContain(
      'themes/harbour/tokens.json:1: is not valid JSON',
    );
    expect(await doctor()).toContainEqual(
      expect.stringMatching(/✗ the setting site\.theme is invalid: themes\/harbour\/tokens\.json:1/),
    );
    write('harbour', GOOD);
    await set('harbour');
    await plugins.disable('boats');
    expect((await ada.get('/admin')).text).not.toContain('cannot be used as it is');
    await plugins.enable('boats');
  });
});
