import { request, store } from '@forum/client';

export interface Emoji {
  readonly emoji: string;
  /** The first name is the one shown. */
  readonly names: readonly string[];
  /** Its name and keywords in the language of the page; empty for English, where the names serve as words. */
  readonly words: readonly string[];
  /** Whether it supports skin tones. */
  readonly toned: boolean;
}
/** The emoji of a group, under the group's id. */
export interface EmojiGroup {
  readonly name: string;
  readonly emoji: readonly Emoji[];
}

/** The first of the skin tone modifiers. */
const LIGHTEST = 0x1f3fb;
const TONE = 'emoji-tone';

/** Languages with translated words, besides English. */
const LANGUAGES = ['de'];

let loading: Promise<readonly EmojiGroup[]> | undefined;

/** All emoji groups, loaded on first use. */
export function emojiGroups(): Promise<readonly EmojiGroup[]> {
  loading ??= load();
  loading.catch(() => (loading = undefined));
  return loading;
}

async function load(): Promise<readonly EmojiGroup[]> {
  const { lang } = document.documentElement;
  const [groups, words] = await Promise.all([
    lines('emoji.json'),
    // Without the words, emoji can still be found by name.
    LANGUAGES.includes(lang) ? lines(`emoji.${lang}.json`).catch(() => undefined) : undefined,
  ]);
  return Object.entries(groups).map(([name, all]) => ({
    name,
    emoji: all.map((line, at) => emojiOf(line, words?.[name]?.[at])),
  }));
}

/** By group, one line per emoji; the same line number means the same emoji in every file. */
async function lines(file: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const response = await request(new URL(file, import.meta.url).href);
  if (!response.ok) throw new Error(response.statusText);
  const groups = (await response.json()) as Readonly<Record<string, string>>;
  return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, text.split('\n')]));
}

function emojiOf(line: string, words = ''): Emoji {
  const [sign = '', ...names] = line.split(' ');
  return {
    emoji: sign.replace(/\*$/, ''),
    names,
    words: words.split('|').filter((word) => word !== ''),
    toned: sign.endsWith('*'),
  };
}

/**
 * The name or word of an emoji that contains the letters: preferably one that starts with them, and words in the page's
 * language before names.
 */
export function calledLike({ names, words }: Emoji, letters: string): string | undefined {
  const low = letters.toLowerCase();
  const called = [...words.filter((word) => has(word, low)), ...names.filter((name) => has(name, low))];
  return called.find((one) => begins(one, low)) ?? called[0];
}
/** Normalizes names and words for comparison. */
const plain = (text: string): string => text.toLowerCase().replaceAll('_', ' ');
const has = (text: string, low: string): boolean => plain(text).includes(plain(low));
const begins = (text: string, low: string): boolean => plain(text).startsWith(plain(low));

/** The emoji with a name or word that contains the text; those where it starts with the text come first. */
export async function emojiNamed(text: string): Promise<readonly Emoji[]> {
  const found = (await emojiGroups()).flatMap(({ emoji }) =>
    emoji.flatMap((one) => {
      const called = calledLike(one, text);
      return called === undefined ? [] : [{ one, rank: begins(called, text) ? 0 : 1 }];
    }),
  );
  return found.toSorted((a, b) => a.rank - b.rank).map(({ one }) => one);
}

/** The skin tone chosen on this device: 1 to 5 from light to dark, 0 for none. */
export const skinTone = {
  get: (): number => Number(/^[1-5]$/.exec(store.get(TONE) ?? '')?.[0] ?? 0),
  set: (tone: number): void => store.set(TONE, tone === 0 ? undefined : String(tone)),
};

/** The emoji to insert, with the chosen skin tone if it supports one. */
export function written({ emoji, toned }: Emoji): string {
  const tone = skinTone.get();
  if (!toned || tone === 0) return emoji;
  // A skin tone modifier takes the place of the variation selector: both request emoji presentation.
  const [first, ...others] = [...emoji.replace(/^(.)\ufe0f/u, '$1')];
  return [first, String.fromCodePoint(LIGHTEST + tone - 1), ...others].join('');
}
