import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '..');
type Message = string | Readonly<Record<string, string>>;

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const messagesOf = (file: string): Readonly<Record<string, Message>> => JSON.parse(read(file));
const find = (pattern: string): readonly string[] => globSync(pattern, { cwd: ROOT }).toSorted();
const formsOf = (message: Message): readonly string[] =>
  typeof message === 'string' ? [message] : Object.values(message);
const placeholdersIn = (message: Message): readonly string[] =>
  [...new Set(formsOf(message).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].toSorted();

const folders = find('{plugins,themes}/*/locales/en.json').map((file) => dirname(file));
const translations = folders.flatMap((folder) =>
  find(`${folder}/*.json`).filter((file) => basename(file) !== 'en.json'),
);
/** The English texts, under the names by which templates and code refer to them. */
const known = new Set(
  folders.flatMap((folder) => {
    const owner = folder.startsWith('themes/') ? 'theme' : basename(dirname(folder));
    return Object.keys(messagesOf(`${folder}/en.json`)).map((key) => `${owner}:${key}`);
  }),
);

describe('a translation', () => {
  test('exists for every folder of texts in each language that the theme offers', () => {
    const offered = find('themes/default/locales/*.json').map((file) => basename(file));
    expect(folders.map((folder) => [folder, find(`${folder}/*.json`).map((file) => basename(file))])).toEqual(
      folders.map((folder) => [folder, offered]),
    );
  });

  test.each(translations)('has the same keys and placeholders as English: %s', (file) => {
    const english = messagesOf(join(dirname(file), 'en.json'));
    const translated = messagesOf(file);
    expect(Object.keys(translated)).toEqual(Object.keys(english));
    expect(
      Object.entries(translated).filter(
        ([key, message]) => placeholdersIn(message).join() !== placeholdersIn(english[key]!).join(),
      ),
    ).toEqual([]);
  });

  test.each(translations)('has the plural forms of its language: %s', (file) => {
    const { pluralCategories } = new Intl.PluralRules(basename(file, '.json')).resolvedOptions();
    const wrong = Object.entries(messagesOf(file)).filter(
      ([, message]) =>
        typeof message !== 'string' && Object.keys(message).toSorted().join() !== pluralCategories.toSorted().join(),
    );
    expect(wrong).toEqual([]);
  });
});

test.each(find('{plugins,themes}/*/locales/**/*.json'))('no key occurs twice: %s', (file) => {
  const keys = [...read(file).matchAll(/^ {2}("(?:[^"\\]|\\.)*"):/gm)].map(([, key]) => JSON.parse(key!) as string);
  expect(keys.toSorted()).toEqual(Object.keys(messagesOf(file)).toSorted());
});

test('every text that a template or the code refers to exists', () => {
  const named = [
    ...find('{plugins,themes}/*/{views,templates}/**/*.hbs').flatMap((file) =>
      [...read(file).matchAll(/\b(?:t|plural) "([a-z][a-z0-9-]*:[^"]+)"/g)].map(([, key]) => ({ file, key: key! })),
    ),
    ...find('plugins/**/*.ts').flatMap((file) =>
      [...read(file).matchAll(/\b(?:phrase|text)\(\s*'([a-z][a-z0-9-]*:[^']+)'/g)].map(([, key]) => ({
        file,
        key: key!,
      })),
    ),
  ];
  expect(named.length).toBeGreaterThan(1_000);
  expect(named.filter(({ key }) => !known.has(key))).toEqual([]);
});
