import { request, store } from '@forum/client';

export interface Emoji {
  readonly emoji: string;
  /** The first one is shown. */
  readonly names: readonly string[];
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

let loading: Promise<readonly EmojiGroup[]> | undefined;

/** All that there are, loaded when they are first asked for. */
export function emojiGroups(): Promise<readonly EmojiGroup[]> {
  loading ??= load();
  loading.catch(() => (loading = undefined));
  return loading;
}

async function load(): Promise<readonly EmojiGroup[]> {
  const response = await request(new URL('emoji.json', import.meta.url).href);
  if (!response.ok) throw new Error(response.statusText);
  const groups = (await response.json()) as Readonly<Record<string, string>>;
  return Object.entries(groups).map(([name, lines]) => ({ name, emoji: lines.split('\n').map(emojiOf) }));
}

function emojiOf(line: string): Emoji {
  const [sign = '', ...names] = line.split(' ');
  return { emoji: sign.replace(/\*$/, ''), names, toned: sign.endsWith('*') };
}

/** Those with a name that has these letters: names that begin with them first. */
export async function emojiNamed(text: string): Promise<readonly Emoji[]> {
  const low = text.toLowerCase();
  const found = (await emojiGroups())
    .flatMap(({ emoji }) => emoji)
    .filter(({ names }) => names.some((name) => name.includes(low)));
  const begins = ({ names }: Emoji): number => (names.some((name) => name.startsWith(low)) ? 0 : 1);
  return found.toSorted((a, b) => begins(a) - begins(b));
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
