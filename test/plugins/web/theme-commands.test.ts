import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient } from 'parley-forum/testing';
import { makeSite, type DevelopmentSite } from '../../core/development/site.ts';
import type { ServerProcess } from '../../core/fixtures/server-process.ts';

const MAIN = resolve(import.meta.dirname, '../../../core/main.ts');

/** Its configuration sets the theme `own` as the initial default. */
let site: DevelopmentSite;
beforeAll(async () => {
  site = await makeSite();
});
afterAll(() => site?.[Symbol.asyncDispose]());

const parley = (...words: readonly string[]): Promise<string> => site.parley('theme', ...words);
/** The output of a failing command, with its exit code. */
const failure = (...words: readonly string[]): Promise<string> =>
  parley(...words).then(
    (said) => `it did not fail: ${said}`,
    (error: Error) => error.message,
  );
/** The themes whose style sheets a page links to. */
async function themesOf(server: ServerProcess): Promise<readonly string[]> {
  const { text } = await createClient(server.url).get('/greeting', { accept: 'text/html' });
  expect(text).toContain('class="words"');
  return [...text.matchAll(/\/assets\/t\/([a-z-]+)@[^"]*\.css"/g)].map(([, id]) => id!);
}
const chosen = async (): Promise<string> => (await site.parley('setting', 'get', 'site.theme')).trim();

const BROKEN = {
  'theme.json': '{ "id": "broken", "name": "Broken", "version": "1.0.0", "api": 1, "extends": "own" }',
  'tokens.json': '{\n  "color": {\n    "accent": { "light": "beige" }\n  }\n}',
  'templates/partials/footer.hbs': '<footer>\n{{plurall "a" 1}}\n</footer>',
  'templates/partials/stat.hbs': '{{{text}}}',
  'locales/fr.json': '{\n  "log-in": 7\n}',
};

describe('with a running server', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await site.start(process.execPath, MAIN);
  });
  afterAll(() => server?.end('SIGTERM'));

  test('`theme new` creates a complete child theme with every kind of file, and prints the next steps', async () => {
    const said = await parley('new', 'night-sky');
    expect(said.split('\n')).toEqual(
      expect.arrayContaining([
        'wrote themes/night-sky/theme.json',
        expect.stringMatching(/: +npm run parley -- theme dev night-sky$/),
        expect.stringMatching(/: +npm run parley -- theme use night-sky$/),
      ]),
    );
    const folder = join(site.folder, 'themes/night-sky');
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
    expect(files.map((file) => file.slice(folder.length + 1)).sort()).toEqual([
      'assets/css/night-sky.css',
      'templates/partials/footer.hbs',
      'theme.json',
      'tokens.json',
    ]);
    for (const file of files) expect(await readFile(file, 'utf8'), file).not.toMatch(/__\w+__/);
    const manifest = JSON.parse(await readFile(join(folder, 'theme.json'), 'utf8')) as object;
    expect(manifest).toMatchObject({ id: 'night-sky', name: 'Night sky', extends: 'default' });
    // Without warnings about contrast.
    expect(await parley('check', 'night-sky')).toBe('night-sky can be used.\n');
  });

  test('`theme new --parent` extends another theme', async () => {
    await parley('new', 'dawn', '--parent', 'night-sky');
    expect(await parley('check', 'dawn')).toContain('dawn can be used.');
    expect(await parley('list')).toMatch(/^dawn +ready +Dawn +extends night-sky$/m);
  });

  test('`theme new` refuses an existing or invalid id or parent, and writes nothing', async () => {
    const before = await readdir(join(site.folder, 'themes'));
    expect(await failure('new', 'default')).toContain('ended with 1: There is already a theme "default"');
    expect(await failure('new', '../quay')).toContain('"../quay" is not a valid id: use lowercase words');
    expect(await failure('new', 'quay', '--parent', 'night-ski')).toContain(
      'There is no theme "night-ski" among dawn, default, night-sky, own; did you mean "night-sky"?',
    );
    await parley('new', 'noon', '--parent', 'dawn');
    expect(await failure('new', 'quay', '--parent', 'noon')).toContain('"noon" has 3 ancestors, which is the maximum');
    expect(await readdir(join(site.folder, 'themes'))).toEqual([...before, 'noon'].sort());
  });

  test('`theme use` refuses a missing or broken theme, and changes nothing', async () => {
    for (const [path, text] of Object.entries(BROKEN)) await site.write(`themes/broken/${path}`, text);
    expect(await failure('use', 'nigt-sky')).toMatch(
      /^parley theme ended with 1: There is no theme "nigt-sky" among broken, .*; did you mean "night-sky"\?\n$/,
    );
    expect(await failure('use', 'broken')).toMatch(
      /ended with 1: site\.theme: The theme "broken" cannot be used: themes\/broken\/locales\/fr\.json:2: log-in must .* Fix this, or choose another theme\.\n$/,
    );
    expect(await chosen()).toBe('own');
  });

  test('`theme check` lists all errors, one per line, and fails', async () => {
    const said = await failure('check');
    expect(said).toContain('own can be used.\n');
    expect(said).toContain(`broken cannot be used:
  themes/broken/locales/fr.json:2: log-in must be string or must be object
  themes/broken/templates/partials/footer.hbs:2: unknown helper "plurall"; did you mean "plural"?
  themes/broken/templates/partials/stat.hbs:1: prints without escaping; write {{…}}, and let the plugin pass SafeHtml for HTML
  themes/broken/tokens.json:3: the token "accent" is "beige"; write oklch(L% C H) or #rrggbb
`);
    expect(said).toMatch(/ended with 1: /);
    expect(said).toMatch(/1 of \d cannot be used; fix the problems above\.\n$/);
    expect(await failure('check', 'brokn')).toContain('did you mean "broken"?');
  });

  test('`theme check` warns about low contrast, without failing', async () => {
    await site.write('themes/fog/theme.json', BROKEN['theme.json'].replaceAll('broken', 'fog'));
    await site.write('themes/fog/tokens.json', '{ "color": { "text": { "light": "#bbbbbb" } } }');
    expect(await parley('check', 'fog')).toMatch(
      /^fog can be used\.\n {2}Colours of the theme are hard to read: text on/,
    );
    await site.remove('themes/fog');
  });

  test('`theme check` reports tokens that no style sheet uses, unknown keys and unbalanced rules', async () => {
    await site.write(
      'themes/fog/theme.json',
      BROKEN['theme.json']
        .replaceAll('broken', 'fog')
        .replace('"own"', '"own", "licence": "MIT", "styles": ["css/fog.css"]'),
    );
    await site.write(
      'themes/fog/assets/css/fog.css',
      '.bar { color: var( --mist, red); inline-size: var(--size-foghorn) }\n}',
    );
    const colour = '{ "light": "#111111", "dark": "#eeeeee" }';
    await site.write(
      'themes/fog/tokens.json',
      `{\n"color": {\n"acent": ${colour},\n"mist": ${colour}\n},\n"family": { "haze": ["Arial"] },\n"colour": {}\n}`,
    );
    expect(await parley('check', 'fog')).toBe(`fog can be used.
  themes/fog/tokens.json:3: no style sheet uses --acent; did you mean "accent"?
  themes/fog/tokens.json:6: no style sheet uses --family-haze; use it, or remove it
  themes/fog/theme.json:1: "licence" means nothing here; did you mean "license"?
  themes/fog/tokens.json:7: "colour" means nothing here; did you mean "color"?
  themes/fog/assets/css/fog.css:2: this "}" closes nothing
  themes/fog/assets/css/fog.css:1: uses --size-foghorn, which is not set anywhere; set it, or give it a fallback
`);
    await site.remove('themes/fog');
  });

  test('`theme check` reports style sheet properties that nothing sets, with suggestions', async () => {
    await site.write(
      'themes/fog/theme.json',
      BROKEN['theme.json'].replaceAll('broken', 'fog').replace('"own"', '"own", "styles": ["css/fog.css"]'),
    );
    await site.write(
      'themes/fog/assets/css/fog.css',
      `.bar { --bank: 1rem; color: var(--acent); padding: var(--bank) }
/* var(--none) */
.dock { inset-block-end: var(--docked); gap: var(--horn, 2px); inline-size: calc(1px + var( --size-l )) }`,
    );
    expect(await parley('check', 'fog')).toBe(`fog can be used.
  themes/fog/assets/css/fog.css:1: uses --acent, which is not set anywhere; did you mean "--accent"?
  themes/fog/assets/css/fog.css:3: uses --size-l, which is not set anywhere; did you mean "--size-lg"?
`);
    await site.remove('themes/fog');
  });

  test('`theme check` reports unreachable files in style sheets, with the reason', async () => {
    await site.write(
      'themes/fog/theme.json',
      BROKEN['theme.json'].replaceAll('broken', 'fog').replace('"own"', '"own", "styles": ["css/fog.css"]'),
    );
    for (const file of ['fonts/fog.ttf', 'fonts/fog.woff2', 'img/fog.svg'])
      await site.write(`themes/fog/assets/${file}`, '<svg xmlns="http://www.w3.org/2000/svg"/>');
    await site.write(
      'themes/fog/assets/css/fog.css',
      `/* url(img/none.png) is\n what it was */
@font-face { font-family: Fog; src: url('../fonts/fog.woff2'), url("../fonts/fog.ttf") format("truetype"); }
.bank { background: url(../img/fog.svg#top), url(img/fog.svg), url(data:image/png;base64,AA==), url(/assets/x.png) }`,
    );
    expect(await parley('check', 'fog')).toBe(`fog can be used.
  themes/fog/assets/css/fog.css:3: refers to "../fonts/fog.ttf", which is of a type that is not served; fonts are .woff2, pictures .svg, .png, .jpg, .webp, .avif, .gif or .ico
  themes/fog/assets/css/fog.css:4: refers to "img/fog.svg", which does not exist; URLs in style sheets are relative to assets/css
`);
    await site.remove('themes/fog');
  });

  test('`theme check` reports slots missing from replaced templates, unless they are elsewhere', async () => {
    await site.write('themes/fog/theme.json', BROKEN['theme.json'].replaceAll('broken', 'fog'));
    await site.write('themes/fog/templates/partials/header.hbs', '<header>{{slot "header.end"}}</header>');
    await site.write('themes/fog/templates/partials/stat.hbs', '{{slot "header.start"}}');
    await site.write('themes/fog/templates/partials/footer.hbs', '{{> parent:partials/footer}}');
    await site.write('themes/fog/templates/plugins/greeting/greeting.hbs', '{{words}}');
    expect(await parley('check', 'fog')).toBe(`fog can be used.
  themes/fog/templates/partials/header.hbs: has no {{slot "header.search" …}}, unlike the template that it replaces; what plugins add there is not shown
  themes/fog/templates/plugins/greeting/greeting.hbs: has no {{slot "greeting.end" …}}, unlike the template that it replaces; what plugins add there is not shown
`);
    await site.remove('themes/fog');
  });

  test('`theme list` shows the theme in use, what each extends, and why one cannot be used', async () => {
    await parley('use', 'night-sky');
    expect((await parley('list')).split('\n')).toEqual([
      expect.stringMatching(
        /^broken +broken +Broken +extends own +themes\/broken\/locales\/fr\.json:2: .* {2}and 3 more: npm run parley -- theme check broken$/,
      ),
      expect.stringMatching(/^dawn +ready /),
      expect.stringMatching(/^default +ready +Paper and ink$/),
      expect.stringMatching(/^night-sky +in use +Night sky +extends default$/),
      expect.stringMatching(/^noon +ready /),
      expect.stringMatching(/^own +ready +Own +extends default$/),
      '',
    ]);
  });

  test('`theme use` takes effect immediately', async () => {
    await parley('use', 'own');
    expect(await themesOf(server)).toEqual(['default']);
    expect(await parley('use', 'night-sky')).toBe('night-sky is in use.\n');
    expect(await themesOf(server)).toEqual(['default', 'night-sky']);
  });

  test('`theme use` refuses a broken theme, and pages stay unchanged', async () => {
    expect(await failure('use', 'broken')).toContain('themes/broken/locales/fr.json:2: ');
    expect(await themesOf(server)).toEqual(['default', 'night-sky']);
    expect(await failure('check', 'broken')).toContain('1 of 1 cannot be used');
  });

  test('every command has help', async () => {
    for (const word of ['list', 'use', 'new', 'check', 'dev'])
      expect(await parley(word, '--help')).toContain(`Usage: npm run parley -- theme ${word}`);
    expect(await parley('dev', '--help')).toMatch(/only this\s+server\s+shows,\s+whatever\s+the\s+setting\s+is/);
  });
});

describe('without a running server', () => {
  test('`theme list` shows a chosen theme that is missing, and another one can be used', async () => {
    await parley('use', 'noon');
    await site.remove('themes/noon');
    expect(await parley('list')).toMatch(/^noon +in use +noon +There is no theme "noon"; install it in themes\/noon/m);
    expect(await parley('use', 'own')).toContain('own is in use.\n');
  });
});

describe('`theme dev`', () => {
  let server: ServerProcess;
  beforeAll(async () => {
    server = await site.start(process.execPath, resolve(MAIN, '../cli/main.ts'), 'theme', 'dev', 'night-sky');
  });

  test('shows the theme as it is saved, whatever the setting says', async () => {
    expect(await themesOf(server)).toEqual(['default', 'night-sky']);
    const foot = async (): Promise<boolean> =>
      (await createClient(server.url).get('/greeting', { accept: 'text/html' })).text.includes('the open sea');
    expect(await foot()).toBe(false);
    await site.write('themes/night-sky/templates/partials/footer.hbs', '<footer>the open sea</footer>');
    await expect.poll(foot).toBe(true);
    expect(await parley('list')).toMatch(/^night-sky +in use /m);
  });

  test('stores nothing: the theme cannot be changed meanwhile, and the previous one is in use afterwards', async () => {
    const refused = 'site.theme: cannot be changed while this server runs: it was started with its own value';
    expect(await failure('use', 'default')).toContain(refused);
    await expect(site.parley('setting', 'set', 'site.theme', 'default')).rejects.toThrow(refused);
    expect(await themesOf(server)).toEqual(['default', 'night-sky']);
    expect(await server.end('SIGINT')).toEqual({ code: 0, signal: null });
    expect(await chosen()).toBe('own');
  });

  test('refuses a missing theme', async () => {
    expect(await failure('dev', 'nightsky')).toMatch(
      /ended with 1: There is no theme "nightsky" among .*; did you mean/,
    );
  });
});
