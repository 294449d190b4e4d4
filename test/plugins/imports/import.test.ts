import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql, type Console } from 'parley-forum';
import { runCommand } from '../../../core/cli/run-command.ts';
import { Accounts } from 'parley-forum/plugins/accounts';
import { useForum } from '../discussions/forum.ts';

const forum = useForum();
const printed: string[] = [];
const console: Console = {
  terminal: false,
  columns: 80,
  print: (line) => void printed.push(line),
  progress: () => undefined,
  secret: () => Promise.resolve(undefined),
};
let folder: string;
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'parley-import-'))));
afterAll(() => rm(folder, { recursive: true }));

/** Runs the command on a file of these lines and resolves to its output without the path of the file. */
async function bring(lines: readonly (object | string)[], ...words: readonly string[]): Promise<readonly string[]> {
  const path = join(folder, 'forum.jsonl');
  await writeFile(path, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
  printed.length = 0;
  await runCommand(forum.app.app, ['import', path, ...words], console);
  return printed.map((line) => line.replace(`${path}: `, ''));
}

const MEMBERS = [
  {
    kind: 'member',
    id: 1,
    username: 'Jürgen Müller',
    email: 'juergen@old.example',
    bio: 'Rigger.',
    joined_at: '2015-03-01T10:00:00Z',
  },
  { kind: 'member', id: '2', username: 'ada', email: 'another.ada@old.example' },
  { kind: 'member', id: 3, username: 'whoever', email: 'bob@forum.test' },
];
const CATEGORIES = [
  { kind: 'category', id: 'boats', name: 'Old boats', description: 'What floats still.', answers: true },
  { kind: 'category', id: 7, name: 'Planks', parent: 'boats', view: 'staff' },
];
const post = (author: string | number, content: string, day: number, more: object = {}) => ({
  author,
  content,
  created_at: `2016-05-${String(day).padStart(2, '0')}T08:00:00Z`,
  ...more,
});
const caulking = {
  kind: 'discussion',
  id: 4711,
  title: 'How long does *caulking* last?',
  category: 'boats',
  tags: ['oakum', 'seams'],
  views: 120,
  locked: true,
  posts: [
    post(1, 'Asking **for a friend**.', 1, { likes: ['2', 3] }),
    post('2', 'Ten years.', 2),
    post(3, 'Less in the sun.', 3, { reply_to: 2, accepted: true }),
  ],
};
const hidden = { kind: 'discussion', id: 'x', title: 'Among us', category: 7, posts: [post(3, 'Hush.', 4)] };
const FILE = [...MEMBERS, ...CATEGORIES, caulking, hidden];

describe('the command import', () => {
  test('only checks the file with --check', async () => {
    expect(await bring(FILE, '--check')).toEqual(['3 members, 2 categories, 2 discussions with 4 posts']);
    expect((await forum.guest.get('/api/discussions')).body.discussions).toEqual([]);
  });

  test('imports members, categories and discussions, with all details of posts', async () => {
    expect(await bring(FILE)).toEqual([
      '3 members, 2 categories, 2 discussions with 4 posts',
      'Imported 2 discussions with 4 posts.',
    ]);
    const [discussion, ...others] = (await forum.guest.get('/api/discussions')).body.discussions;
    expect(others).toEqual([]);
    expect(discussion).toMatchObject({
      title: 'How long does *caulking* last?',
      author: { username: 'Jurgen-Muller', display_name: 'Jürgen Müller' },
      tags: [{ name: 'oakum' }, { name: 'seams' }],
      view_count: 120,
      reply_count: 2,
      is_locked: true,
      created_at: '2016-05-01T08:00:00.000Z',
      last_post_at: '2016-05-03T08:00:00.000Z',
    });
    const { posts } = (await forum.as.ada.get(`/api/discussions/${discussion.id}/posts`)).body;
    expect(posts).toMatchObject([
      {
        number: 1,
        html: '<p dir="auto">Asking <strong>for a friend</strong>.</p>\n',
        reactions: [{ reaction: 'like', count: 2 }],
      },
      { number: 2, author: { username: 'ada-2', display_name: null } },
      { number: 3, author: { username: 'bob' }, reply_to_number: 2, is_accepted_answer: true },
    ]);
    const { user } = (await forum.guest.get(`/api/users/${discussion.author.id}`)).body;
    expect(user).toMatchObject({ bio: 'Rigger.', joined_at: '2015-03-01T10:00:00.000Z', group: { id: 'member' } });
    const staff = (await forum.as.mia.get('/api/discussions?sort=newest')).body.discussions;
    expect(staff.map(({ title }: { title: string }) => title)).toEqual(['Among us', 'How long does *caulking* last?']);
    expect(forum.happened).toEqual([]);
  });

  test('imports nothing twice, but does import what is new in the file', async () => {
    const later = { kind: 'discussion', id: 9, title: 'Later', category: 'boats', posts: [post('2', 'Well?', 9)] };
    expect((await bring(FILE)).at(-1)).toBe(
      'Imported 0 discussions with 0 posts; skipped 2 discussions whose ids were imported before.',
    );
    expect((await bring([...FILE, later])).at(-1)).toBe(
      'Imported 1 discussions with 1 posts; skipped 2 discussions whose ids were imported before.',
    );
    const { discussions } = (await forum.guest.get('/api/discussions?sort=newest')).body;
    expect(discussions.map(({ title }: { title: string }) => title)).toEqual(['Later', caulking.title]);
    expect(discussions[0].author.username).toBe('ada-2');
    const { users } = (await forum.as.mia.get('/api/users/search?q=ada')).body;
    expect(users.map(({ username }: { username: string }) => username).toSorted()).toEqual(['ada', 'ada-2']);
  });

  test('is refused immediately while another import runs, but not once that one is done', async () => {
    const path = join(folder, 'twice.jsonl');
    await writeFile(path, FILE.map((line) => JSON.stringify(line)).join('\n'));
    const started = [0, 1].map(() => runCommand(forum.app.app, ['import', path], console));
    await expect(started[1]).rejects.toThrow('Another import is running on this forum; nothing was written');
    await started[0];
    await expect(runCommand(forum.app.app, ['import', path], console)).resolves.toBeUndefined();
  });

  test.each([
    ['line 1: is not valid JSON', '{"kind": "member"'],
    ['line 1: “kind” must be one of member, category, discussion', { kind: 'topic', id: 1 }],
    ['line 1: email is required', { kind: 'member', id: 9, username: 'ida' }],
    ['line 1: e-mail is not a known field; did you mean "email"?', { ...MEMBERS[1], 'e-mail': 'ida@old.example' }],
    ['line 1: there is no category 8 on an earlier line', { kind: 'category', id: 9, name: 'Sails', parent: 8 }],
    [
      'line 2: Juergen@old.example is already used by another member',
      [MEMBERS[0]!, { ...MEMBERS[0], id: 8, email: 'Juergen@old.example' }],
    ],
  ])('refuses a file with the error “%s”', async (problem, lines) => {
    await expect(bring([lines].flat())).rejects.toThrow('nothing was written');
    expect(printed[0]).toContain(problem);
  });

  test.each([
    ['there is already a discussion 4711 on an earlier line', {}],
    ['posts.0: there is no member 99 on an earlier line', { id: 5, posts: [post(99, 'Who?', 1)] }],
    ['there is no category sails on an earlier line', { id: 5, category: 'sails' }],
    ['posts.0.reply_to is not an earlier post', { id: 5, posts: [post(1, 'Me', 1, { reply_to: 1 })] }],
    [
      'posts.1.created_at is earlier than that of the previous post',
      { id: 5, posts: [post(1, 'b', 2), post(1, 'a', 1)] },
    ],
    [
      'posts.0.created_at is in the future',
      { id: 5, posts: [{ ...post(1, 'Soon', 1), created_at: '2999-01-01T00:00:00Z' }] },
    ],
    ['posts.0.content must have at most 65536 bytes', { id: 5, posts: [post(1, 'x'.repeat(65_537), 1)] }],
    [
      'posts: likees is not a known field; did you mean "likes"?',
      { id: 5, posts: [post(1, 'Well', 1, { likees: [1] })] },
    ],
    [
      'more than one post is the accepted answer',
      { id: 5, posts: [1, 2].map((day) => post(1, 'Yes', day, { accepted: true })) },
    ],
  ])('writes nothing if a discussion has the error “%s”', async (problem, changes) => {
    const before = (await forum.guest.get('/api/discussions')).body.count;
    await expect(bring([...FILE, { ...caulking, ...changes }])).rejects.toThrow('nothing was written');
    expect(printed).toEqual([expect.stringContaining(`line ${FILE.length + 1}: ${problem}`)]);
    expect((await forum.guest.get('/api/discussions')).body.count).toBe(before);
  });

  test.each([
    ['posts.0.content renders to more than 256 KiB of HTML', { posts: [post(1, '# a\n'.repeat(16_000), 1)] }],
    ['posts.0.content is required', { posts: [post(1, '\u200B', 1)] }],
    ['title is required', { title: '\u2067' }],
    ['posts.0.created_at is before 1970', { posts: [{ ...post(1, 'x', 1), created_at: '1969-12-31T23:59:59Z' }] }],
  ])('writes nothing if a text or time has the error “%s”', async (problem, changes) => {
    const at = [...MEMBERS, ...CATEGORIES, { ...caulking, id: 'odd', ...changes }];
    await expect(bring(at)).rejects.toThrow('nothing was written');
    expect(printed).toEqual([expect.stringContaining(`line ${at.length}: ${problem}`)]);
  });

  test.each([
    [
      'category a has the slug misc as well; use a different one',
      { kind: 'category', id: 'a', name: 'Misc' },
      { kind: 'category', id: 'b', name: 'misc' },
    ],
    [
      'its parent 7 is a subcategory itself; there are only two levels of categories',
      ...CATEGORIES,
      { kind: 'category', id: 8, name: 'Nails', parent: 7 },
    ],
    [
      'the category general already exists and is visible to more people than “staff”; use a different slug',
      { kind: 'category', id: 1, name: 'General', view: 'staff' },
    ],
  ])('imports no category with the error “%s”', async (problem, ...lines) => {
    await expect(bring(lines)).rejects.toThrow('nothing was written');
    expect(printed).toEqual([`line ${lines.length}: ${problem}`]);
  });

  test('adapts names to the rules: none belongs to another member, even an inactive one, or to staff', async () => {
    const accounts = forum.app.app.kernel.service(Accounts)!;
    const { id } = (await accounts.findByIdentifier('ada'))!;
    await accounts.setStatus(id, 'disabled');
    try {
      await bring([
        { kind: 'member', id: 20, username: 'ADA', email: 'third@old.example', name: 'm\u202Ee@home\t2' },
        { kind: 'member', id: 21, username: '😀😀', email: 'smile@old.example' },
        { kind: 'member', id: 22, username: 'Admin', email: 'chief@old.example', name: 'Moderator' },
      ]);
    } finally {
      await accounts.setStatus(id, 'active');
    }
    const named = async (email: string) => accounts.findByIdentifier(email);
    expect(await named('third@old.example')).toMatchObject({ username: 'ADA-3', displayName: 'mehome 2' });
    expect(await named('smile@old.example')).toMatchObject({ username: 'member-2', displayName: null });
    expect(await named('chief@old.example')).toMatchObject({ username: 'Admin-2', displayName: null });
  });

  test('normalises texts like those written on the forum, and keeps those with unusual line endings whole', async () => {
    const content = 'One\u2028two\r\nthree\u0001.';
    const line = JSON.stringify({
      ...hidden,
      id: 'odd',
      category: 'boats',
      title: 'Up\u202E side',
      posts: [post(1, content, 20)],
    });
    await bring([`\uFEFF${JSON.stringify(MEMBERS[0])}\r`, CATEGORIES[0]!, `${line}\r`]);
    const [discussion] = (await forum.guest.get('/api/discussions?sort=newest&limit=1')).body.discussions;
    expect(discussion.title).toBe('Up side');
    const { posts } = (await forum.guest.get(`/api/discussions/${discussion.id}/posts`)).body;
    expect(posts).toMatchObject([{ content: 'One\u2028two\nthree.' }]);
  });

  test('adapts tags to the rules: one with a comma stays one, and invisible characters are dropped', async () => {
    const tags = ['salt, fresh', '1,5 m', 'tar\u0007red', 'Tarred', ' , ', 'a\tb'];
    const [member, , , category] = FILE;
    await bring([
      member!,
      category!,
      { kind: 'discussion', id: 'tags', title: 'Tagged', category: 'boats', tags, posts: [post(1, 'Look.', 21)] },
    ]);
    const [discussion] = (await forum.guest.get('/api/discussions?sort=newest&limit=1')).body.discussions;
    expect(discussion).toMatchObject({
      title: 'Tagged',
      tags: [{ name: 'salt fresh' }, { name: '1 5 m' }, { name: 'Tarred' }, { name: 'a b' }],
    });
  });

  test.each([
    ['UTF-16', Buffer.from(`\uFEFF${JSON.stringify(MEMBERS[0])}`, 'utf16le')],
    ['Latin-1', Buffer.from(JSON.stringify(MEMBERS[0]), 'latin1')],
  ])('reports that a file in %s is not UTF-8', async (_, bytes) => {
    const path = join(folder, 'encoded.jsonl');
    await writeFile(path, bytes);
    await expect(runCommand(forum.app.app, ['import', path], console)).rejects.toThrow(
      'encoded.jsonl: line 1 is not UTF-8; save the file as UTF-8',
    );
  });

  test('reports that a file cannot be read', async () => {
    await expect(runCommand(forum.app.app, ['import', join(folder, 'none.jsonl')], console)).rejects.toThrow(
      'none.jsonl cannot be read',
    );
  });
});

/** The columns of Discourse's tables that the statements read, and a few rows. */
const DISCOURSE = `
  create table users (id int, username text, name text, created_at timestamp);
  create table user_emails (user_id int, email text, "primary" boolean);
  create table user_profiles (user_id int, bio_raw text);
  create table categories (id int, name text, slug text, parent_category_id int, position int, read_restricted boolean);
  create table topics (id int, title text, category_id int, views int, pinned_at timestamp, closed boolean,
    archetype text, deleted_at timestamp, visible boolean, created_at timestamp);
  create table posts (id int, topic_id int, post_number int, user_id int, post_type int, hidden boolean, raw text,
    reply_to_post_number int, created_at timestamp, deleted_at timestamp);
  create table post_actions (post_id int, user_id int, post_action_type_id int, deleted_at timestamp);
  create table tags (id int, name text);
  create table topic_tags (topic_id int, tag_id int);
  insert into users values (-1, 'system', 'system', '2014-01-01'), (5, 'sam', 'Sam Sailor', '2014-02-01 10:00'), (6, 'kim', '', '2014-03-01');
  insert into user_emails values (-1, 'no_email', true), (5, 'sam@discourse.example', true), (5, 'old@discourse.example', false), (6, 'kim@discourse.example', true);
  insert into user_profiles values (5, 'Sails.');
  insert into categories values (2, 'Inner', 'inner', 1, 1, true), (1, 'Outer', 'outer', null, 2, false),
    (3, 'Inmost', 'inner', 2, 3, false);
  insert into topics values (10, 'Which rope?', 1, 33, null, true, 'regular', null, true, '2014-05-01'),
    (11, 'Between us', null, 1, null, false, 'private_message', null, true, '2014-05-02');
  insert into posts values (100, 10, 1, 5, 1, false, 'Hemp **or** nylon?', null, '2014-05-01 08:00', null),
    (101, 10, 2, 6, 1, false, 'Gone', null, '2014-05-01 09:00', '2014-05-02'),
    (102, 10, 3, 6, 1, false, 'Nylon.', null, '2014-05-01 10:00', null), (103, 10, 4, 5, 1, false, 'Why?', 3, '2014-05-01 11:00', null),
    (104, 10, 5, -1, 3, false, 'was closed', null, '2014-05-01 12:00', null), (105, 11, 1, 5, 1, false, 'Psst', null, '2014-05-02', null);
  insert into post_actions values (102, 5, 2, null), (102, 6, 2, '2014-06-01');
  insert into tags values (1, 'rope');
  insert into topic_tags values (10, 1);`;

test('the output of the SQL statements for Discourse can be imported', async () => {
  const { data } = forum.app.app;
  const statements = await readFile(new URL('../../../docs/examples/discourse.sql', import.meta.url), 'utf8');
  const lines: object[] = [];
  await data.transaction(async () => {
    await data.all(sql.raw('create schema discourse'));
    await data.all(sql.raw('set local search_path to discourse'));
    for (const statement of DISCOURSE.split(';').filter((text) => text.trim())) await data.all(sql.raw(statement));
    for (const statement of statements
      .replace(/--.*/g, '')
      .split(';')
      .filter((text) => text.trim()))
      lines.push(...(await data.all(sql.raw<Record<string, object>>(statement))).flatMap((row) => Object.values(row)));
  });
  await data.all(sql.raw('drop schema discourse cascade'));
  expect(await bring(lines)).toEqual([
    '2 members, 3 categories, 1 discussions with 3 posts',
    'Imported 1 discussions with 3 posts.',
  ]);
  const { categories } = (await forum.as.mia.get('/api/categories')).body;
  const outer = categories.find(({ slug }: { slug: string }) => slug === 'outer');
  expect(categories.filter(({ parent_id: parent }: { parent_id: string }) => parent === outer.id)).toMatchObject([
    { name: 'Inner', slug: 'outer-inner' },
    { name: 'Inmost', slug: 'inner-inner' },
  ]);
  const { discussions } = (await forum.guest.get('/api/discussions?sort=oldest&limit=1')).body;
  expect(discussions[0]).toMatchObject({
    title: 'Which rope?',
    author: { username: 'sam', display_name: 'Sam Sailor' },
    tags: [{ name: 'rope' }],
    is_locked: true,
    is_pinned: false,
    view_count: 33,
    created_at: '2014-05-01T08:00:00.000Z',
  });
  const { posts } = (await forum.guest.get(`/api/discussions/${discussions[0].id}/posts`)).body;
  expect(posts).toMatchObject([
    { content: 'Hemp **or** nylon?' },
    { content: 'Nylon.', author: { username: 'kim' }, reactions: [{ reaction: 'like', count: 1 }] },
    { content: 'Why?', reply_to_number: 2 },
  ]);
});
