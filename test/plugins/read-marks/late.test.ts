import { beforeAll, describe, expect, test } from 'vitest';
import { expectStatus, PASSWORD, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const MINUTES = 120_000;
const later = (ms = MINUTES): Promise<unknown> => forum.app.clock.advance(ms) as unknown as Promise<unknown>;
const unread = async (name: Name, query = ''): Promise<string[]> =>
  expectStatus(await forum.as[name].get(`/api/unread${query}`), 200).body.discussions.map(({ title }: any) => title);
const readAll = async (name: Name): Promise<void> => {
  await later();
  expectStatus(await forum.as[name].post('/api/read-marks/all', {}), 200);
  await later();
};
const read = (name: Name, id: string, number: number): Promise<unknown> =>
  forum.as[name].post('/api/read-marks', { read_marks: [{ discussion_id: id, number }] });
const remove = async (id: string): Promise<unknown> =>
  expectStatus(await forum.as.mia.delete(`/api/discussions/${id}`), 200);
const restore = async (id: string): Promise<unknown> =>
  expectStatus(await forum.as.mia.post(`/api/discussions/${id}/restore`), 200);
const move = async (id: string, category: string): Promise<unknown> =>
  expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { category_id: category }), 200);

beforeAll(async () => {
  for (const name of ['ada', 'bob', 'mia', 'root'] as const) await forum.as[name].get('/');
  await later();
});

describe('a deleted discussion', () => {
  test('is unread once restored, even if everything was marked read in the meantime', async () => {
    const { id } = await forum.start('ada', 'Gone for a while');
    await remove(id);
    await readAll('bob');
    await restore(id);
    expect([await unread('bob'), await unread('bob', '?new=true')]).toEqual([
      ['Gone for a while'],
      ['Gone for a while'],
    ]);
    const row = expectStatus(await forum.as.bob.get(`/api/discussions/${id}`), 200).body.discussion;
    expect(row).toMatchObject({ last_read_number: 0, unread_count: 1 });
    expect(expectStatus(await forum.as.bob.get('/'), 200).text).toContain('class="badge strong unread-count"');
    await readAll('bob');
    expect(await unread('bob')).toEqual([]);
  });

  test('is unread from the read mark on once restored, even if nothing was unread in the meantime', async () => {
    const { id } = await forum.start('ada', 'Begun to read');
    await read('bob', id, 1);
    await forum.reply('ada', id, 'Not read');
    await remove(id);
    await later(60 * MINUTES);
    for (const name of ['ada', 'bob', 'mia', 'root'] as const) await forum.as[name].login(name, PASSWORD);
    expect(await unread('bob')).toEqual([]);
    await restore(id);
    expect(await unread('bob')).toEqual(['Begun to read']);
    await read('bob', id, 2);
    expect(await unread('bob')).toEqual([]);
  });

  test.each([
    ['are deleted', (last: string) => forum.as.mia.delete(`/api/posts/${last}`)],
    [
      'move to another one',
      (last: string, id: string, to: string) =>
        forum.as.mia.post(`/api/discussions/${id}/move-posts`, { post_ids: [last], discussion_id: to }),
    ],
  ])('stays unread after its last posts %s', async (_what, shorten) => {
    const { id } = await forum.start('ada', 'Shorter by now');
    await later();
    const [last, to] = [await forum.reply('ada', id, 'Not for long'), await forum.start('ada', 'Read all the time')];
    await remove(id);
    await readAll('bob');
    await restore(id);
    expect(await unread('bob')).toEqual(['Shorter by now']);
    await read('bob', to.id, 1);
    expectStatus(await shorten(last.id, id, to.id), 200);
    await read('bob', to.id, 2);
    expect(await unread('bob')).toEqual(['Shorter by now']);
    await read('bob', id, 1);
    expect(await unread('bob')).toEqual([]);
  });

  test('stays read for members who had read it, and is included in marking everything read', async () => {
    const { id } = await forum.start('mia', 'Read before');
    await read('bob', id, 1);
    await remove(id);
    await readAll('bob');
    await restore(id);
    expect(await unread('bob')).toEqual([]);
    const { id: other } = await forum.start('mia', 'Back just now');
    await remove(other);
    await readAll('bob');
    await restore(other);
    expectStatus(await forum.as.bob.post('/api/read-marks/all', {}), 200);
    expect(await unread('bob')).toEqual([]);
  });
});

describe('a discussion moved out of a hidden category', () => {
  test('becomes unread for members who see it now, and keeps its state for those who saw it before', async () => {
    const { id } = await forum.start('root', 'Among ourselves', 'staff');
    await readAll('bob');
    await readAll('mia');
    await move(id, 'general');
    expect([await unread('bob'), await unread('mia')]).toEqual([['Among ourselves'], []]);
    await readAll('bob');
    await move(id, 'help');
    expect(await unread('bob')).toEqual([]);
  });

  test('is also unread when merged into a discussion they have read', async () => {
    const [from, to] = [await forum.start('root', 'Of the staff', 'staff'), await forum.start('root', 'Of all')];
    await read('bob', to.id, 1);
    await readAll('bob');
    await readAll('mia');
    expectStatus(await forum.as.mia.post(`/api/discussions/${from.id}/merge`, { into: to.id }), 200);
    expect(await unread('bob')).toEqual(['Of all']);
  });
});
