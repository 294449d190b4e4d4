import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Console } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { miscounted, startForum, type TestForum } from 'parley-forum/testing';
import { runCommand } from '../../../core/cli/run-command.ts';
import { readContent, type Content } from '../../../plugins/demo/content.ts';

let site: TestForum;
let content: Content;
const lines: string[] = [];
const console: Console = {
  terminal: false,
  columns: 80,
  print: (line) => void lines.push(line),
  progress: () => undefined,
  secret: () => Promise.resolve(undefined),
};
const run = async (...words: string[]): Promise<readonly string[]> => {
  lines.length = 0;
  await runCommand(site.app, words, console);
  return [...lines];
};

const passwordOf = (printed: readonly string[], username: string): string =>
  printed.map((line) => line.trim().split(/\s+/)).find(([name]) => name === username)![1]!;

beforeAll(async () => {
  site = await startForum({ realClock: true });
  content = await readContent();
  await run('demo');
});
afterAll(() => site[Symbol.asyncDispose]());

describe('the demo', () => {
  test('prints the address and three working logins, the same every time', async () => {
    const [first, second] = [await run('demo'), await run('demo')];
    expect(second).toEqual(first);
    expect(first.join('\n')).toContain('http://forum.test');
    // After `secret rotate` they differ from those of the accounts.
    expect(first.join('\n')).toContain(
      'unless these passwords, or the root key from which they are derived, were changed since',
    );
    for (const name of ['ingrid', 'mira.k', 'nadia.r']) await site.client().login(name, passwordOf(first, name));
  });

  test('creates every member with their group and join date', async () => {
    const groups = await Promise.all(
      content.members.map(
        async ({ username }) => (await site.app.service(Accounts).findByIdentifier(username))?.groupId,
      ),
    );
    expect(groups).toEqual(content.members.map(({ group }) => group));
    const grete = await site.app.service(Accounts).findByIdentifier('grete');
    expect(Math.round((Date.now() - grete!.joinedAt.getTime()) / 86_400_000)).toBe(
      content.members.find(({ username }) => username === 'grete')!.joined_days_ago,
    );
  });

  test('has one administrator, whose login is printed', async () => {
    const { accounts } = await site.app.service(Accounts).search({ text: '', groupId: 'admin', limit: 10, offset: 0 });
    expect(accounts.map(({ username }) => username)).toEqual(['ingrid']);
  });

  test('creates private messages, some of them unread', async () => {
    const nadia = site.client();
    await nadia.login('nadia.r', passwordOf(await run('demo'), 'nadia.r'));
    const { conversations } = (await nadia.get('/api/conversations')).body;
    expect(conversations).toMatchObject([
      { subject: '3c', message_count: 3, unread_count: 1, last_message: { author: { username: 'sam.t' } } },
      { subject: 'Your jib, and an honest price', message_count: 4, unread_count: 0 },
    ]);
    const [{ id }] = conversations;
    const { messages } = (await nadia.get(`/api/conversations/${id}/messages`)).body;
    expect(messages.map(({ number }: { number: number }) => number)).toEqual([1, 2, 3]);
    expect(messages[1].html).toContain('<strong>wet</strong>');
    expect(await miscounted(site)).toEqual([]);
  });

  test.each([
    ['ingrid', 1],
    ['mira.k', 1],
    ['nadia.r', 2],
  ])('notifies %s of mentions', async (name, count) => {
    const member = site.client();
    await member.login(name, passwordOf(await run('demo'), name));
    await expect.poll(async () => (await member.get('/api/notifications/count')).body.count).toBe(count);
    const { notifications } = (await member.get('/api/notifications')).body;
    expect(notifications.map(({ type }: { type: string }) => type)).toEqual(Array(count).fill('mention'));
  });

  test('creates every discussion with all its posts in its category', async () => {
    const { body } = await site.client().get('/api/categories');
    for (const { slug } of content.categories) {
      const expected = content.discussions.filter(({ category }) => category === slug);
      const shown = body.categories.find((category: { slug: string }) => category.slug === slug);
      expect(shown, slug).toMatchObject({
        discussion_count: expected.length,
        post_count:
          expected.reduce((sum, { posts }) => sum + posts.length, 0) +
          content.replies.filter(({ discussion }) => discussion.startsWith(`${slug}/`)).length,
      });
    }
    expect(body.categories.map(({ slug }: { slug: string }) => slug)).toEqual(
      content.categories.map(({ slug }) => slug),
    );
  });

  test('shows rendered texts, authors, pins and locks as written', async () => {
    const rules = content.discussions.find(({ title }) => title.startsWith('House rules'))!;
    const { body } = await site.client().get('/api/discussions?category_id=announcements&limit=100');
    const found = body.discussions.find(({ title }: { title: string }) => title === rules.title);
    expect(found).toMatchObject({
      pinned_in: rules.pinned,
      reply_count: rules.posts.length - 1,
      author: { username: rules.author },
    });
    expect(found.view_count).toBeGreaterThanOrEqual(rules.views);
    expect(found.html).toContain('<strong>Be kind to beginners.</strong>');
    const all = await site.client().get('/api/discussions?limit=100');
    const locked = all.body.discussions
      .filter((one: { is_locked: boolean }) => one.is_locked)
      .map(({ title }: { title: string }) => title);
    expect(content.discussions.filter((one) => one.locked).map(({ title }) => title)).toEqual(
      expect.arrayContaining(locked),
    );
  });
});

describe('demo discussions', () => {
  test('have the tags given in their files', async () => {
    const wanted = new Set(content.discussions.flatMap(({ tags }) => tags));
    const { tags } = (await site.client().get('/api/tags?limit=100')).body;
    expect(tags.length).toBe(Math.min(wanted.size, 100));
    const [most] = tags;
    expect(most.discussion_count).toBe(content.discussions.filter((one) => one.tags.includes(most.name)).length);
  });

  test('have reactions from others than their authors', async () => {
    const { discussions } = (await site.client().get('/api/discussions?limit=100&sort=oldest')).body;
    const posts = (
      await Promise.all(
        discussions
          .slice(0, 20)
          .map(async ({ id }: { id: string }) => (await site.client().get(`/api/discussions/${id}`)).body.posts),
      )
    ).flat();
    const liked = posts.filter(({ reactions }) => reactions.length > 0);
    expect(liked.length).toBeGreaterThan(posts.length / 10);
    expect(liked.length).toBeLessThan(posts.length);
    const { reactions } = (await site.client().get(`/api/reactions/post/${liked[0].id}`)).body;
    expect(
      reactions.flatMap(({ users }: { users: readonly { id: string }[] }) => users.map(({ id }) => id)),
    ).not.toContain(liked[0].author.id);
  });
});

describe('the first login to the demo', () => {
  test.each(['ingrid', 'mira.k', 'nadia.r'])(
    'shows unread discussions to %s, some partly read and some new',
    async (name) => {
      const client = site.client();
      await client.login(name, passwordOf(await run('demo'), name));
      const { discussions } = (await client.get('/api/unread?limit=100')).body as {
        discussions: readonly { id: string; last_read_number: number; unread_count: number; reply_count: number }[];
      };
      const begun = discussions.filter(({ last_read_number: read }) => read > 0);
      expect(begun.length).toBeGreaterThan(1);
      expect(discussions.length - begun.length).toBeGreaterThan(0);
      expect(discussions.length).toBeLessThan(40);
      for (const { last_read_number: read, unread_count: unread, reply_count: replies } of discussions)
        expect(read + unread).toBe(replies + 1);
      const { text } = await client.get('/');
      expect(text).toMatch(/\d+ new/);
      // Their own posts count as read.
      const { posts } = (await client.get('/api/users/posts?limit=100')).body as {
        posts: readonly { discussion_id: string; number: number }[];
      };
      const unread = new Map(discussions.map(({ id, last_read_number: read }) => [id, read]));
      expect(posts.filter(({ discussion_id: id, number }) => number > (unread.get(id) ?? number))).toEqual([]);
    },
  );
});

describe('seeding', () => {
  test('adds exactly what was requested, and every counter agrees', async () => {
    const before = await totals();
    expect((await run('seed', '--discussions', '9', '--posts', '60', '--users', '4')).join()).toMatch(
      /^4 members, 9 discussions, 60 posts in \d+ s\.$/,
    );
    const after = await totals();
    expect(after.discussions - before.discussions).toBe(9);
    expect(after.posts - before.posts).toBe(60);
    expect(after.replies - before.replies).toBe(51);
  });

  test('adds other members when it is repeated', async () => {
    expect((await run('seed', '--discussions', '0', '--posts', '0', '--users', '3')).join()).toContain(
      '3 members, 0 discussions',
    );
  });

  test('refuses fewer posts than discussions, since each has a first one', async () => {
    await expect(run('seed', '--discussions', '10', '--posts', '5')).rejects.toThrow(
      '--posts 5 is fewer than --discussions 10; every discussion has a first post',
    );
  });
});

/** Totals as visitors see them, by category and over every discussion. */
async function totals(): Promise<{ discussions: number; posts: number; replies: number }> {
  const client = site.client();
  const { categories } = (await client.get('/api/categories')).body as {
    categories: readonly { discussion_count: number; post_count: number }[];
  };
  let replies = 0;
  for (let offset = 0, more = true; more; offset += 100) {
    const { body } = await client.get(`/api/discussions?limit=100&offset=${offset}`);
    replies += body.discussions.reduce((sum: number, one: { reply_count: number }) => sum + one.reply_count, 0);
    more = body.hasMore;
  }
  const sum = (read: (category: (typeof categories)[number]) => number): number =>
    categories.reduce((total, category) => total + read(category), 0);
  return { discussions: sum((one) => one.discussion_count), posts: sum((one) => one.post_count), replies };
}
