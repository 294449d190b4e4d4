import { beforeAll, describe, expect, test } from 'vitest';
import { definePlugin, Type } from 'parley-forum';
import {
  categoryFields,
  categoryFormFields,
  discussionCacheTags,
  discussionFields,
  postFields,
} from 'parley-forum/plugins/discussions';
import { fill, html, slotFillings } from 'parley-forum/plugins/web';
import { install, useForum } from './forum.ts';

const forum = useForum();
const moods = new Map<string, string>();
let asked = 0;

/** A plugin with a field for the mood of a discussion, and a field of posts that fails. */
const mood = definePlugin({
  id: 'test-mood',
  setup(_services, plugin) {
    plugin.extend(discussionFields, {
      name: 'mood',
      result: Type.String(),
      body: Type.Enum(['calm', 'wild']),
      loadMany: async (ids) => {
        asked++;
        return ids.map((id) => moods.get(id) ?? 'unknown');
      },
      save: async (_em, id, value) => void moods.set(id, String(value)),
    });
    plugin.extend(postFields, {
      name: 'fails',
      result: Type.String(),
      loadMany: () => Promise.reject(new Error('broken')),
    });
  },
});

describe('a field of another plugin', () => {
  beforeAll(async () => {
    // The routes have been used before the plugin is enabled.
    await forum.start('ada', 'Earlier');
    await install(forum.app, mood);
  });

  test('is stored with the discussion and shown on every record, loaded once per page', async () => {
    const made = await forum.as.ada.post('/api/discussions', {
      title: 'Stormy',
      content: 'x',
      category_id: 'general',
      mood: 'wild',
    });
    expect([made.status, made.body.discussion.mood]).toEqual([201, 'wild']);
    for (let count = 0; count < 5; count++) await forum.start('ada', `Quiet ${count}`);
    await forum.app.calm();
    asked = 0;
    const { discussions } = (await forum.as.ada.get('/api/discussions')).body;
    expect([asked, discussions.at(-2).mood, discussions[0].mood]).toEqual([1, 'wild', 'unknown']);
    await forum.as.ada.put(`/api/discussions/${made.body.discussion_id}`, { mood: 'calm' });
    expect((await forum.guest.get(`/api/discussions/${made.body.discussion_id}`)).body.discussion.mood).toBe('calm');
  });

  test('is validated by its own schema, before anything is written', async () => {
    const { discussions } = (await forum.guest.get('/api/discussions')).body;
    const answer = await forum.as.ada.post('/api/discussions', {
      title: 'Bad mood',
      content: 'x',
      category_id: 'general',
      mood: 'grim',
    });
    expect([answer.status, answer.body.details[0].field]).toEqual([400, 'mood']);
    expect((await forum.guest.get('/api/discussions')).body.count).toBe(discussions.length);
  });

  test('that fails is omitted, and the response is sent', async () => {
    const { id } = await forum.start('ada', 'Whole');
    const { posts } = (await forum.guest.get(`/api/discussions/${id}`)).body;
    expect(posts[0]).toMatchObject({ content: 'About Whole' });
    expect(posts[0]).not.toHaveProperty('fails');
  });

  test('is in the API documentation while its plugin runs, and its purge reaches cached responses', async () => {
    const described = async () => JSON.stringify((await forum.guest.get('/api/openapi.json')).body);
    expect(await described()).toContain('"mood"');
    const { id } = await forum.start('ada', 'Kept');
    const read = async () => (await forum.guest.get(`/api/discussions/${id}`)).body.discussion.mood;
    for (let time = 0; time < 2; time++) expect(await read()).toBe('unknown');
    moods.set(id, 'wild');
    await forum.app.app.cache.purge(discussionCacheTags.discussion(id));
    expect(await read()).toBe('wild');
    await forum.app.app.kernel.disable('test-mood');
    expect(await read()).toBeUndefined();
    expect(await described()).not.toContain('"mood"');
  });
});

describe('a field of a category', () => {
  const depths = new Map<string, number>();
  const depth = definePlugin({
    id: 'test-depth',
    setup(_services, plugin) {
      plugin.extend(categoryFields, {
        name: 'depth',
        result: Type.Integer(),
        body: Type.Integer({ minimum: 0 }),
        loadMany: async (ids) => ids.map((id) => depths.get(id) ?? 0),
        save: async (_em, id, value) => {
          if (value === 13) throw new Error('nobody dives here');
          depths.set(id, value as number);
        },
      });
      plugin.extend(
        slotFillings,
        fill(categoryFormFields, (forms) =>
          forms.map(
            ({ category, values }) =>
              html`<input name="depth" value="${values['depth'] ?? depths.get(category?.id ?? '') ?? 0}">`,
          ),
        ),
      );
    },
  });
  beforeAll(() => install(forum.app, depth));

  test('is an input of the admin form, stored with the category and shown on its record', async () => {
    expect((await forum.as.root.get('/admin/categories')).text).toContain('<input name="depth" value="0">');
    const saved = await forum.as.root.post(
      '/admin/categories/save',
      { name: 'Harbour', depth: '12' },
      { accept: 'application/json' },
    );
    const { id } = saved.body.category;
    const { categories } = (await forum.guest.get('/api/categories')).body;
    expect(categories.find((category: { readonly id: string }) => category.id === id).depth).toBe(12);
    expect((await forum.as.root.get(`/admin/categories?id=${id}`)).text).toContain('<input name="depth" value="12">');
  });

  test('is shown again as it was sent when its schema refuses it, and nothing is stored', async () => {
    const refused = await forum.as.root.submit('/admin/categories/save', { name: 'Trench', depth: '-1' });
    expect([refused.status, refused.text.includes('<input name="depth" value="-1">')]).toEqual([400, true]);
    const failed = await forum.as.root.submit('/admin/categories/save', { name: 'Trench', depth: '13' });
    expect(failed.status).toBe(500);
    const { categories } = (await forum.guest.get('/api/categories')).body;
    expect(categories.map(({ name }: { readonly name: string }) => name)).not.toContain('Trench');
  });
});
