import { mkdtempSync, mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { phrase, SafeHtml } from 'parley-forum/plugins/web';
import { createHelpers, type RenderScope } from '../../../plugins/web/templates/helpers.ts';
import { Locales, relativeUntil } from '../../../plugins/web/themes/locales.ts';
import { Templates } from '../../../plugins/web/templates/templates.ts';
import { chainIcons, chainTokens, loadChain } from '../../../plugins/web/themes/themes.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const FOLDERS = [join(ROOT, 'themes'), join(import.meta.dirname, 'themes')];

const locales = new Locales(
  (_owner, language) =>
    [join(ROOT, 'themes/default'), join(import.meta.dirname, 'themes/child')].map((folder) =>
      join(folder, 'locales', `${language}.json`),
    ),
  ['de'],
);
const scope: RenderScope = {
  locale: locales.get('en'),
  now: Date.parse('2026-01-15T12:00:00Z'),
  regions: new Map(),
  trueUntil: () => undefined,
  asset: (name) => `/assets/${name}`,
  icon: () => undefined,
  slot: (id) => new SafeHtml(`[${id}]`),
  head: () => new SafeHtml(''),
  foot: () => new SafeHtml(''),
};

/** An engine over one plugin whose only view is `source`. */
function engine(source: string, theme = 'default'): Templates {
  const folder = mkdtempSync(join(tmpdir(), 'views-'));
  mkdirSync(join(folder, 'views'));
  writeFileSync(join(folder, 'views/page.hbs'), source);
  return new Templates(
    loadChain(theme, FOLDERS),
    createHelpers(() => scope),
    () => folder,
  );
}
const render = (source: string, model: object = {}, theme?: string): string =>
  engine(source, theme).get('@boats/page')(model, {}).trim();
const refusal = (source: string) => () => render(source);

describe('a template is refused, with file and line, when it', () => {
  it('prints without escaping', () =>
    expect(refusal('<p>\n{{{name}}}')).toThrow(/views\/page\.hbs:2: prints without escaping/));
  it('prints without escaping by &', () => expect(refusal('{{&name}}')).toThrow(/:1: prints without escaping/));
  it('calls a helper that does not exist', () =>
    expect(refusal('<p>\n\n{{shout name}}')).toThrow(/:3: unknown helper "shout"/));
  it('misspells a helper', () =>
    expect(refusal('{{assett "a.png"}}')).toThrow('unknown helper "assett"; did you mean "asset"?'));
  it('calls an unknown helper in a nested call', () =>
    expect(refusal('{{t (shout name)}}')).toThrow(/unknown helper "shout"/));
  it('includes a slash in a part of a URL, where it would be encoded', () =>
    expect(refusal('<p>\n{{url "/p/" id "/answer/new"}}')).toThrow(
      /:2: "url" puts "\/" between its parts .* write "answer" "new" instead of "\/answer\/new"/,
    ));
  it.each([
    [
      'leaves a block open',
      '<p>\n{{#if a}}\n{{#each b}}{{! {{#if c}} }}{{/each}}</p>',
      '2: {{#if}} is not closed: there is no {{/if}}',
    ],
    ['closes a block with another name', '\n{{#if a}}{{/each}}', '2: {{#if}} is closed with {{/each}}'],
    [
      'closes a block it did not open',
      'a\n{{/if}}',
      '2: cannot be parsed from here on: check its braces and quotation marks',
    ],
    [
      'omits a brace',
      '{{a}}\n{{#if b}c{{/if}}',
      '2: cannot be parsed from here on: check its braces and quotation marks',
    ],
    [
      'does not close a quotation',
      '{{t "a}}',
      '1: cannot be parsed from here on: check its braces and quotation marks',
    ],
  ])('%s', (_what, source, message) => expect(refusal(source)).toThrow(`views/page.hbs:${message}`));
  it('opens an unknown block', () => expect(refusal('{{#name}}x{{/name}}')).toThrow(/unknown block/));
  it('leaves an attribute without quotes', () =>
    expect(refusal('<p class={{name}}>')).toThrow(/value of class in quotes/));
  it('prints a whole attribute', () => expect(refusal('<p {{name}}>')).toThrow(/as a whole/));
  it('prints a tag name', () => expect(refusal('<{{name}} title="x">')).toThrow(/as a whole/));
  it('writes into a script', () => expect(refusal('<script>let x = "{{name}}"</script>')).toThrow(/inside <script>/));
  it('writes into a script that only mentions JSON', () =>
    expect(refusal('<script data-type="application/json">{{json a}}</script>')).toThrow(/inside <script>/));
  it('writes into a style', () => expect(refusal('<p style="color: {{name}}">')).toThrow(/inside style/));
  it('writes into a handler', () => expect(refusal('<p onclick="{{name}}">')).toThrow(/inside onclick/));
  it('prints an unchecked URL', () => expect(refusal('<a href="{{name}}">')).toThrow(/one {{url …}}/));
  it('prints one right after the tag name', () => expect(refusal('<a/href="{{name}}">')).toThrow(/one {{url …}}/));
  it('prints one after an {{else}}', () =>
    expect(refusal('<a {{#if a}}title="b"{{else}}href="{{name}}"{{/if}}>')).toThrow(/one {{url …}}/));
  it('prints the end of a URL', () => expect(refusal('<a href="/u/{{name}}">')).toThrow(/one {{url …}}/));
  it('prints an unchecked URL after a block', () =>
    expect(refusal('<a {{#if a}}class="b" {{/if}}href="{{name}}">')).toThrow(/one {{url …}}/));
  it('includes itself', () => expect(refusal('{{> "@boats/page"}}')).toThrow(/includes itself/));
  it('includes a missing template', () =>
    expect(refusal('{{> partials/nothing}}')).toThrow(/no template "partials\/nothing"/));
  it('chooses a partial at run time', () => expect(refusal('{{> (lookup . "name")}}')).toThrow(/must be written out/));
  it('is malformed', () => expect(refusal('<p>\n{{#if a}}')).toThrow(/page\.hbs:\d/));
});

describe('the output of a template', () => {
  const hostile = '"><script>alert(1)</script>';

  it('is escaped as text and in attributes', () => {
    expect(render('<p title="{{a}}">{{a}}</p>', { a: hostile })).not.toContain('<script>');
  });
  it('is HTML if a plugin marks it as safe', () => {
    expect(render('{{a}}', { a: new SafeHtml('<b>x</b>') })).toBe('<b>x</b>');
  });
  it('never links to a script or accidentally to another site', () => {
    for (const address of [
      'javascript:alert(1)',
      'data:text/html,x',
      '//evil.example',
      '/\\evil.example',
      ' javascript:alert(1)',
    ]) {
      expect(render('<a href="{{url a}}">', { a: address })).toBe('<a href="#">');
    }
    expect(render('<a href="{{url "/u/" a}}">', { a: '../x y' })).toBe('<a href="/u/..%2Fx%20y">');
    expect(render('<a href="{{url "/s" q=a page=b}}">', { a: 'x&y', b: undefined })).toBe('<a href="/s?q=x%26y">');
  });
  it('cannot end its data block', () => {
    expect(render('<script type="application/json">{{json a}}</script>', { a: { b: hostile } })).not.toContain(
      '</script><',
    );
  });
  it('can access only its own data', () => {
    expect(render('{{constructor.name}}{{a.constructor.name}}{{a.__proto__}}{{@constructor.name}}', { a: {} })).toBe(
      '',
    );
  });
  it('shows relative times', () => {
    expect(render('{{rel a}}', { a: '2026-01-15T09:00:00Z' })).toContain('>3 hr. ago</time>');
    expect(render('{{rel a}}', { a: '2026-01-14T09:00:00Z' })).toContain('>yesterday</time>');
    expect(render('{{rel a}}', { a: '2025-12-10T09:00:00Z' })).toContain('>1 mo. ago</time>');
    expect(render('{{rel a}}', { a: '2024-10-10T09:00:00Z' })).toContain('>1 yr. ago</time>');
    expect(render('{{rel a}}', { a: 'nonsense' })).toBe('');
  });

  it('knows how long a relative time is current', () => {
    const minute = 60_000;
    const ages = [
      0, 0.3, 1, 1.5, 59, 60, 61, 300, 1_439, 1_440, 9_000, 20_159, 20_160, 40_000, 43_829, 50_000, 600_000, 3e6,
    ];
    for (const age of ages.flatMap((minutes) => [minutes * minute, -minutes * minute])) {
      const date = new Date(scope.now - age);
      const shown = (now: number): string => locales.get('en').relative(date, now);
      const until = relativeUntil(date, scope.now);
      expect(until, `${age} ms`).toBeGreaterThanOrEqual(scope.now);
      expect(shown(Math.max(scope.now, until - 1)), `${age} ms`).toBe(shown(scope.now));
      expect(shown(until + 1), `${age} ms`).not.toBe(shown(scope.now));
    }
  });
  it('includes the CSRF token in every form', () => {
    expect(render('{{#form "/x" class="y"}}z{{/form}}')).toMatch(
      /^<form method="post" action="\/x" class="y"><input type="hidden" name="_csrf" value="[^"]+">z<\/form>$/,
    );
  });
});

describe('themes', () => {
  it('wrap partials of their parent', () => {
    const shown = render('{{> partials/notice text="Saved"}}', {}, 'child');
    expect(shown).toMatch(/^<div class="wrapped"><div class="notice info"/);
    expect(shown).toContain('Saved');
  });
  it('override single tokens and keep the rest', () => {
    const { color } = chainTokens(loadChain('child', FOLDERS));
    expect(color['accent']?.light).toBe('#7a1f5c');
    expect(color['text']?.light).toBe('oklch(23.5% .015 265)');
  });
  it('add icons, with joined paths that each start at their own position', () => {
    const icons = chainIcons(loadChain('child', FOLDERS));
    expect(icons.get('oar')).toBe('M4 20L20 4M0 0m5 5 2 2');
    expect(icons.get('check')).toBe('M5 12.5l4.5 4.5L19 7.5');
  });
  it('that do not exist are reported with a hint', () => {
    expect(() => loadChain('harbour', FOLDERS)).toThrow(/no theme "harbour"; install it/);
  });
  it('with links to other files are refused, as those would become public', () => {
    for (const at of ['assets/css/own.css', 'templates/partials/notice.hbs', 'locales/en.json', 'assets']) {
      const themes = mkdtempSync(join(tmpdir(), 'themes-'));
      const file = join(themes, 'harbour', at);
      mkdirSync(dirname(file), { recursive: true });
      const manifest = { id: 'harbour', name: 'Harbour', version: '1.0.0', api: 1, styles: ['css/own.css'] };
      writeFileSync(join(themes, 'harbour/theme.json'), JSON.stringify(manifest));
      writeFileSync(join(themes, 'secret'), '{"root": "key"}');
      symlinkSync(at === 'assets' ? themes : join(themes, 'secret'), file);
      expect(() => loadChain('harbour', [themes, ...FOLDERS])).toThrow(`"harbour" cannot be used: ${at} is a link`);
      // Files of its author's tools are not read.
      mkdirSync(join(themes, 'harbour/node_modules'));
      renameSync(file, join(themes, 'harbour/node_modules/tool'));
      expect(loadChain('harbour', [themes, ...FOLDERS])).toHaveLength(2);
    }
  });
  it('may add a language: their own texts first, English for missing ones', () => {
    expect(locales.get('en', 'UTC').key).toBe(locales.get('en').key);
    expect(locales.get('en', 'Asia/Tokyo').key).not.toBe(locales.get('en').key);
    const german = locales.get(locales.choose([], 'de-AT,en;q=0.5', 'en'));
    expect(german.text('theme:log-in')).toBe('Anmelden');
    expect(german.text('theme:discussion-count', { count: 1 })).toBe('1 Diskussion');
    expect(german.text('theme:discussion-count', { count: 1200 })).toBe('1.200 Diskussionen');
    expect(german.text('theme:english-alone')).toBe('In English alone');
    expect(locales.choose([], 'pt-BR', 'en')).toBe('en');
  });
});

it('every bundled view and partial is valid', async () => {
  const templates = new Templates(
    loadChain('default', FOLDERS),
    createHelpers(() => scope),
    (id) => join(ROOT, 'plugins', id),
  );
  const own = await readdir(join(ROOT, 'themes/default/templates'), { recursive: true });
  const views = (await readdir(join(ROOT, 'plugins'), { recursive: true }))
    .map((file) => /^([a-z-]+)\/views\/(.+)\.hbs$/.exec(file))
    .filter((found) => found !== null);
  const names = [
    ...own.filter((file) => file.endsWith('.hbs')).map((file) => file.slice(0, -4)),
    ...views.map(([, id, name]) => `@${id}/${name}`),
  ];
  expect(names.length).toBeGreaterThan(30);
  for (const name of names) expect(() => templates.get(name), name).not.toThrow();
});

it('a text accepts the output of other helpers, and lists', () => {
  const at = new Date('2026-01-14T12:00:00Z');
  expect(render('{{t "theme:account-menu" name=(rel at)}}', { at })).toContain('yesterday');
  expect(render('{{t "theme:account-menu" name=names}}', { names: ['ann', 'bo'] })).toBe('Account of ann,bo');
  const { key, values } = phrase('theme:post.number', { number: 7 });
  expect(render('{{t "theme:account-menu" name=name}}', { name: { key, values } })).toBe('Account of post 7');
});
