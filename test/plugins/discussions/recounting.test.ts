import { beforeAll, describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Categories } from 'parley-forum/plugins/discussions';
import { miscounted } from 'parley-forum/testing';
import { runCommand } from '../../../core/cli/run-command.ts';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum();
const output: string[] = [];
const shell = {
  terminal: false,
  columns: 80,
  print: (line: string) => void output.push(line),
  progress: () => undefined,
  secret: () => Promise.reject(new Error('nobody is asked')),
};
const parley = (...words: string[]) => {
  output.length = 0;
  return runCommand(forum.app.app, words, shell);
};
const categoryOf = (slug: string): string =>
  forum.app.app
    .service(Categories)
    .all()
    .find((one) => one.slug === slug)!.id;
const run = (query: ReturnType<typeof sql>) => forum.app.app.data.all(query);

describe('stored counters', () => {
  let id: string;
  beforeAll(async () => {
    const made = await forum.as.ada.post('/api/discussions', {
      title: 'Sails',
      content: 'All of them',
      category_id: 'general',
      tags: ['knots', 'masts'],
    });
    ({ id } = expectStatus(made, 201).body.discussion);
    const reply = await forum.reply('bob', id, 'Indeed, @ada');
    expectStatus(await forum.as.mia.post('/api/reactions/toggle', { post_id: reply.id, reaction: 'like' }), 200);
    await forum.app.calm();
  });

  test('are right after every kind of write', async () => {
    const put = (body: object) =>
      forum.as.mia.put(`/api/discussions/${id}`, body).then((answer) => expectStatus(answer, 200));
    await put({ category_id: 'help' });
    await put({ tags: ['knots', 'rigging'], is_locked: true, is_pinned: true });
    expectStatus(await forum.as.mia.delete(`/api/discussions/${id}`), 200);
    await forum.reply('mia', id, 'Written where only moderators read');
    expect(await miscounted(forum.app)).toEqual([]);
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/restore`), 200);
    await put({ is_locked: false });
    const gone = await forum.reply('bob', id, 'Gone soon');
    expectStatus(await forum.as.bob.delete(`/api/posts/${gone.id}`), 200);
    const short = await forum.app.app.service(Categories).save({ name: 'Short-lived' });
    await forum.start('bob', 'Homeless', short.id);
    await forum.app.app.service(Categories).remove(short.id, categoryOf('general'));
    expect(await miscounted(forum.app)).toEqual([]);
  });

  test('are each checked and repaired by a command', async () => {
    await run(sql`update category_count set posts = posts + 3 where category_id = ${categoryOf('help')}`);
    await run(sql`delete from discussion_author where user_id = ${forum.ids.bob}`);
    await run(sql`update discussion_author_total set posts = posts + 1 where user_id = ${forum.ids.ada}`);
    await run(sql`update discussion_participant set posts = 7 where discussion_id = ${id}`);
    await run(
      sql`insert into discussion_participant (discussion_id, user_id, posts) values (${id}, ${forum.ids.root}, 1)`,
    );
    await run(
      sql`update discussion set reply_count = 9, participant_count = 9, last_author_id = ${forum.ids.root} where id = ${id}`,
    );
    await run(sql`update discussion_tag set counted_in = null where discussion_id = ${id}`);
    await run(sql`update tag_count set discussions = discussions + 1`);
    await run(sql`update reaction_count set count = 5`);
    await run(
      sql`insert into notification_count (user_id, category_id, unread) values (${forum.ids.root}, ${categoryOf('help')}, 4)`,
    );
    const before = await miscounted(forum.app);
    for (const name of [
      'posts of participants',
      'numbers and last posts of discussions',
      'discussions and posts of members',
      'posts of members in all categories',
      'discussions and posts of categories',
      'tags of discussions',
      'discussions of tags',
      'reactions of posts',
      'unread notifications',
    ])
      expect(before).toContainEqual(expect.stringContaining(`${name}: `));
    await expect(parley('doctor')).rejects.toThrow(/found\.$/);
    expect(output.join('\n')).toContain('stored counts are wrong');
    await expect(parley('recount', '--check')).rejects.toThrow(
      /stored counts differ from the data; run recount without --check/,
    );
    expect(await miscounted(forum.app)).toEqual(before);
    await parley('recount');
    expect(output).toContainEqual(expect.stringMatching(/^reactions of posts: 1 corrected$/));
    expect(await miscounted(forum.app)).toEqual([]);
    await parley('recount', '--check');
    expect((await forum.guest.get(`/api/discussions/${id}`)).body.discussion).toMatchObject({
      reply_count: 2,
      participant_count: 3,
    });
  });
});

test('a member deleted with all they wrote leaves no counter behind', async () => {
  const accounts = forum.app.app.service(Accounts);
  const gone = await accounts.create({ username: 'gone', email: 'gone@forum.test', password: 'Plain-Sailing-42' });
  const client = forum.app.client();
  await client.login('gone', 'Plain-Sailing-42');
  const start = async (title: string) =>
    expectStatus(
      await client.post('/api/discussions', { title, content: 'Words', category_id: 'general', tags: ['knots'] }),
      201,
    ).body.discussion.id as string;
  const [alone, shared, elsewhere] = [
    await start('Alone'),
    await start('Shared'),
    (await forum.start('ada', 'Elsewhere')).id,
  ];
  await forum.reply('bob', shared, 'I stay');
  for (const where of [shared, elsewhere])
    expectStatus(await client.post('/api/posts', { discussion_id: where, content: 'Me too' }), 201);
  await parley('user', 'delete', 'gone', '--remove');
  await expect
    .poll(async () => (await forum.guest.get(`/api/discussions/${alone}`)).status, { timeout: 20_000 })
    .toBe(404);
  await expect
    .poll(async () => (await forum.guest.get(`/api/discussions/${shared}`)).body.discussion.participant_count, {
      timeout: 20_000,
    })
    .toBe(1);
  await expect.poll(() => miscounted(forum.app), { timeout: 20_000 }).toEqual([]);
  expect(
    await run(sql`select 1 from discussion_participant where user_id = ${gone.id} and discussion_id <> ${alone}`),
  ).toEqual([]);
  expect(
    await run(sql`select 1 from discussion_author where user_id = ${gone.id} and (discussions <> 0 or posts <> 0)`),
  ).toEqual([]);
  const knots = (await forum.guest.get('/api/tags')).body.tags.find(({ slug }: { slug: string }) => slug === 'knots');
  expect(knots.discussion_count).toBe(2);
});

test('nor does one whose posts were moved and whose discussion was merged, and none of their text remains', async () => {
  const accounts = forum.app.app.service(Accounts);
  const moved = await accounts.create({ username: 'moved', email: 'moved@forum.test', password: 'Plain-Sailing-42' });
  const client = forum.app.client();
  await client.login('moved', 'Plain-Sailing-42');
  const mine = expectStatus(
    await client.post('/api/discussions', { title: 'My secret', content: 'My words', category_id: 'help' }),
    201,
  ).body.discussion;
  const [from, to] = [await forum.start('ada', 'Left'), await forum.start('ada', 'Come to')];
  const reply = await client.post('/api/posts', { discussion_id: from.id, content: 'My reply' });
  const post_ids = [reply.body.post.id];
  const path = `/api/discussions/${from.id}/move-posts`;
  expectStatus(await forum.as.mia.post(path, { post_ids, discussion_id: to.id }), 200);
  expectStatus(await forum.as.mia.post(`/api/discussions/${mine.id}/merge`, { into: to.id }), 200);
  await parley('user', 'delete', 'moved', '--remove');
  await expect
    .poll(async () => (await forum.guest.get(`/api/discussions/${to.id}`)).body.discussion.reply_count, {
      timeout: 20_000,
    })
    .toBe(0);
  await expect.poll(() => miscounted(forum.app), { timeout: 20_000 }).toEqual([]);
  const posts = await run(sql`select 1 from post where author_id = ${moved.id} and (content <> '' or html <> '')`);
  const titles = await run(sql`select 1 from discussion where title = 'My secret'`);
  const revisions = await run(sql`select 1 from post_revision where title = 'My secret'`);
  expect([posts, titles, revisions]).toEqual([[], [], []]);
  expect((await forum.as.mia.get(`/api/discussions/${to.id}`)).text).not.toContain('My ');
});
