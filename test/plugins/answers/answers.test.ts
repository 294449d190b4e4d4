import { beforeAll, describe, expect, test, vi } from 'vitest';
import { leastOf, type Client } from 'parley-forum/testing';
import { settled } from '../audit/settled.ts';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';
import { settled as logged } from '../events/settled.ts';
import { listen } from '../live/listen.ts';

const forum = useForum();
const JSON_ONLY = { accept: 'application/json' };
let help: { readonly id: string; readonly name: string };

const ask = async (asks: boolean): Promise<any> =>
  expectStatus(await forum.as.root.post('/admin/categories/save', { ...help, asks_for_answers: asks }, JSON_ONLY), 200);
beforeAll(async () => {
  const { id, name } = (await forum.guest.get('/api/categories/help')).body.category;
  help = { id, name };
  await forum.as.root.csrf('/admin/categories');
  await ask(true);
});

/** A question by ada in the category that asks for answers, with a reply by bob. */
async function question(title: string): Promise<{ id: string; number: number; postId: string; reply: string }> {
  const made = await forum.start('ada', title, 'help');
  return { ...made, reply: (await forum.reply('bob', made.id, `Answer to ${title}`)).id };
}
const accept = (name: Name, id: string, postId: string) =>
  forum.as[name].put(`/api/discussions/${id}/answer`, { post_id: postId });
const acceptedOf = async (id: string, client: Client = forum.guest): Promise<string | undefined> =>
  expectStatus(await client.get(`/api/discussions/${id}`), 200).body.discussion.accepted_answer?.post_id;
const page = async (path: string, client: Client = forum.guest): Promise<string> =>
  expectStatus(await client.get(path), 200).text;
const listed = async (filter: string, query = ''): Promise<string[]> =>
  expectStatus(
    await forum.guest.get(`/api/discussions?category_id=help&filter=${filter}&limit=100${query}`),
    200,
  ).body.discussions.map(({ id }: any) => id);

describe('an answer', () => {
  test('is accepted, changed and withdrawn by the author of the question', async () => {
    const { id, reply } = await question('Which glue');
    const other = await forum.reply('mia', id, 'Another one');
    const { body } = expectStatus(await accept('ada', id, reply), 200);
    expect(body.discussion.accepted_answer).toEqual({ post_id: reply, accepted_at: '2026-01-15T12:00:00.000Z' });
    await accept('ada', id, other.id);
    const { posts } = (await forum.guest.get(`/api/discussions/${id}`)).body;
    expect(posts.map((post: any) => post.is_accepted_answer)).toEqual([false, false, true]);
    expect((await forum.as.ada.delete(`/api/discussions/${id}/answer`)).body.discussion.accepted_answer).toBeNull();
    expect((await forum.as.ada.delete(`/api/discussions/${id}/answer`)).status).toBe(404);
  });

  test('is refused from others, and for posts that cannot be answers', async () => {
    const { id, postId, reply } = await question('Refused');
    const elsewhere = await forum.start('ada', 'No question', 'general');
    const talk = await forum.reply('bob', elsewhere.id, 'Just talking');
    const gone = await forum.reply('bob', id, 'Gone');
    await forum.as.bob.delete(`/api/posts/${gone.id}`);
    await forum.guest.csrf();
    const asked = [
      [await accept('bob', id, reply), 403],
      [await accept('bad', id, reply), 403],
      [await forum.guest.put(`/api/discussions/${id}/answer`, { post_id: reply }), 401],
      [await accept('ada', id, postId), 400],
      [await accept('ada', id, talk.id), 404],
      [await accept('ada', id, gone.id), 404],
      [await accept('mia', id, gone.id), 400],
      [await accept('ada', elsewhere.id, talk.id), 409],
      [await forum.as.bob.submit(`/p/${reply}/answer`, { accepted: 'true' }), 403],
    ] as const;
    expect(asked.map(([{ status }]) => status)).toEqual(asked.map(([, status]) => status));
    expect(await acceptedOf(id)).toBeUndefined();
  });

  test('is shown in lists, in the header, on the post itself and below the question', async () => {
    const { number, reply } = await question('Shown everywhere');
    const sent = await forum.as.ada.submit(`/p/${reply}/answer`, { accepted: 'true' });
    expect([sent.status, sent.headers.get('location')]).toEqual([303, `/d/${number}/2`]);
    for (const client of [forum.guest, forum.as.ada]) {
      const shown = await page(`/d/${number}-shown-everywhere`, client);
      expect(shown.match(/<\/svg>Solved<|<\/svg>Accepted answer</g)).toHaveLength(2);
      expect(shown).toMatch(
        new RegExp(`<aside class="answer-quote"[^]*Answer to Shown everywhere[^]*href="/d/${number}/2"`),
      );
    }
    expect(await page('/c/help?filter=solved')).toMatch(/Shown everywhere[^]*<\/svg>Solved</);
    expect(await page(`/p/${reply}/menu`, forum.as.ada)).toContain('Unaccept answer');
    expect(await page(`/p/${reply}/menu`, forum.as.bob)).not.toContain(`/p/${reply}/answer`);
  });

  test('is described to search engines as a QAPage if the category asks for answers', async () => {
    const { id, number, reply } = await question('For engines');
    await forum.reply('mia', id, 'Maybe not');
    await accept('ada', id, reply);
    const dataOf = async (path: string) =>
      JSON.parse(/<script type="application\/ld\+json"[^>]*>(.*?)<\/script>/s.exec(await page(path))![1]!);
    expect(await dataOf(`/d/${number}-for-engines`)).toMatchObject({
      '@type': 'QAPage',
      mainEntity: {
        '@type': 'Question',
        name: 'For engines',
        answerCount: 2,
        acceptedAnswer: {
          '@type': 'Answer',
          text: 'Answer to For engines',
          url: `http://forum.test/d/${number}/2#post-2`,
        },
        suggestedAnswer: [{ '@type': 'Answer', text: 'Maybe not' }],
      },
    });
    const talk = await forum.start('ada', 'Only talk');
    expect((await dataOf(`/d/${talk.number}-only-talk`))['@type']).toBe('DiscussionForumPosting');
  });

  test('notifies its author once, and is logged when a moderator accepts it', async () => {
    const { id, reply } = await question('Notified');
    await accept('mia', id, reply);
    await forum.as.mia.delete(`/api/discussions/${id}/answer`);
    await accept('ada', id, reply);
    const notified = async () =>
      (await forum.as.bob.get('/api/notifications?limit=100')).body.notifications.filter(
        ({ type, post_id }: any) => type === 'answer_accepted' && post_id === reply,
      );
    await vi.waitFor(async () => expect(await notified()).toHaveLength(1), 10_000);
    await settled(forum.app);
    expect(await notified()).toMatchObject([{ count: 1, actor: { username: 'mia' } }]);
    const { entries } = (await forum.as.root.get('/admin/audit?limit=100', JSON_ONLY)).body;
    expect(
      entries
        .filter(({ subject }: any) => subject?.id === reply)
        .map(({ action, actor }: any) => [action, actor.username]),
    ).toEqual([
      ['answer.withdrawn', 'mia'],
      ['answer.accepted', 'mia'],
    ]);
  });
});

describe('the event of an answer', () => {
  const eventsOf = async (id: string, client: Client = forum.guest): Promise<readonly unknown[]> => {
    await logged(forum.app);
    const { events } = (await client.get('/api/events?limit=100&event=answer.accepted,answer.withdrawn')).body;
    return events.flatMap(({ event, data }: any) => (data.discussion_id === id ? [[event, data]] : []));
  };

  test('tells of an accepted answer and of its withdrawal, but not who decided', async () => {
    const { id, reply } = await question('Told to others');
    await accept('mia', id, reply);
    await logged(forum.app);
    await forum.as.mia.delete(`/api/discussions/${id}/answer`);
    const data = { discussion_id: id, post_id: reply, author_id: forum.ids.bob };
    expect(await eventsOf(id)).toEqual([
      ['answer.accepted', data],
      ['answer.withdrawn', data],
    ]);
  });

  test('is for those alone who may read the answer, in the discussion that it answered', async () => {
    const { id, reply } = await question('Told to some');
    await accept('ada', id, reply);
    expect(await eventsOf(id)).toHaveLength(1);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'staff' });
    expect([await eventsOf(id), await eventsOf(id, forum.as.ada)]).toEqual([[], []]);
    expect(await eventsOf(id, forum.as.mia)).toHaveLength(1);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'help' });
    const to = await question('Told elsewhere');
    const path = `/api/discussions/${id}/move-posts`;
    expectStatus(await forum.as.mia.post(path, { post_ids: [reply], discussion_id: to.id }), 200);
    expect([await eventsOf(id), await eventsOf(to.id)]).toEqual([[], []]);
  });
});

test('open pages are notified which posts look different once an answer is accepted, moved or withdrawn', async () => {
  const { id, reply } = await question('Shown at once');
  const other = await forum.reply('mia', id, 'A better one');
  await using reader = await listen(forum.app, forum.as.bob, `?discussion_id=${id}`);
  const sent = (): readonly unknown[] =>
    reader.signals.filter(({ event }) => event === 'post.looks-changed').map(({ data }) => data.number);
  await accept('ada', id, reply);
  await expect.poll(sent).toEqual([1, 2]);
  await accept('ada', id, reply);
  await accept('ada', id, other.id);
  await expect.poll(sent).toEqual([1, 2, 1, 3, 2]);
  await forum.as.ada.delete(`/api/discussions/${id}/answer`);
  await expect.poll(sent).toEqual([1, 2, 1, 3, 2, 1, 3]);
});

describe('a solved discussion', () => {
  test('is unsolved while its answer is deleted', async () => {
    const { id, reply } = await question('Answer deleted');
    await accept('ada', id, reply);
    await forum.as.mia.delete(`/api/posts/${reply}`);
    expect([await acceptedOf(id), (await listed('unsolved')).includes(id)]).toEqual([undefined, true]);
    await forum.as.mia.post(`/api/posts/${reply}/restore`, {});
    expect([await acceptedOf(id), (await listed('solved')).includes(id)]).toEqual([reply, true]);
  });

  test('is in neither list while it is deleted itself', async () => {
    const { id, reply } = await question('Wholly deleted');
    await accept('ada', id, reply);
    await forum.as.ada.delete(`/api/discussions/${id}`);
    expect([...(await listed('solved')), ...(await listed('unsolved'))]).not.toContain(id);
    await forum.as.mia.post(`/api/discussions/${id}/restore`, {});
    expect(await listed('solved')).toContain(id);
  });

  test('has no answer while its category does not ask for answers', async () => {
    const { id, reply } = await question('Moved');
    await accept('ada', id, reply);
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'general' });
    expect(await acceptedOf(id)).toBeUndefined();
    await forum.as.mia.put(`/api/discussions/${id}`, { category_id: 'help' });
    expect(await acceptedOf(id)).toBe(reply);
    await ask(false);
    expect([
      await acceptedOf(id),
      (await forum.guest.get('/api/categories/help')).body.category.asks_for_answers,
    ]).toEqual([undefined, false]);
    expect((await forum.guest.get('/api/discussions?category_id=help&filter=solved')).status).toBe(400);
    await ask(true);
    expect(await acceptedOf(id)).toBe(reply);
  });
});

describe('lists', () => {
  test('filter by solved and unsolved, page by page, and refuse other filters', async () => {
    const [one, two] = [await question('List one'), await question('List two')];
    await accept('ada', one.id, one.reply);
    expect([(await listed('solved')).includes(one.id), (await listed('solved')).includes(two.id)]).toEqual([
      true,
      false,
    ]);
    expect([(await listed('unsolved')).includes(one.id), (await listed('unsolved')).includes(two.id)]).toEqual([
      false,
      true,
    ]);
    const all = [...(await listed('solved')), ...(await listed('unsolved'))];
    const { body } = await forum.guest.get('/api/discussions?category_id=help&limit=100');
    expect(all.toSorted()).toEqual(body.discussions.map(({ id }: any) => id).toSorted());
    const first = (await forum.guest.get('/api/discussions?category_id=help&filter=unsolved&limit=1')).body;
    expect(first.hasMore).toBe(true);
    expect(await listed('unsolved', `&cursor=${first.next_cursor}`)).not.toContain(first.discussions[0].id);
    for (const query of ['category_id=help&filter=other', 'category_id=general&filter=solved', 'filter=solved'])
      expect((await forum.guest.get(`/api/discussions?${query}`)).status).toBe(400);
    expect(await page('/c/help?filter=unsolved')).toMatch(/href="\/c\/help\?filter=unsolved" aria-current="page"/);
    expect(await page('/c/general')).not.toContain('filter');
  });

  test('take as many statements for many discussions as for one', async () => {
    for (let at = 0; at < 4; at++) {
      const { id, reply } = await question(`Many ${at}`);
      await accept('ada', id, reply);
    }
    const asked = (filter: string, limit: number) =>
      leastOf(async () => {
        await forum.app.app.cache.purge('discussions', 'answers');
        return forum.app.statements(() => forum.guest.get(`/api/discussions?category_id=help${filter}&limit=${limit}`));
      });
    for (const filter of ['', '&filter=solved', '&filter=unsolved'])
      expect(await asked(filter, 4)).toBe(await asked(filter, 1));
  });
});

test('administrators set in a form whether a category asks for answers', async () => {
  const form = await page(`/admin/categories?id=${help.id}`, forum.as.root);
  expect(form).toMatch(/name="asks_for_answers" value="true" checked/);
  expect(await page('/admin/categories', forum.as.root)).toMatch(/name="asks_for_answers" value="true"(?! checked)/);
});

test('an answer that moves to another discussion solves neither until it is accepted there', async () => {
  const [from, to] = [await question('Which rope'), await question('Which knot')];
  await accept('ada', from.id, from.reply);
  await accept('ada', to.id, to.reply);
  const path = `/api/discussions/${from.id}/move-posts`;
  expectStatus(await forum.as.mia.post(path, { post_ids: [from.reply], discussion_id: to.id }), 200);
  expect([await acceptedOf(from.id), await acceptedOf(to.id)]).toEqual([undefined, to.reply]);
  expect(await listed('unsolved')).toContain(from.id);
  expectStatus(await accept('ada', to.id, from.reply), 200);
  expect(await acceptedOf(to.id)).toBe(from.reply);
});
