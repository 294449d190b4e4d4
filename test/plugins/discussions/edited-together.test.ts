import { describe, expect, test } from 'vitest';
import { formFields } from '../web/form-fields.ts';
import { expectStatus, useForum, type Name } from './forum.ts';

/** Two members change one discussion, each in a form that was opened before the other one saved. */
const forum = useForum({ 'discussions.rate_limit': 1_000 });
const DAY = 86_400_000;
const CONFLICT = 'This discussion was changed in the meantime.';

async function begin(title: string, body: object = {}) {
  const { id, number } = await forum.start('ada', title);
  expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { reason: 'x', ...body }), 200);
  const path = `/d/${number}/edit`;
  return {
    id,
    number,
    record: async (): Promise<any> =>
      expectStatus(await forum.as.mia.get(`/api/discussions/${id}`), 200).body.discussion,
    open: async (name: Name) => formFields(expectStatus(await forum.as[name].get(path), 200).text, path),
    save: (name: Name, fields: Record<string, string>) => forum.as[name].submit(path, fields),
    change: async (changes: object) =>
      expectStatus(await forum.as.mia.put(`/api/discussions/${id}`, { reason: 'x', ...changes }), 200),
  };
}
const tagsOf = ({ tags }: any): readonly string[] => tags.map(({ name }: any) => name);

describe('concurrent changes of a discussion', () => {
  test('by an author keep what a moderator has changed and the author has not', async () => {
    const { record, open, save, change } = await begin('Moved away', { tags: ['sails', 'knots'] });
    const fields = await open('ada');
    expect(fields).toMatchObject({ title: 'Moved away', tags: 'sails, knots' });
    const { category } = (await forum.guest.get('/api/categories/help')).body;
    await change({ title: 'Renamed', category_id: 'help', tags: ['masts'], slow_mode_seconds: 60 });
    expectStatus(await save('ada', fields), 303);
    const now = await record();
    expect(now).toMatchObject({ title: 'Renamed', category_id: category.id, slow_mode_seconds: 60 });
    expect(tagsOf(now)).toEqual(['masts']);
  });

  test('of different fields are both kept', async () => {
    const { record, open, save, change } = await begin('Half & "half"');
    const fields = await open('ada');
    await change({ title: 'Whole', pinned_in: 'category' });
    expectStatus(await save('ada', { ...fields, tags: 'oars' }), 303);
    const now = await record();
    expect([now.title, now.pinned_in, tagsOf(now)]).toEqual(['Whole', 'category', ['oars']]);
  });

  test('by two moderators remove neither each other’s pins nor their ends', async () => {
    const { record, open, save, change } = await begin('Pinned by two');
    const fields = await open('root');
    const until = new Date(forum.app.clock.now() + 3 * DAY).toISOString();
    await change({ pinned_until: until, slow_mode_seconds: 300 });
    expectStatus(await save('root', { ...fields, title: 'Pinned by one', reason: 'x' }), 303);
    expect(await record()).toMatchObject({
      title: 'Pinned by one',
      pinned_until: until,
      pinned_in: 'everywhere',
      slow_mode_seconds: 300,
    });
    await change({ is_pinned: false, slow_mode_seconds: 0 });
  });

  test.each<readonly [string, object, Readonly<Record<string, string>>]>([
    ['a title', { title: 'By mia' }, { title: 'By root' }],
    ['tags', { tags: ['mia'] }, { tags: 'root' }],
    ['a slow mode', { slow_mode_seconds: 60 }, { slow_mode_seconds: '300' }],
    ['a pin', { pinned_in: 'everywhere' }, { pinned_in: 'category' }],
    ['a pin that the other one removed', { is_pinned: false }, { pinned_until: '2099-01-01' }],
  ])('of %s conflict until the second one is saved once more', async (_what, first, second) => {
    const { number, record, open, save, change } = await begin('By ada', { pinned_in: 'category', tags: ['ada'] });
    const pinned = 'pinned_in' in second ? { is_pinned: false } : {};
    await change(pinned);
    const fields = { ...(await open('root')), ...second, reason: 'Mine' };
    await change({ ...first, category_id: 'help' });
    const before = await record();
    const refused = await save('root', fields);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain(CONFLICT);
    expect(await record()).toMatchObject({ title: before.title, tags: before.tags, pinned_in: before.pinned_in });
    const again = formFields(refused.text, `/d/${number}/edit`);
    // The input is kept; unchanged fields have their current values.
    expect(again).toMatchObject({ ...second, reason: 'Mine', category_id: before.category_id });
    expectStatus(await save('root', again), 303);
    const after = await open('root');
    expect(after).toMatchObject(second);
    expect((await record()).category.slug).toBe('help');
    // Sending the same form again is no conflict.
    expectStatus(await save('root', again), 303);
    await change({ is_pinned: false, slow_mode_seconds: 0 });
  });

  test('do not conflict with replies that arrive meanwhile', async () => {
    const { id, record, open, save } = await begin('Answered');
    const fields = await open('ada');
    forum.app.clock.advance(1_000);
    await forum.reply('bob', id, 'Quick');
    expectStatus(await save('ada', { ...fields, title: 'Answered already' }), 303);
    expect((await record()).title).toBe('Answered already');
  });

  test('are still recognised after the form was refused for another reason', async () => {
    const { number, record, open, save, change } = await begin('Too empty');
    const fields = await open('ada');
    await change({ category_id: 'help' });
    const refused = await save('ada', { ...fields, title: '' });
    expect(refused.status).toBe(400);
    expectStatus(await save('ada', { ...formFields(refused.text, `/d/${number}/edit`), title: 'Full' }), 303);
    expect(await record()).toMatchObject({ title: 'Full', category: { slug: 'help' } });
  });
});
