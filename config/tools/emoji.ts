/**
 * Writes the files with emoji names and their translations that browsers load, from a folder with the unpacked npm
 * package `emojibase-data`: `node config/tools/emoji.ts FOLDER`. New emoji are released once a year.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Emoji {
  readonly hexcode: string;
  readonly emoji: string;
  readonly label: string;
  readonly tags?: readonly string[];
  readonly order?: number;
  readonly group?: number;
  readonly version: number;
  readonly skins?: readonly { readonly emoji: string; readonly tone: number | readonly number[] }[];
}
/** The newest version that devices of recent years can display. */
const NEWEST = 16;
/** The group of characters that are only components of emoji. */
const COMPONENTS = 'component';
const LIGHTEST = 0x1f3fb;

const [folder = ''] = process.argv.slice(2);
/** Languages besides English. */
const LANGUAGES = ['de'];
const read = <T>(path: string, language = 'en'): T =>
  JSON.parse(readFileSync(join(folder, language, path), 'utf8')) as T;
const { groups } = read<{ groups: readonly { readonly key: string; readonly order: number }[] }>('messages.json');
const namesIn = (set: string) => read<Readonly<Record<string, string | readonly string[]>>>(`shortcodes/${set}.json`);
const [known, others] = [namesIn('github'), namesIn('cldr')];

const namesOf = (hexcode: string): readonly string[] =>
  [known[hexcode] ?? known[hexcode.replaceAll('-FE0F', '')] ?? others[hexcode] ?? []].flat();

/** Whether each skin tone is formed by its modifier after the first character: only those are offered. */
const takesTones = ({ emoji, skins = [] }: Emoji): boolean => {
  const [first, ...rest] = [...emoji.replace(/^(.)\ufe0f/u, '$1')];
  const toned = (tone: number): string => [first, String.fromCodePoint(LIGHTEST + tone - 1), ...rest].join('');
  return skins.some(({ tone, emoji: drawn }) => typeof tone === 'number' && drawn === toned(tone));
};

const all = read<readonly Emoji[]>('data.json').filter(({ version }) => version <= NEWEST);
const inOrder = all.toSorted((a, b) => (a.order ?? 0) - (b.order ?? 0));
const kinds = groups
  .filter(({ key }) => key !== COMPONENTS)
  .map(({ key, order }) => ({
    key,
    emoji: inOrder.filter(({ group, hexcode }) => group === order && namesOf(hexcode).length > 0),
  }));
const write = (file: string, lineOf: (one: Emoji) => string): void => {
  const lines = kinds.map(({ key, emoji }) => [key, emoji.map(lineOf).join('\n')]);
  writeFileSync(`plugins/emoji/public/${file}`, `${JSON.stringify(Object.fromEntries(lines))}\n`);
};

write('emoji.json', (one) => [one.emoji + (takesTones(one) ? '*' : ''), ...namesOf(one.hexcode)].join(' '));
for (const language of LANGUAGES) {
  const words = new Map(read<readonly Emoji[]>('data.json', language).map((one) => [one.hexcode, one]));
  // Words contained in the name need not be listed, as the name is searched too.
  write(`emoji.${language}.json`, ({ hexcode }) => {
    const { label = '', tags = [] } = words.get(hexcode) ?? {};
    const others = tags.filter((tag) => !label.toLowerCase().includes(tag.toLowerCase()));
    return [label, ...others].map((word) => word.replaceAll('|', ' ')).join('|');
  });
}
