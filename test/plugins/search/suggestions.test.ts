import { describe, expect, test } from 'vitest';
import type { Client } from 'parley-forum/testing';
import { Accounts } from 'parley-forum/plugins/accounts';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum({ 'search.suggestion_rate_limit': 60, 'api.rate_limit_ip': 100_000 });
const PASSWORD = 'Plain-Sailing-42';

/** Suggestions for a guest, or for `client`: labels by heading. */
async function suggested(
  q: string,
  client: Client = forum.guest,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const { groups } = expectStatus(await client.get(`/api/search/suggestions?q=${encodeURIComponent(q)}`), 200).body as {
    groups: readonly { label: string; suggestions: readonly { label: string }[] }[];
  };
  return Object.fromEntries(groups.map(({ label, suggestions }) => [label, suggestions.map((one) => one.label)]));
}

describe('suggestions', () => {
  test('include discussions with words that start with the query in their titles, members and tags', async () => {
    const { number } = await forum.start('ada', 'Varnish for a mast', 'Which one');
    await forum.start('bob', 'Mast and boom: 100%_sure', 'No');
    await forum.start('ada', 'The damask sail', 'Silk');
    const title = { title: 'Anchors', content: 'Deep', category_id: 'general', tags: ['mast-steps', 'chain'] };
    expectStatus(await forum.as.ada.post('/api/discussions', title), 201);
    const account = { username: 'Mastermind', email: 'm@forum.test', password: PASSWORD, groupId: 'member' };
    const { id } = await forum.app.app.service(Accounts).create(account);
    expect(await suggested('mas')).toEqual({
      Discussions: ['Mast and boom: 100%_sure', 'Varnish for a mast'],
      Members: ['Mastermind'],
      Tags: ['mast-steps'],
    });
    expect(await suggested('  MA   var ')).toEqual({ Discussions: ['Varnish for a mast'] });
    expect(await suggested('100%_s')).toEqual({ Discussions: ['Mast and boom: 100%_sure'] });
    expect(await suggested('%a')).toEqual({});
    const named = async (): Promise<readonly boolean[]> =>
      Promise.all(
        ['/api/users/search?q=mastermind', '/search?type=users&q=mastermind'].map(async (path) =>
          /"username":"Mastermind"|href="\/u\/Mastermind"/.test((await forum.guest.get(path)).text),
        ),
      );
    expect(await named()).toEqual([true, true]);
    await forum.app.app.service(Accounts).setStatus(id, 'disabled');
    expect(await suggested('mast')).not.toHaveProperty('Members');
    expect(await named()).toEqual([false, false]);
    const { body } = await forum.guest.get('/api/search/suggestions?q=varnish');
    expect(body.groups[0].suggestions[0]).toEqual({
      label: 'Varnish for a mast',
      path: `/d/${number}-varnish-for-a-mast`,
      detail: 'General',
    });
  });

  test('include categories that the reader may see, by the words of their names', async () => {
    const { id: parent_id } = (await forum.guest.get('/api/categories/help')).body.category;
    const save = (body: object) => forum.as.root.post('/admin/categories/save', body, { accept: 'application/json' });
    const open = { view: 'everyone', create: 'members', reply: 'members' };
    expectStatus(await save({ name: 'Wood & Rigging', parent_id, ...open }), 201);
    expectStatus(await save({ name: 'Rigging plans', ...open, view: 'staff' }), 201);
    expect(await suggested('rig')).toEqual({ Categories: ['Wood & Rigging'] });
    expect(await suggested('rigging wo', forum.as.ada)).toEqual({ Categories: ['Wood & Rigging'] });
    expect(await suggested('igging')).toEqual({});
    expect((await suggested('rigging', forum.as.mia))['Categories']).toEqual(['Rigging plans', 'Wood & Rigging']);
    const { body } = await forum.guest.get('/api/search/suggestions?q=rigging');
    expect([body.groups[0].of, body.groups[0].kind]).toEqual(['discussions', 'categories']);
    expect(body.groups[0].suggestions[0]).toEqual({ label: 'Wood & Rigging', path: '/c/wood-rigging', detail: 'Help' });
  });

  test('exclude hidden, renamed and deleted discussions', async () => {
    await forum.start('mia', 'Quartermaster rota', 'Secret', 'staff');
    const { id } = await forum.start('ada', 'Quarterdeck paint', 'Grey');
    expect(await suggested('quarter')).toEqual({ Discussions: ['Quarterdeck paint'] });
    expect(await suggested('quarter', forum.as.ada)).toEqual({ Discussions: ['Quarterdeck paint'] });
    expect((await suggested('quarter', forum.as.mia))['Discussions']).toHaveLength(2);
    await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Afterdeck paint' });
    expect(await suggested('quarter')).toEqual({});
    expect(await suggested('afterd')).toEqual({ Discussions: ['Afterdeck paint'] });
    await forum.as.ada.delete(`/api/discussions/${id}`);
    expect(await suggested('afterd')).toEqual({});
  });

  test('require two letters of a word, and refuse an invalid query', async () => {
    expect(await suggested('m')).toEqual({});
    expect(await suggested('m a v')).toEqual({});
    for (const q of ['', '%20', 'a'.repeat(101)])
      expect((await forum.guest.get(`/api/search/suggestions?q=${q}`)).status).toBe(400);
  });

  test('for guests are cached by query, and then run no statement', async () => {
    await suggested('mast');
    expect(await forum.app.statements(() => suggested('mast'))).toBe(0);
  });

  test('have their own rate limit per address', async () => {
    for (let time = 0; time < 60; time++) await forum.guest.get('/api/search/suggestions?q=mast');
    const refused = expectStatus(await forum.guest.get('/api/search/suggestions?q=mast'), 429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expectStatus(await forum.guest.get('/api/search?q=mast'), 200);
  });
});

describe('filters on the search page', () => {
  const leads = async (query: Readonly<Record<string, string>>): Promise<string> => {
    const answer = await forum.guest.request('GET', `/search?${new URLSearchParams(query)}`);
    expect(answer.status).toBe(303);
    return new URL(answer.headers.get('location')!, 'http://forum.test').searchParams.get('q')!;
  };

  test('are added to the query, and filled in from it', async () => {
    expect(
      await leads({ q: 'mast', author: '@ada', category: 'general', tag: 'chain', after: '2026-01-01', before: '' }),
    ).toBe('mast author:ada category:general tag:chain after:2026-01-01');
    expect(await leads({ q: '', author: 'ada lovelace', category: '', tag: '' })).toBe('author:ada-lovelace');
    const { text } = await forum.guest.get('/search?q=mast+author%3Aada+category%3Ageneral+after%3A2026-01-01');
    expect(text).toContain('<details class="search-filters" open>');
    expect(text).toMatch(/name="author"[^>]* value="ada"/);
    expect(text).toContain('<option value="general" selected>');
    expect(text).toMatch(/name="after"[^>]* value="2026-01-01"/);
    expect((await forum.guest.get('/search')).text).toContain('<details class="search-filters">');
  });

  test('that are unchanged leave the query alone, even where it was edited', async () => {
    const shown = 'mast author:ada tag:chain after:2026';
    expect(
      await leads({ q: 'boom author:bob tag:chain after:2026', shown, author: 'ada', tag: 'chain', after: '' }),
    ).toBe('boom author:bob tag:chain after:2026');
    expect(await leads({ q: shown, shown, author: '', tag: 'oak' })).toBe('mast after:2026 tag:oak');
    expect(await leads({ q: '"side by side" -not', shown: '', author: 'a"b' })).toBe('"side by side" -not author:ab');
  });

  test('never list a category that the viewer may not see', async () => {
    expect((await forum.guest.get('/search')).text).not.toContain('value="staff"');
    expect((await forum.as.mia.get('/search')).text).toContain('value="staff"');
  });
});

describe('sorting by newest', () => {
  test('is available on the page and in the API', async () => {
    await forum.start('ada', 'Bilge bilge bilge', 'bilge bilge');
    await forum.start('ada', 'Paint', 'Some of it went into the bilge');
    const titles = async (more: string) => (await forum.search('bilge', more)).map(({ title }) => title);
    expect(await titles('')).toEqual(['Bilge bilge bilge', 'Paint']);
    expect(await titles('&sort=newest')).toEqual(['Paint', 'Bilge bilge bilge']);
    expect((await forum.guest.get('/api/search?q=bilge&sort=best')).status).toBe(400);
    const page = await forum.guest.get('/search?q=bilge&sort=newest');
    expect(page.text).toContain('<option value="newest" selected>');
    expect(page.text).toContain('href="/search?q=bilge&amp;type=posts&amp;sort=newest"');
    const first = (await forum.guest.get('/api/search?q=bilge&sort=newest&limit=1')).body;
    expect(
      (await forum.search('bilge', `&sort=newest&limit=1&cursor=${first.next_cursor}`)).map(({ title }) => title),
    ).toEqual(['Bilge bilge bilge']);
  });
});
