import { readdir, readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { lengthOf, parseDiscussion, readContent, type Content } from '../../../plugins/demo/content.ts';

const FOLDER = resolve(import.meta.dirname, '../../../plugins/demo');
const MINUTE = 60_000;
const DAY = 86_400_000;

let content: Content;
beforeAll(async () => void (content = await readContent()));

describe('the demo content', () => {
  test('is read completely: every file is a discussion', async () => {
    const files = (await readdir(join(FOLDER, 'content/discussions'), { recursive: true })).filter((name) =>
      name.endsWith('.md'),
    );
    expect(files.length).toBeGreaterThanOrEqual(120);
    expect(content.discussions).toHaveLength(files.length);
    const headings = await Promise.all(
      files.map(
        async (name) => (await readFile(join(FOLDER, 'content/discussions', name), 'utf8')).match(/^=== /gm)!.length,
      ),
    );
    expect(content.discussions.reduce((sum, { posts }) => sum + posts.length, 0)).toBe(
      headings.reduce((sum, count) => sum + count, 0),
    );
  });

  test('is written by its members after they joined, and never in the future', () => {
    const joined = new Map(content.members.map(({ username, joined_days_ago: days }) => [username, days * DAY]));
    for (const { title, age, posts } of content.discussions) {
      for (const { author, after } of posts) {
        expect(joined.get(author), `${author} in ${title}`).toBeGreaterThan(age - after);
        expect(age, title).toBeGreaterThan(after);
      }
      expect(posts.map(({ after }) => after)).toEqual(posts.map(({ after }) => after).toSorted((a, b) => a - b));
    }
  });

  test('is in existing categories, oldest first', () => {
    const slugs = content.categories.map(({ slug }) => slug);
    for (const { category, title } of content.discussions) expect(slugs, title).toContain(category);
    const ages = content.discussions.map(({ age }) => age);
    expect(ages).toEqual(ages.toSorted((a, b) => b - a));
  });

  test('is bookmarked by its members, each post once', () => {
    const posts = new Map(content.discussions.map(({ file, posts: all }) => [file, all.length]));
    for (const { discussion, post, member } of content.bookmarks) {
      expect(posts.get(discussion), discussion).toBeGreaterThanOrEqual(post);
      expect(content.members.map(({ username }) => username)).toContain(member);
    }
    const keys = content.bookmarks.map(({ discussion, post, member }) => `${discussion} ${post} ${member}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  test('has replies by members to the discussions of others, whom they mention', () => {
    const authors = new Map(content.discussions.map(({ file, author }) => [file, author]));
    for (const { discussion, author, content: text } of content.replies) {
      expect(content.members.map(({ username }) => username)).toContain(author);
      expect(author).not.toBe(authors.get(discussion));
      expect(text, discussion).toContain(`@${authors.get(discussion)}`);
    }
  });

  test('has private messages between members, oldest first', () => {
    const names = content.members.map(({ username }) => username);
    for (const { subject, members, messages } of content.conversations) {
      expect(names, subject).toEqual(expect.arrayContaining([...members]));
      expect(members, subject).toEqual(expect.arrayContaining(messages.map(({ author }) => author)));
      const ages = messages.map(({ sent }) => lengthOf(sent)!);
      expect(ages, subject).toEqual(ages.toSorted((a, b) => b - a));
    }
  });

  test('has accepted answers in categories that ask for them, each a reply', () => {
    const asking = content.categories.filter((one) => one.asks_for_answers).map(({ slug }) => slug);
    const solved = content.discussions.filter(({ answer }) => answer !== undefined);
    expect(solved.length).toBeGreaterThan(0);
    for (const { title, category, answer, posts } of solved) {
      expect(asking, title).toContain(category);
      expect(posts.slice(1), title).toContain(posts[answer! - 1]);
    }
  });

  test('links only to existing pictures', async () => {
    const pictures = await readdir(join(FOLDER, 'public'));
    const linked = new Set(
      content.discussions.flatMap(({ posts }) =>
        posts.flatMap((post) => [...post.content.matchAll(/\/assets\/p\/demo\/([\w.-]+)/g)].map(([, name]) => name!)),
      ),
    );
    expect(linked.size).toBeGreaterThan(0);
    for (const name of linked) expect(pictures).toContain(name);
  });
});

describe('a demo picture', async () => {
  const names = (await readdir(join(FOLDER, 'public'))).filter((name) => name.endsWith('.svg'));

  test.each(names)('%s has a title and neither runs nor loads anything', async (name) => {
    const svg = await readFile(join(FOLDER, 'public', name), 'utf8');
    expect(svg).toMatch(/^<svg [^>]*viewBox="0 0 \d+ \d+"[^>]*>\s*<title[ >]/);
    expect(svg).not.toMatch(/<script|<foreignObject|\son\w+=|href=|url\((?!#)|<!ENTITY|@import/i);
  });
});

describe('a discussion file', () => {
  const text =
    'title: Boats: a list\nauthor: ada\nstarted: 3d\nviews: 12\ntags: wood, tools\npinned: category\n=== ada\nFirst.\n\nStill first.\n=== ben +2h\nSecond.\n=== ada +30m to 2\nThird.\n';

  test('is parsed into a header and posts, with times relative to the previous post', () => {
    const read = parseDiscussion('wood/01-boats.md', text);
    expect(read).toMatchObject({
      title: 'Boats: a list',
      category: 'wood',
      author: 'ada',
      views: 12,
      tags: ['wood', 'tools'],
      pinned: 'category',
      locked: false,
    });
    expect(read.age).toBeGreaterThanOrEqual(3 * DAY);
    expect(read.age).toBeLessThan(4 * DAY);
    expect(read.posts).toMatchObject([
      { author: 'ada', after: 0, content: 'First.\n\nStill first.' },
      { author: 'ben', after: 120 * MINUTE, content: 'Second.' },
      { author: 'ada', after: 150 * MINUTE, content: 'Third.', to: 2 },
    ]);
  });

  test.each([
    ['title: Boats\nauthor: ada\nstarted: 3d\n', 'wood/01.md:5: expected a post beginning with "=== username"'],
    ['author: ada\nstarted: 3d\n=== ada\nHello', 'wood/01.md:1: expected a header line "title: …"'],
    ['title: Boats\nauthor: ada\nstarted: soon\n=== ada\nHello', 'wood/01.md:1: expected "started: 12d"'],
    [
      'title: Boats\nauthor: ada\nstarted: 3d\n=== ben\nHello',
      'wood/01.md:4: expected the first post to be by ada, found "=== ben"',
    ],
    [
      'title: Boats\nauthor: ada\nstarted: 3d\n=== ada\nHello\n=== ben\nMore',
      'wood/01.md:6: expected the time since the previous post, such as "+2h", found "=== ben"',
    ],
    [
      'title: Boats\nauthor: ada\nstarted: 3d\n=== ada\nHello\n=== ben +2h to 3\nMore',
      'wood/01.md:6: expected the number of an earlier reply after “to”, found "=== ben +2h to 3"',
    ],
    ['title: Boats\nauthor: ada\nstarted: 3d\n=== ada\n', 'wood/01.md:5: expected the text of a post'],
  ])('%j is refused with file and line', (wrong, message) => {
    expect(() => parseDiscussion('wood/01.md', wrong)).toThrow(message);
  });
});
