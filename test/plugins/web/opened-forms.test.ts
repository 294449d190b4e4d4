import { describe, expect, test } from 'vitest';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { formFields, formPairs } from './form-fields.ts';

/** One administrator has a form open while an API client of another one changes something else. */
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
  /** Creates a record; resolves to the field that identifies it. */
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

describe('untouched fields of an open form keep concurrent changes of', () => {
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

test('a refused form still knows its initial values', async () => {
  const { tag } = await send('/admin/tags/save', { name: 'genoa', hue: 15 });
  const fields = await open(`/admin/tags?id=${tag.id}`, '/admin/tags/save');
  await send('/admin/tags/save', { id: tag.id, name: 'genoa', hue: 30 });
  const refused = await forum.as.root.submit('/admin/tags/save', { ...fields, name: '' });
  expect(refused.status).toBe(400);
  const again = formFields(refused.text, '/admin/tags/save');
  expectStatus(await forum.as.root.submit('/admin/tags/save', { ...again, name: 'spinnaker' }), 303);
  expect(await read('/admin/tags?limit=100', 'tags', { id: tag.id })).toMatchObject({ name: 'spinnaker', hue: 30 });
});

test('invalid initial values in a form are ignored', async () => {
  const { tag } = await send('/admin/tags/save', { name: 'lateen', hue: 15 });
  for (const text of ['', 'null', '[]', '"name"', '{', '{"__proto__":{"name":"lugsail"}}']) {
    const form = { id: tag.id, name: 'lugsail', _opened: text };
    expectStatus(await forum.as.root.submit('/admin/tags/save', form), 303);
    expect(await read('/admin/tags?limit=100', 'tags', { id: tag.id })).toMatchObject({ name: 'lugsail' });
    await send('/admin/tags/save', { id: tag.id, name: 'lateen' });
  }
});

describe('a form submitted as it was opened does not change', () => {
  /** As browsers send it: every field with a value, in order, with CRLF line endings. */
  const sendAsOpened = async (page: string, action: string): Promise<void> => {
    const pairs = formPairs(expectStatus(await forum.as.root.get(page), 200).text, action);
    const form = new URLSearchParams();
    for (const [name, value] of pairs) form.append(name, value.replaceAll('\n', '\r\n'));
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    expectStatus(
      await forum.as.root.request('POST', action, { body: new TextEncoder().encode(form.toString()), headers }),
      303,
    );
  };
  const same = async (page: string, action: string, list: readonly [string, string], key: object): Promise<void> => {
    const before = await read(...list, key);
    await sendAsOpened(page, action);
    expect(await read(...list, key)).toEqual(before);
  };

  test('a category with line breaks and the maximum length, at the end of the list, that asks for answers', async () => {
    const list = ['/api/categories?limit=100', 'categories'] as const;
    await send('/admin/categories/save', { name: 'Last', position: 10_000 });
    const { category } = await send('/admin/categories/save', {
      name: 'Behind\nthe last',
      description: `\n${'nine char\n'.repeat(49)}nine char`,
      hue: 205,
      asks_for_answers: true,
    });
    expect(category).toMatchObject({ name: 'Behind the last', position: 10_000 });
    await same(`/admin/categories?id=${category.id}`, '/admin/categories/save', list, { id: category.id });
  });

  test('an enabled kind of reaction at the end of the list', async () => {
    await send('/admin/reactions/save', { slug: 'crab', emoji: '🦀', label: 'Crab', position: 10_000 });
    const { reaction } = await send('/admin/reactions/save', { slug: 'squid', emoji: '🦑', label: 'Squid\nor so' });
    expect(reaction).toMatchObject({ label: 'Squid or so', position: 10_000, enabled: true });
    const list = ['/admin/reactions?limit=100', 'reactions'] as const;
    await same('/admin/reactions?slug=squid', '/admin/reactions/save', list, { slug: 'squid' });
  });

  test('settings with line breaks, lists of numbers, and choices in their own order', async () => {
    const values = {
      'site.name': 'The\nSlipway',
      'site.description': 'One\r\ntwo\n',
      'site-pages.help': '\nHelp\n\n    code\n',
      'site-pages.shown': ['terms', 'help'],
      'uploads.types': ['txt', 'png'],
      'markdown.image_hosts': ['b.example', '', 'a.example'],
      'approval.words': ['black\nspot', ' rum'],
      'webhooks.retry_delays': [5, 5, 300],
      'webhooks.retry_jitter': 0.123_456,
    };
    await send('/admin/settings/save', values);
    const all = (): Promise<any> =>
      forum.as.root.request('GET', '/admin/settings', { headers: { accept: 'application/json' } });
    const before = (await all()).body.settings;
    for (const group of new Set<string>(before.map((setting: any) => setting.group)))
      await sendAsOpened(`/admin/settings/${group}`, '/admin/settings/save');
    expect((await all()).body.settings).toEqual(before);
  });

  test('a member’s own choices', async () => {
    for (const [path, choices] of [
      ['/settings/privacy', { hide_presence: 'true', hide_last_seen: 'true' }],
      ['/settings/messages', { open: 'true' }],
    ] as const) {
      expectStatus(await forum.as.root.submit(path, choices), 303);
      await sendAsOpened(path, path);
      expect((await forum.as.root.get(path)).text).toMatch(/role="switch"[^>]* checked/);
    }
  });
});
