import { describe, expect, test } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { useForum } from './forum.ts';

const forum = useForum();
const JSON_ONLY = { accept: 'application/json' };
const save = (body: object) => forum.as.root.post('/admin/categories/save', body, JSON_ONLY);
const remove = (body: object) => forum.as.root.post('/admin/categories/delete', body, JSON_ONLY);

const made = async (name: string): Promise<string> => (await save({ name })).body.category.id;

describe('an admin', () => {
  test('creates and changes a category, keeping values that are not sent', async () => {
    const made = await save({ name: 'Boat yard', description: 'Wood and paint', hue: 75, create: 'staff' });
    expect(made.body).toMatchObject({
      success: true,
      category: { slug: 'boat-yard', hue: 75, view: 'everyone', create: 'staff', reply: 'members', parent_id: null },
    });
    const { id } = made.body.category;
    const changed = await save({ id, name: 'The yard' });
    expect(changed.body.category).toMatchObject({
      id,
      name: 'The yard',
      slug: 'boat-yard',
      description: 'Wood and paint',
      create: 'staff',
    });
    expect((await forum.guest.get('/api/categories/boat-yard')).body.category.name).toBe('The yard');
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'Help again', slug: 'help' }, 'slug'],
    [{ name: 'x', slug: 'no spaces' }, 'slug'],
    [{ name: 'x', hue: 360 }, 'hue'],
    [{ name: 'x', view: ['nobody'] }, 'view'],
    [{ name: 'x', parent_id: 'nowhere' }, 'parent_id'],
  ])('gets an error for %j', async (body, field) => {
    const answer = await save(body);
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([400, field]);
  });

  test.each([
    [
      'save the same category name',
      [201, 400],
      async () => {
        const make = () => save({ name: 'Twice' });
        return [make, make];
      },
    ],
    [
      'nest categories below each other',
      [200, 400],
      async () => {
        const [one, two, three] = await Promise.all(['One', 'Two', 'Three'].map((name) => made(name)));
        return [
          () => save({ id: one, name: 'One', parent_id: two }),
          () => save({ id: two, name: 'Two', parent_id: three }),
        ];
      },
    ],
    [
      'delete the same category',
      [200, 404],
      async () => {
        const id = await made('Gone once');
        return [() => remove({ id }), () => remove({ id })];
      },
    ],
    [
      'move discussions to the category that the other deletes',
      [200, 400],
      async () => {
        const [one, two] = [await made('To and fro'), await made('Fro and to')];
        await forum.start('ada', 'To', one);
        await forum.start('ada', 'Fro', two);
        return [() => remove({ id: one, move_to: two }), () => remove({ id: two, move_to: one })];
      },
    ],
  ])('and another both %s at once, and only one succeeds', async (_what, statuses, begin) => {
    const answers = await Promise.all((await begin()).map((write) => write()));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual(statuses);
  });

  test('restricts a category to one group', async () => {
    const group = await forum.app.app.service(Access).saveGroup({ name: 'Crew', level: 'member' });
    const { category } = (await save({ name: 'Below deck', view: [group.id], create: [group.id], reply: [group.id] }))
      .body;
    expect((await forum.as.ada.get(`/api/categories/${category.id}`)).status).toBe(404);
    expect((await forum.as.mia.get(`/api/categories/${category.id}`)).status).toBe(404);
    expect((await forum.as.root.get(`/api/categories/${category.id}`)).status).toBe(200);
  });

  test('deletes a category only with a target for its discussions', async () => {
    const { category } = (await save({ name: 'Short lived' })).body;
    const { id } = await forum.start('ada', 'Homeless soon', 'short-lived');
    await forum.reply('bob', id, 'Indeed');
    expect((await remove({ id: category.id })).status).toBe(400);
    const help = (await forum.guest.get('/api/categories/help')).body.category;
    expect((await remove({ id: category.id, move_to: help.id })).body).toEqual({ success: true });
    expect((await forum.guest.get(`/api/discussions/${id}`)).body.category.slug).toBe('help');
    expect((await forum.guest.get('/api/categories/help')).body.category).toMatchObject({
      discussion_count: help.discussion_count + 1,
      post_count: help.post_count + 2,
    });
    expect((await forum.guest.get(`/api/users/${forum.ids.bob}`)).body.user.post_count).toBe(1);
    expect((await remove({ id: category.id })).status).toBe(404);
  });

  test('lists categories in pages for API clients', async () => {
    const listed = (query: string) => forum.as.root.get(`/admin/categories?${query}`, { accept: 'application/json' });
    const { categories: all } = (await listed('')).body;
    expect((await listed('limit=1&offset=1')).body).toMatchObject({
      categories: [{ id: all[1].id }],
      count: 1,
      hasMore: all.length > 2,
    });
    expect((await listed('limit=0')).status).toBe(400);
  });

  test('does the same through forms, which keep the input', async () => {
    const page = await forum.as.root.get('/admin/categories');
    expect(page.text).toContain('New category');
    const form = {
      id: '',
      name: 'By form',
      slug: '',
      description: '',
      parent_id: '',
      hue: '30',
      icon: '',
      position: '9',
      view: 'everyone',
      create: 'members',
      reply: 'members',
    };
    const refused = await forum.as.root.submit('/admin/categories/save', { ...form, slug: 'not good' });
    expect([refused.status, refused.text.includes('value="By form"')]).toEqual([400, true]);
    expect((await forum.as.root.submit('/admin/categories/save', form)).headers.get('location')).toBe(
      '/admin/categories',
    );
    expect((await forum.guest.get('/categories')).text).toContain('By form');
  });
});
