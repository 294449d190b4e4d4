import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PinPlace } from 'parley-forum/plugins/discussions';

interface DemoCategory {
  readonly slug: string;
  readonly name: string;
  readonly description: string;
  readonly hue: number;
  readonly icon: string;
  readonly asks_for_answers?: boolean;
}
interface DemoMember {
  readonly username: string;
  readonly name?: string;
  readonly group: 'admin' | 'moderator' | 'member';
  readonly joined_days_ago: number;
  readonly bio: string;
}
interface DemoPost {
  readonly author: string;
  /** Milliseconds after the discussion's first post. */
  readonly after: number;
  readonly content: string;
  /** The number of the post it replies to. */
  readonly to: number | undefined;
}
/**
 * A member's bookmark of a post. The discussion is named by its file without the extension; posts are numbered from 1.
 */
interface DemoBookmark {
  readonly discussion: string;
  readonly post: number;
  readonly member: string;
  readonly note: string;
}
/** A reply posted during the installation, so that the members concerned are notified. */
interface DemoReply {
  readonly discussion: string;
  readonly author: string;
  readonly content: string;
}
/** A conversation between members. */
interface DemoConversation {
  readonly subject: string;
  readonly members: readonly string[];
  readonly messages: readonly DemoMessage[];
}
interface DemoMessage {
  readonly author: string;
  /** How long ago, such as `20h`. */
  readonly sent: string;
  readonly content: string;
}
export interface DemoDiscussion {
  /** The file below content/discussions, without the extension. */
  readonly file: string;
  readonly title: string;
  /** The category's slug, which is the name of the folder. */
  readonly category: string;
  readonly author: string;
  /** The age in milliseconds. */
  readonly age: number;
  readonly views: number;
  readonly tags: readonly string[];
  readonly pinned: PinPlace | undefined;
  readonly locked: boolean;
  /** The number of the accepted answer's post. */
  readonly answer: number | undefined;
  readonly posts: readonly DemoPost[];
}
export interface Content {
  readonly categories: readonly DemoCategory[];
  readonly members: readonly DemoMember[];
  /** Oldest first. */
  readonly discussions: readonly DemoDiscussion[];
  readonly bookmarks: readonly DemoBookmark[];
  readonly replies: readonly DemoReply[];
  readonly conversations: readonly DemoConversation[];
}

const FOLDER = join(import.meta.dirname, 'content');
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Minutes over which the discussions of a day are spread, so that not all start at the same time of day. */
const SPREAD = 840;

/** Milliseconds of a duration such as `20h`. */
export const lengthOf = (text: string): number | undefined => {
  const found = /^(\d+)([mhd])$/.exec(text);
  return found ? Number(found[1]) * UNITS[found[2]!]! : undefined;
};

/** A number derived from the text, always the same for the same text. */
const minuteOf = (text: string): number =>
  [...text].reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)!) % SPREAD, 7);

/** Everything under content/. */
export async function readContent(folder: string = FOLDER): Promise<Content> {
  const json = async <T>(name: string): Promise<T> => JSON.parse(await readFile(join(folder, name), 'utf8')) as T;
  const names = (await readdir(join(folder, 'discussions'), { recursive: true }))
    .filter((name) => name.endsWith('.md'))
    .sort();
  const discussions = await Promise.all(
    names.map(async (name) => parseDiscussion(name, await readFile(join(folder, 'discussions', name), 'utf8'))),
  );
  return {
    categories: await json<DemoCategory[]>('categories.json'),
    members: await json<DemoMember[]>('members.json'),
    discussions: discussions.toSorted((a, b) => b.age - a.age),
    bookmarks: await json<DemoBookmark[]>('bookmarks.json'),
    replies: await json<DemoReply[]>('replies.json'),
    conversations: await json<DemoConversation[]>('conversations.json'),
  };
}

/**
 * Parses header lines, then posts under `=== username +2h`; the time of each post is relative to the previous one. A
 * trailing `to 3` says which post it replies to. Throws an error naming the file and line.
 */
export function parseDiscussion(name: string, text: string): DemoDiscussion {
  const lines = text.split('\n');
  const fail = (at: number, wanted: string): never => {
    throw new Error(`${name}:${at + 1}: expected ${wanted}, found "${lines[at] ?? 'the end'}"`);
  };
  const begin = lines.findIndex((line) => line.startsWith('=== '));
  if (begin < 0) fail(lines.length, 'a post beginning with "=== username"');
  const header = new Map<string, string>();
  for (const [at, line] of lines.slice(0, begin).entries()) {
    const colon = line.indexOf(': ');
    if (line.trim() === '') continue;
    if (colon < 0) fail(at, '"name: value"');
    header.set(line.slice(0, colon), line.slice(colon + 2).trim());
  }
  const field = (key: string): string => header.get(key) ?? fail(0, `a header line "${key}: …"`);
  const posts = parsePosts(lines, begin, fail);
  const age = lengthOf(field('started')) ?? fail(0, '"started: 12d"');
  if (posts[0]!.author !== field('author')) fail(begin, `the first post to be by ${field('author')}`);
  return {
    file: name.replace(/\.md$/, ''),
    title: field('title'),
    category: name.split('/')[0]!,
    author: field('author'),
    age: age + minuteOf(name) * UNITS['m']!,
    views: Number(header.get('views') ?? 0),
    tags: (header.get('tags') ?? '')
      .split(',')
      .map((tag) => tag.trim())
      .filter(Boolean),
    pinned: header.get('pinned') as PinPlace | undefined,
    locked: header.get('locked') === 'yes',
    answer: header.has('answer') ? Number(header.get('answer')) : undefined,
    posts,
  };
}

function parsePosts(
  lines: readonly string[],
  begin: number,
  fail: (at: number, wanted: string) => never,
): readonly DemoPost[] {
  const starts = lines
    .keys()
    .filter((at) => at >= begin && lines[at]!.startsWith('=== '))
    .toArray();
  let after = 0;
  return starts.map((at, index) => {
    const found =
      /^=== (\S+)(?: \+(\d+[mhd]))?(?: to (\d+))?$/.exec(lines[at]!.trim()) ?? fail(at, '"=== username +2h"');
    if (found[2] === undefined && index > 0) fail(at, 'the time since the previous post, such as "+2h"');
    after += lengthOf(found[2] ?? '0m')!;
    const content = lines
      .slice(at + 1, starts[index + 1] ?? lines.length)
      .join('\n')
      .trim();
    if (content === '') fail(at + 1, 'the text of a post');
    const to = found[3] === undefined ? undefined : Number(found[3]);
    if (to !== undefined && (to < 2 || to > index)) fail(at, 'the number of an earlier reply after “to”');
    return { author: found[1]!, after, content, to };
  });
}
