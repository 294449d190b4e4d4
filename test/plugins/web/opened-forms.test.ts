import { describe, expect, test } from 'vitest';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { formFields } from './form-fields.ts';

/** What one administrator has in an open form while a program of another one changes something else. */
const forum = useForum({ 'site.description': 'Before' });

const send = async (path: string, body: object): Promise<any> => {
  const answer = await forum.as.root.request('POST', path, { json: body, headers: { accept: 'application/json' } });
  expect([path, answer.status, answer.text]).toEqual([path, expect.toBeOneOf([200, 201]), expect.any(String)]);
  return answer.body;
};
const open = async (page: string, action: string): Promise<Record<string, string>> =>
  formFields(expectStatus(await forum.as.root.get(page), 200).text, action);
const read = async (path: string, list: string, matches: object): Promise<any> =>
  expectStatus(await forum.as.root.request('GET', path, { headers: { accept: 'application/json' } }), 200).body[
    list
  ].find((one: any) => Object.entries(matches).every(([name, value]) => one[name] === value));

interface Kind {
  /** Creates a record; resolves to what tells it from others. */
  readonly create: () => Promise<Record<string, string>>;
  readonly page: (key: string) => string;
  readonly list: readonly [path: string, name: string];
  readonly save: string;
  readonly others: object;
  readonly mine: Readonly<Record<string, string>>;
  readonly both: object;
}
const KINDS: Readonly<Record<string, Kind>> = {
  'a category': {
    create: async () => {
      const { category } = await send('/admin/categories/save', { name: 'Sails', description: 'Canvas' });
      return { id: category.id };
    },
    page: (id) => `/admin/categories?id=${id}`,
    list: ['/api/categories?limit=100', 'categories'],
    save: '/admin/categories/save',
    others: { name: 'Sails', hue: 45, asks_for_answers: true },
    mine: { description: 'Cloth' },
    both: { hue: 45, description: 'Cloth', asks_for_answers: true },
  },
  'a tag': {
    create: async () => ({ id: (await send('/admin/tags/save', { name: 'mainsail', hue: 15 })).tag.id }),
    page: (id) => `/admin/tags?id=${id}`,
    list: ['/admin/tags?limit=100', 'tags'],
    save: '/admin/tags/save',
    others: { name: 'mainsail', hue: 90 },
    mine: { name: 'jib' },
    both: { name: 'jib', hue: 90 },
  },
  'a kind of reaction': {
    create: async () => {
      await send('/admin/reactions/save', { slug: 'octopus', emoji: '🐙', label: 'Octopus' });
      return { slug: 'octopus' };
    },
    page: (slug) => `/admin/reactions?slug=${slug}`,
    list: ['/admin/reactions?limit=100', 'reactions'],
    save: '/admin/reactions/save',
    others: { label: 'Kraken' },
    mine: { position: '3' },
    both: { label: 'Kraken', position: 3 },
  },
  'a webhook': {
    create: async () => {
      const { webhook } = await send('/admin/webhooks/save', {
        name: 'Bell',
        url: 'https://example.org/hook',
        events: ['post.created'],
      });
      return { id: webhook.id };
    },
    page: (id) => `/admin/webhooks?id=${id}`,
    list: ['/admin/webhooks?limit=100', 'webhooks'],
    save: '/admin/webhooks/save',
    others: { active: false, events: ['post.created', 'discussion.created'] },
    mine: { name: 'Gong' },
    both: { name: 'Gong', active: false, events: ['post.created', 'discussion.created'] },
  },
};

describe('what nobody touches in an open form stays as it was made meanwhile:', () => {
  test.each(Object.entries(KINDS))('%s', async (_name, { create, page, list, save, others, mine, both }) => {
    const key = await create();
    const fields = await open(page(Object.values(key)[0]!), save);
    await send(save, { ...key, ...others });
    expectStatus(await forum.as.root.submit(save, { ...fields, ...mine }), 303);
    expect(await read(...list, key)).toMatchObject(both);
  });

  test('settings', async () => {
    const fields = await open('/admin/settings/site', '/admin/settings/save');
    await send('/admin/settings/save', { 'site.description': 'Meanwhile' });
    expectStatus(await forum.as.root.submit('/admin/settings/save', { ...fields, 'site.name': 'The Slipway' }), 303);
    expect(await read('/admin/settings', 'settings', { key: 'site.name' })).toMatchObject({ value: 'The Slipway' });
    expect(await read('/admin/settings', 'settings', { key: 'site.description' })).toMatchObject({
      value: 'Meanwhile',
    });
  });
});

test('a form that is refused still knows what it began with', async () => {
  const { tag } = await send('/admin/tags/save', { name: 'genoa', hue: 15 });
  const fields = await open(`/admin/tags?id=${tag.id}`, '/admin/tags/save');
  await send('/admin/tags/save', { id: tag.id, name: 'genoa', hue: 30 });
  const refused = await forum.as.root.submit('/admin/tags/save', { ...fields, name: '' });
  expect(refused.status).toBe(400);
  const again = formFields(refused.text, '/admin/tags/save');
  expectStatus(await forum.as.root.submit('/admin/tags/save', { ...again, name: 'spinnaker' }), 303);
  expect(await read('/admin/tags?limit=100', 'tags', { id: tag.id })).toMatchObject({ name: 'spinnaker', hue: 30 });
});

test('what a form says of its beginning that is no such thing counts for nothing', async () => {
  const { tag } = await send('/admin/tags/save', { name: 'lateen', hue: 15 });
  for (const text of ['', 'null', '[]', '"name"', '{', '{"__proto__":{"name":"lugsail"}}']) {
    const form = { id: tag.id, name: 'lugsail', _opened: text };
    expectStatus(await forum.as.root.submit('/admin/tags/save', form), 303);
    expect(await read('/admin/tags?limit=100', 'tags', { id: tag.id })).toMatchObject({ name: 'lugsail' });
    await send('/admin/tags/save', { id: tag.id, name: 'lateen' });
  }
});
