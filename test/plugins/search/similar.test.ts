import { describe, expect, test } from 'vitest';
import { sql } from 'parley-forum';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum({ 'search.suggestion_rate_limit': 60, 'api.rate_limit_ip': 100_000 });

const ask = (title: string, client: Client) => client.get(`/api/search/similar?title=${encodeURIComponent(title)}`);
/** Titles of discussions shown to a member, or to `client`, for a title. */
async function similar(title: string, client: Client = forum.as.ada): Promise<readonly string[]> {
  const { discussions } = expectStatus(await ask(title, client), 200).body as {
    discussions: readonly { title: string }[];
  };
  return discussions.map((one) => one.title);
}

describe('similar discussions', () => {
  test('share at least half of the significant words, in any form, closest first', async () => {
    await forum.start('ada', 'Which varnish holds on an oak mast?', 'Ours peels');
    await forum.start('bob', 'Oak mast', 'Heavy');
    await forum.start('bob', 'Varnishing the mast of a dinghy', 'With a brush');
    await forum.start('bob', 'Sails', 'The mast is made of oak, and the varnish peels');
    expect(await similar('What varnish for the mast')).toEqual([
      'Varnishing the mast of a dinghy',
      'Which varnish holds on an oak mast?',
      'Oak mast',
    ]);
    expect(await similar('Does varnish peel off a mast of larch?')).toEqual([
      'Varnishing the mast of a dinghy',
      'Which varnish holds on an oak mast?',
    ]);
    expect(await similar('The tiller creaks')).toEqual([]);
  });

  test('match the start of the last word while it is being typed', async () => {
    expect(await similar('dingh')).toEqual(['Varnishing the mast of a dinghy']);
    expect(await similar('dingh, ')).toEqual([]);
    expect(await similar('di')).toEqual([]);
  });

  test('are limited to five, with what a list shows', async () => {
    for (let time = 0; time < 6; time++) await forum.start('ada', `Bilge pump ${time}`, 'It leaks');
    expect(await similar('Bilge pump')).toHaveLength(5);
    const { id, number } = await forum.start('ada', 'A <b>lead</b> keel', 'Heavy');
    await forum.reply('bob', id, 'Very');
    const { body } = await ask('lead keel', forum.as.ada);
    expect(body.discussions).toEqual([
      {
        id,
        number,
        title: 'A <b>lead</b> keel',
        url: expect.stringContaining(`/d/${number}-`),
        category: expect.objectContaining({ name: 'General' }),
        reply_count: 1,
        last_post_at: expect.any(String),
      },
    ]);
    expect(body.html).toContain('1 similar discussion<');
    expect(body.html).toContain('A &lt;b&gt;lead&lt;/b&gt; keel');
    expect(body.html).toContain('1 reply<');
    expect((await ask('tiller', forum.as.ada)).body).toMatchObject({ discussions: [], html: '' });
  });

  test('exclude hidden and deleted ones', async () => {
    await forum.start('mia', 'Quartermaster rota', 'Secret', 'staff');
    const { id } = await forum.start('ada', 'Quartermaster stores', 'Grey');
    expect(await similar('quartermaster')).toEqual(['Quartermaster stores']);
    expect(await similar('quartermaster', forum.as.mia)).toHaveLength(2);
    await forum.as.ada.delete(`/api/discussions/${id}`);
    expect(await similar('quartermaster')).toEqual([]);
  });

  test('accept any input; query operators have no meaning', async () => {
    for (const title of [`it's 'quoted' \\ & | ! ( <-> :*A`, '@7:2900', 'the of and', '%%%', '日本語', 'a'.repeat(200)])
      expect(await similar(title), title).toEqual([]);
    for (const title of ['', '   ', 'a'.repeat(201)]) expect((await ask(title, forum.as.ada)).status).toBe(400);
  });

  test('are for members only, and share a rate limit with search suggestions', async () => {
    expect((await ask('bilge pump', forum.guest)).status).toBe(401);
    for (let time = 0; time < 30; time++) {
      await ask('bilge pump', forum.as.bob);
      await forum.as.bob.get('/api/search/suggestions?q=bilge');
    }
    expectStatus(await ask('bilge pump', forum.as.bob), 429);
  });
});

test('similar discussions are looked for among the newest of very many, in few statements', async () => {
  await forum.app.app.data.all(sql`
    insert into search_post (id, discussion_id, number, category_id, author_id, created_at, visible, removed, language, title, body, vector)
    select gen_random_uuid(), gen_random_uuid(), 1, category_id, author_id, created_at - n * interval '1 hour', true, false, language, title, body, vector
    from search_post, generate_series(1, 2000) n where title = 'Bilge pump 0'`);
  expect(await forum.app.statements(() => ask('Bilge pump', forum.as.ada))).toBeLessThan(20);
  await forum.app.app.data.all(sql`delete from search_post where discussion_id not in (select id from discussion)`);
});

describe('the form of a new discussion', () => {
  const form = async (client: Client, title = ''): Promise<string> =>
    (await client.get(`/new?title=${encodeURIComponent(title)}`)).text;

  test('shows similar discussions, without JavaScript once there is a title', async () => {
    expect(await form(forum.as.mia)).toContain('<x-similar class="similar" data-when="[name=title]"></x-similar>');
    expect(await form(forum.as.mia, 'Bilge pump')).toContain('5 similar discussions');
    const fields = { title: 'A leaden keel', content: 'Heavy', category_id: '', preview: '1' };
    const preview = await forum.as.mia.submit('/new', { ...fields, title: 'Lead for a keel' });
    expect(preview.text).toContain('1 similar discussion<');
  });

  test('shows none while search is disabled', async () => {
    await forum.app.app.plugins.disable('search');
    expect(await form(forum.as.mia, 'Bilge pump')).not.toContain('similar');
    expect((await ask('Bilge pump', forum.as.mia)).status).toBe(404);
    await forum.app.app.plugins.enable('search');
    expect(await form(forum.as.mia, 'Bilge pump')).toContain('5 similar discussions');
  });
});
