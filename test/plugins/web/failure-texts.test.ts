import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { InvalidInput, messageOf } from 'parley-forum';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { check, Type } from '../../../core/schema.ts';
import { readFiles } from '../../../config/tools/checks/support/files.ts';
import { nodesOf, parseSource, placeOf } from '../../../config/tools/checks/support/source.ts';
import { inLanguage } from '../../../plugins/web/pages/errors.ts';
import { Locales } from '../../../plugins/web/themes/locales.ts';
import { Sentences } from '../../../plugins/web/themes/sentences.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const PLACEHOLDER = /\{([a-z]+)\}/g;
/** Punctuation between the parts of a message, and words that the sources insert into it. */
const SEAM =
  /\{[a-z]+\}|[,;:] |^You may not |^You were logged out |^must contain |^must be (?=[a-z]+$)|[<>]=?|\b(?:more|fewer|but|the host|others|posts|discussions|resolved|dismissed|KiB)\b/;

const plugins = readdirSync(join(ROOT, 'plugins'))
  .map((plugin) => ({ plugin, file: join(ROOT, 'plugins', plugin, 'locales/failures/de.json') }))
  .filter(({ file }) => existsSync(file))
  .map(({ plugin, file }) => ({
    plugin,
    texts: Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>),
  }));
const failures = new Sentences('failures', {
  plugins: new Map(plugins.map(({ plugin }) => [plugin, join(ROOT, 'plugins', plugin)])),
  themes: [],
});

/** The sources of the messages in a plugin's file: its own; for the pages, also the kernel and the schema validator. */
const sourcesOf = (plugin: string): string =>
  [`plugins/${plugin}`, ...(plugin === 'web' ? ['core', 'node_modules/ajv/lib'] : [])]
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
    )
    .join('\n');
const piecesOf = (sentence: string): readonly string[] =>
  sentence
    .split(SEAM)
    .map((piece) => piece.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ''))
    .filter((piece) => piece.length >= 4);
const placeholdersOf = (text: string): readonly string[] => [...text.matchAll(PLACEHOLDER)].map(([, name]) => name!);
const filled = (text: string): string => text.replace(PLACEHOLDER, (_, name: string) => `<${name}>`);

describe.each(plugins)('the error messages of $plugin', ({ plugin, texts }) => {
  it('occur in its sources, if a translation names them', () => {
    const sources = sourcesOf(plugin);
    expect(texts.flatMap(([sentence]) => piecesOf(sentence)).filter((piece) => !sources.includes(piece))).toEqual([]);
  });

  it('have the same placeholders in German', () => {
    const differs = ([sentence, text]: readonly [string, string]): boolean =>
      placeholdersOf(sentence).toSorted().join() !== placeholdersOf(text).toSorted().join();
    expect(texts.filter(differs)).toEqual([]);
  });

  it('are translated to German by their own translation only', () => {
    const said = texts.map(([sentence]) => [sentence, failures.say('de', filled(sentence))]);
    expect(said).toEqual(texts.map(([sentence, text]) => [sentence, filled(text)]));
  });
});

/** Texts whose pattern requires more than a visible character, in every plugin and the kernel. */
const patterned = ['core', 'plugins']
  .flatMap((folder) => readFiles(ROOT, [folder], /^(?:core|plugins)\/(?!.*\/client\/).*\.ts$/))
  .filter(({ text }) => text.includes('pattern'))
  .map(parseSource)
  .flatMap((source) => [...nodesOf(source)].filter(ts.isCallExpression).map((call) => ({ source, call })))
  .flatMap(({ source, call }) => {
    const [options] = call.expression.getText() === 'Type.String' ? call.arguments : [];
    if (!options || !ts.isObjectLiteralExpression(options)) return [];
    const valueOf = (name: string): string | undefined =>
      options.properties
        .filter(ts.isPropertyAssignment)
        .find((property) =>
          ts.isStringLiteral(property.name) || ts.isIdentifier(property.name) ? property.name.text === name : false,
        )
        ?.initializer.getText();
    const pattern = valueOf('pattern');
    return pattern === undefined || pattern === String.raw`'\\S'`
      ? []
      : [{ place: placeOf(source, call.getStart()), words: valueOf('x-pattern-problem')?.slice(1, -1) }];
  });

describe('a schema pattern', () => {
  it('has a readable error message', () => {
    expect(patterned.length).toBeGreaterThan(5);
    expect(patterned.filter(({ words }) => words === undefined)).toEqual([]);
  });

  it('has a German error message', () => {
    const english = patterned.filter(({ words = '' }) => failures.say('de', words) === words);
    expect(english).toEqual([]);
  });
});

describe('text that does not have its format', () => {
  it.each([
    ['date', 'must be a date such as 2026-01-31', 'muss ein Datum wie 2026-01-31 sein'],
    ['date-time', 'must be a time such as 2026-01-31T12:00:00Z', 'muss eine Zeit wie 2026-01-31T12:00:00Z sein'],
    ['email', 'must be an email address', 'muss eine E-Mail-Adresse sein'],
    ['uri', 'must be a URL such as https://example.org', 'muss eine Adresse wie https://example.org sein'],
    ['uuid', 'must be a UUID', 'muss eine UUID sein'],
    ['ipv4', 'must match format "ipv4"', 'hat nicht die Form „ipv4“'],
  ])('gets an error that says what to write instead: %s', (format, english, german) => {
    const checked = check(Type.Object({ field: Type.String({ format }) }), { field: 'the day after' });
    expect(checked).toEqual({ ok: false, problems: [{ field: 'field', message: english }] });
    expect(failures.say('de', english)).toBe(german);
  });
});

describe('an error message', () => {
  it('is translated together with its values', () => {
    expect(failures.say('de', 'must NOT have more than 20 characters')).toBe('darf höchstens 20 Zeichen haben');
    expect(failures.say('de', 'ada is no longer banned')).toBe('ada ist nicht mehr ausgeschlossen');
  });

  it('that matches several translations uses the most specific one', () => {
    expect(failures.say('de', 'must be at most 5')).toBe('höchstens 5 sind möglich');
    expect(failures.say('de', 'must be at most 64 KiB')).toBe('darf höchstens 64 KiB groß sein');
  });

  it.each(['{ "is required" }', '{ "is required": 5 }', '[]'])(
    'is translated even if the translations of another plugin cannot be used: %s',
    async (text) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'parley-sentences-'));
      await mkdir(join(folder.path, 'locales/failures'), { recursive: true });
      await writeFile(join(folder.path, 'locales/failures/de.json'), text);
      const problems: string[] = [];
      const both = new Sentences('failures', {
        plugins: new Map([
          ['web', join(ROOT, 'plugins/web')],
          ['boats', folder.path],
        ]),
        themes: [],
        unusable: (error) => problems.push(messageOf(error)),
      });
      expect(both.say('de', 'is required')).toBe('fehlt');
      expect(problems).toEqual([expect.stringContaining('locales/failures/de.json')]);
    },
  );

  it('without a translation is unchanged', () =>
    expect(failures.say('de', 'must be as old as the hills')).toBe('must be as old as the hills'));

  it('of more than 500 characters is unchanged', () => {
    const sentence = (name: string): string => `has “${name}”, which is too similar to other tags`;
    expect(failures.say('de', sentence('x'.repeat(400)))).toMatch(/^enthält/);
    expect(failures.say('de', sentence('x'.repeat(500)))).toBe(sentence('x'.repeat(500)));
  });

  it('is unchanged in English', () => expect(failures.say('en', 'is required')).toBe('is required'));

  it('that lists field errors is translated field by field', () => {
    const german = new Locales(() => [], ['de'], { failures }).get('de');
    const { status, code, message, details } = new InvalidInput([
      { field: 'page', message: 'must be integer' },
      { field: 'sort', message: 'is required' },
    ]);
    const pageError = { status, code, message, details, headers: {}, own: false };
    expect(inLanguage(pageError, german)).toMatchObject({
      message: 'page: muss eine ganze Zahl sein; sort: fehlt',
      details: [{ message: 'muss eine ganze Zahl sein' }, { message: 'fehlt' }],
    });
  });
});
