import { describe, expect, test } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Categories, Discussions } from 'parley-forum/plugins/discussions';
import { leastOf } from 'parley-forum/testing';
import { expectStatus, useForum } from './forum.ts';

const forum = useForum();

describe('visibility of search results', () => {
  test('members and guests find nothing in a category they cannot see, nor learn that it exists', async () => {
    const { id } = await forum.start('mia', 'Secret plan', 'About the heron', 'staff');
    await forum.reply('root', id, 'More of the heron');
    for (const client of [forum.guest, forum.as.ada]) {
      for (const q of ['heron', 'heron category:staff', 'category:staff', 'author:mia'])
        expect(await forum.titles(q, client)).toEqual([]);
      expect(await forum.search('heron', '&type=posts', client)).toEqual([]);
    }
    expect(await forum.titles('heron', forum.as.mia)).toEqual(['Secret plan']);
    expect(await forum.titles('heron category:staff', forum.as.root)).toEqual(['Secret plan']);
  });

  test('a change of a category’s visibility applies to the next search', async () => {
    const categories = forum.app.app.service(Categories);
    const category = await categories.save({ name: 'Moods' });
    await forum.start('ada', 'Weather', 'The albatross', 'moods');
    expect(await forum.titles('albatross')).toEqual(['Weather']);
    await categories.save({ ...category, view: 'staff' });
    expect(await forum.titles('albatross')).toEqual([]);
    await categories.save({ ...category, view: 'everyone' });
    await categories.remove(category.id, categories.all().find(({ slug }) => slug === 'help')!.id);
    expect(await forum.titles('albatross category:help')).toEqual(['Weather']);
  });
});

describe('the index is up to date once a response is sent', () => {
  test('for new discussions, replies and edits', async () => {
    const { id } = await forum.start('ada', 'Birds', 'A curlew');
    expect(await forum.titles('curlew')).toEqual(['Birds']);
    const reply = await forum.reply('bob', id, 'A dunlin');
    expect(await forum.titles('dunlin')).toEqual(['Birds']);
    expectStatus(await forum.as.bob.put(`/api/posts/${reply.id}`, { content: 'A plover' }), 200);
    expect([await forum.titles('dunlin'), await forum.titles('plover')]).toEqual([[], ['Birds']]);
  });

  test('for new titles and categories', async () => {
    const { id } = await forum.start('ada', 'Gannets', 'Diving');
    await forum.reply('bob', id, 'Deep');
    expectStatus(await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Kittiwakes', category_id: 'help' }), 200);
    expect([
      await forum.titles('gannet'),
      await forum.titles('kittiwake'),
      await forum.titles('deep category:help'),
    ]).toEqual([[], ['Kittiwakes'], ['Kittiwakes']]);
  });

  test('for deleted posts and discussions, hidden even from moderators until restored', async () => {
    const { id } = await forum.start('ada', 'Waders', 'Sandpiper');
    const gone = await forum.reply('bob', id, 'Turnstone');
    await forum.reply('bob', id, 'Redshank');
    const found = async () =>
      [
        await forum.titles('sandpiper', forum.as.mia),
        await forum.titles('turnstone', forum.as.mia),
        await forum.titles('redshank'),
      ].map((list) => list.length);
    expect(await found()).toEqual([1, 1, 1]);
    expectStatus(await forum.as.bob.delete(`/api/posts/${gone.id}`), 200);
    expect(await found()).toEqual([1, 0, 1]);
    expectStatus(await forum.as.ada.delete(`/api/discussions/${id}`), 200);
    expect(await found()).toEqual([0, 0, 0]);
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/restore`), 200);
    expect(await found()).toEqual([1, 0, 1]);
    expectStatus(await forum.as.mia.post(`/api/posts/${gone.id}/restore`), 200);
    expect(await found()).toEqual([1, 1, 1]);
  });

  test('at the cost of one statement per reply', async () => {
    const { id } = await forum.start('ada', 'Cost', 'x');
    const { app } = forum.app;
    const viewer = { id: forum.ids.bob, username: 'bob', group: app.service(Access).groupOf('member') };
    // Within a transaction, to exclude what happens after the commit.
    const reply = () => app.service(Discussions).reply(viewer, { discussionId: id, content: 'y' });
    const cost = () =>
      leastOf(async () => {
        await forum.settled();
        return app.data.transaction(() => forum.app.statements(reply));
      });
    const withSearch = await cost();
    await app.kernel.disable('search');
    expect(await cost()).toBe(withSearch - 1);
    await app.kernel.enable('search');
  });
});
