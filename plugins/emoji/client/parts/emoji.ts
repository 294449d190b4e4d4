import { request, store } from '@forum/client';

export interface Emoji {
  readonly emoji: string;
  /** The first one is shown. */
  readonly names: readonly string[];
  /** What it is called in the language of the page, and other words for it; none in English, whose words are its names. */
  readonly words: readonly string[];
  /** Whether it has a colour of skin. */
  readonly toned: boolean;
}
/** Those of a kind, under the id of the kind. */
export interface EmojiGroup {
  readonly name: string;
  readonly emoji: readonly Emoji[];
}

/** The first of the signs that colour skin. */
const LIGHTEST = 0x1f3fb;
const TONE = 'emoji-tone';

/** Languages in which there are words besides English. */
const LANGUAGES = ['de'];

let loading: Promise<readonly EmojiGroup[]> | undefined;

/** All that there are, loaded when they are first asked for. */
export function emojiGroups(): Promise<readonly EmojiGroup[]> {
  loading ??= load();
  loading.catch(() => (loading = undefined));
  return loading;
}

async function load(): Promise<readonly EmojiGroup[]> {
  const { lang } = document.documentElement;
  const [groups, words] = await Promise.all([
    lines('emoji.json'),
    // Without them there are the names still.
    LANGUAGES.includes(lang) ? lines(`emoji.${lang}.json`).catch(() => undefined) : undefined,
  ]);
  return Object.entries(groups).map(([name, all]) => ({
    name,
    emoji: all.map((line, at) => emojiOf(line, words?.[name]?.[at])),
  }));
}

/** By kind, a line for each emoji: the same one in each file. */
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

/** What an emoji is called that has these letters: what begins with them first, and the page's language before names. */
export function calledLike({ names, words }: Emoji, letters: string): string | undefined {
  const low = letters.toLowerCase();
  const called = [...words.filter((word) => has(word, low)), ...names.filter((name) => has(name, low))];
  return called.find((one) => begins(one, low)) ?? called[0];
}
/** As names are written, and as words are. */
const plain = (text: string): string => text.toLowerCase().replaceAll('_', ' ');
const has = (text: string, low: string): boolean => plain(text).includes(plain(low));
const begins = (text: string, low: string): boolean => plain(text).startsWith(plain(low));

/** Those that are called something with these letters, first those for which that begins with them. */
export async function emojiNamed(text: string): Promise<readonly Emoji[]> {
  const found = (await emojiGroups()).flatMap(({ emoji }) =>
    emoji.flatMap((one) => {
      const called = calledLike(one, text);
      return called === undefined ? [] : [{ one, rank: begins(called, text) ? 0 : 1 }];
    }),
  );
  return found.toSorted((a, b) => a.rank - b.rank).map(({ one }) => one);
}

/** The tone of skin that was chosen on this device: 1 to 5 from light to dark, 0 for none. */
export const skinTone = {
  get: (): number => Number(/^[1-5]$/.exec(store.get(TONE) ?? '')?.[0] ?? 0),
  set: (tone: number): void => store.set(TONE, tone === 0 ? undefined : String(tone)),
};

/** An emoji as it is written, in the chosen tone where it has one. */
export function written({ emoji, toned }: Emoji): string {
  const tone = skinTone.get();
  if (!toned || tone === 0) return emoji;
  // The sign of a tone says, as the one it takes the place of does, that this is a picture.
  const [first, ...others] = [...emoji.replace(/^(.)\ufe0f/u, '$1')];
  return [first, String.fromCodePoint(LIGHTEST + tone - 1), ...others].join('');
}
