import { beforeAll, describe, expect, test, vi } from 'vitest';
import { Access } from 'parley-forum/plugins/access';
import { Accounts } from 'parley-forum/plugins/accounts';
import { reviewPosts } from 'parley-forum/plugins/approval';
import { Categories } from 'parley-forum/plugins/discussions';
import { leastOf, type Client } from 'parley-forum/testing';
import { expectStatus, PASSWORD } from '../discussions/forum.ts';
import { useApproval } from './forum.ts';

const { forum, reply, discuss, held, queue, own, approve, reject, set, newcomer } = useApproval();
let lobby: { readonly id: string; readonly number: number };
let count = 0;
const somebody = (): Promise<{ readonly client: Client; readonly id: string }> => newcomer(`new${++count}`);
const ids = (list: readonly { readonly id: string }[]): readonly string[] => list.map(({ id }) => id);

beforeAll(async () => {
  lobby = await forum.start('mia', 'The lobby');
});

describe('the first posts of a member', () => {
  test('are held with 202, and visible to no one but the member and moderators', async () => {
    const { client, id: author } = await somebody();
    const before = (await forum.guest.get(`/api/discussions/${lobby.id}`)).body.discussion;
    const happened = forum.happened.length;
    const answer = expectStatus(await reply(client, lobby.id, 'A **quokka** says hello'), 202);
    expect(answer.body).toEqual({
      success: true,
      held: true,
      held_post: { id: expect.any(String), url: 'http://forum.test/settings/held-posts' },
    });
    const { id } = answer.body.held_post;
    const discussion = await held(discuss(client, 'Quokkas in general'));
    expect(forum.happened).toHaveLength(happened);
    expect((await forum.guest.get(`/api/discussions/${lobby.id}`)).body.discussion).toEqual(before);

    expect(await own(client)).toMatchObject([
      { id: discussion, status: 'held', discussion_id: null, title: 'Quokkas in general' },
      { id, status: 'held', discussion_id: lobby.id, title: '', content: 'A **quokka** says hello', review_reason: '' },
    ]);
    expect((await own(client))[0]).not.toHaveProperty('reason');
    const waiting = await queue();
    expect(waiting.filter((post) => post.author.id === author)).toMatchObject([
      { id, reason: 'first_posts', author_post_count: 0, html: expect.stringContaining('<strong>quokka</strong>') },
      { id: discussion, reason: 'first_posts', title: 'Quokkas in general' },
    ]);

    const paths = [
      '/',
      `/d/${lobby.number}`,
      '/c/general',
      `/u/new${count}`,
      `/u/new${count}/posts`,
      '/search?q=quokka',
      '/api/discussions',
      `/api/discussions/${lobby.id}/posts`,
      '/api/search?q=quokka',
      '/api/search/similar?q=Quokkas+in+general',
      '/api/search/suggestions?q=quokka',
      '/api/unread',
      '/api/events?limit=100',
      '/discussions.rss',
      '/sitemap.xml',
      '/settings/held-posts',
      '/api/held-posts',
      `/api/users/posts?user_id=${author}`,
      `/api/posts/${id}`,
    ];
    await forum.app.calm();
    for (const [who, seer] of [
      ['guest', forum.guest],
      ['bob', forum.as.bob],
    ] as const)
      for (const path of paths) {
        // A search repeats its query.
        const { text } = await seer.get(path);
        const said = text.replaceAll(/value="quokka"|q=quokka|“quokka”|"query":"quokka"/gi, '');
        expect(said.toLowerCase(), `${who} ${path}`).not.toContain('a quokka says');
        expect(said, `${who} ${path}`).not.toMatch(new RegExp(`${id}|${discussion}|Quokkas in general`));
      }
    expect((await client.get(`/api/users/${author}`)).body.user).toMatchObject({ post_count: 0, discussion_count: 0 });
    for (const [who, status] of [
      [forum.guest, 401],
      [forum.as.bob, 403],
      [forum.as.bad, 403],
    ] as const) {
      expect((await who.get('/api/approval')).status).toBe(status);
      for (const what of ['approve', 'reject'])
        expect((await who.post(`/api/approval/${id}/${what}`, {})).status).toBeGreaterThan(400);
    }
    expect((await forum.as.bob.delete(`/api/held-posts/${id}`)).status).toBe(404);
    expect((await forum.as.bob.get(`/settings/held-posts/${id}`)).status).toBe(404);
  });

  test('appear at once after enough approvals, and are held again if one of those is deleted', async () => {
    const { client } = await somebody();
    const [one, two] = [await held(reply(client, lobby.id, 'One')), await held(reply(client, lobby.id, 'Two'))];
    expectStatus(await approve('mia', one), 200);
    expectStatus(await forum.as.mia.delete(`/api/held-posts/${two}`), 404);
    expect((await reply(client, lobby.id, 'Still held')).status).toBe(202);
    const { post_id: second } = expectStatus(await approve('mia', two), 200).body;
    const { post: third } = expectStatus(await reply(client, lobby.id, 'Three'), 201).body;
    for (const id of [second, third.id]) expectStatus(await forum.as.mia.delete(`/api/posts/${id}`), 200);
    expectStatus(await reply(client, lobby.id, 'Four'), 202);
  });

  test('are refused for the same reasons as any post', async () => {
    const { client } = await somebody();
    const locked = await forum.start('mia', 'Locked');
    await forum.as.mia.put(`/api/discussions/${locked.id}`, { is_locked: true });
    const staff = await forum.start('mia', 'Among us', 'staff');
    expect((await reply(client, locked.id, 'x')).status).toBe(403);
    expect((await reply(client, staff.id, 'x')).status).toBe(404);
    expect((await reply(client, lobby.id, '  ')).body.details).toMatchObject([{ field: 'content' }]);
    expect((await discuss(client, '')).body.details).toMatchObject([{ field: 'title' }]);
    expect((await discuss(client, 'x', { category_id: 'staff' })).status).toBe(400);
    const tags = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l'];
    expect((await discuss(client, 'Tagged', { tags })).body.details).toMatchObject([{ field: 'tags' }]);
    expect((await discuss(client, 'Tagged', { tags: ['x'.repeat(40)] })).body.details).toMatchObject([
      { field: 'tags' },
    ]);
    expect((await reply(forum.as.bad, lobby.id, 'x')).status).toBe(403);
    expect(await own(client)).toEqual([]);
  });

  test('are never held for members who may review posts', async () => {
    const group = await forum.app.app.service(Access).saveGroup({ name: 'Welcomers', level: 'member' });
    await forum.app.app.service(Access).decide(group.id, reviewPosts, true);
    await forum.app.app
      .service(Accounts)
      .create({ username: 'welcomer', email: 'welcomer@forum.test', password: PASSWORD, groupId: group.id });
    const client = forum.app.client();
    await client.login('welcomer', PASSWORD);
    for (const one of [client, forum.as.mia, forum.as.root])
      expect((await reply(one, lobby.id, 'Mine')).status).toBe(201);
  });

  test('are limited to ten held at a time, even if sent at once', async () => {
    const { client } = await somebody();
    const answers = await Promise.all(Array.from({ length: 14 }, (_, at) => reply(client, lobby.id, `Number ${at}`)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      ...Array(10).fill(202),
      ...Array(4).fill(409),
    ]);
    expect(answers.find(({ status }) => status === 409)!.body).toMatchObject({
      code: 'too_many_held',
      error: '10 of your posts are waiting for a moderator; write more when they have been reviewed',
    });
    const [first] = await own(client);
    expectStatus(await client.delete(`/api/held-posts/${first.id}`), 200);
    expectStatus(await reply(client, lobby.id, 'There is room again'), 202);
    for (const { id } of await own(client)) await client.delete(`/api/held-posts/${id}`);
  });

  test('are held once if a request is repeated with its idempotency key', async () => {
    const { client } = await somebody();
    const headers = { 'Idempotency-Key': 'once' };
    const answers = await Promise.all([1, 2, 3].map(() => reply(client, lobby.id, 'Once', headers)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ headers: sent }) => sent.get('idempotency-replayed') === 'true')).toHaveLength(2);
    expect(await own(client)).toHaveLength(1);
  });
});

describe('posts are also held', () => {
  test('for many links from members with few posts, and for listed words from everyone but staff', async () => {
    const { client } = await somebody();
    for (const text of ['One', 'Two'])
      expectStatus(await approve('mia', await held(reply(client, lobby.id, text))), 200);
    await set({ 'approval.links': 2, 'approval.links_until': 3, 'approval.words': ['Casino', 'free money'] });
    const links = 'See https://one.example/ and [two](https://two.example/x).';
    const reasonFor = async (content: string): Promise<string | undefined> => {
      const answer = await reply(client, lobby.id, content);
      if (answer.status === 201) return undefined;
      const found = (await queue()).find(({ id }) => id === answer.body.held_post.id);
      await client.delete(`/api/held-posts/${answer.body.held_post.id}`);
      return found.reason;
    };
    expect(await reasonFor(links)).toBe('links');
    expect(await reasonFor('A CASINO.')).toBe('words');
    expect(await reasonFor('A **cas**ino')).toBe('words');
    expect(await reasonFor('Free\nmoney!')).toBe('words');
    for (const unseen of ['\u200b', '\u034f', '\u115f', '\u3164', '\ufe0f'])
      expect(await reasonFor(`ca${unseen}sino`)).toBe('words');
    expect(await held(discuss(client, 'Casino'))).toBeTruthy();
    expect(await reasonFor('Casinos are freedom of money, http://forum.test/ and http://forum.test/new')).toBe(
      undefined,
    );
    // That was the third post.
    expect(await reasonFor(links)).toBe(undefined);
    expect(await reasonFor('casino')).toBe('words');
    expectStatus(await reply(forum.as.mia, lobby.id, `casino ${links}`), 201);
    await set({ 'approval.links': 0, 'approval.words': [] });
  });
});

describe('a moderator', () => {
  test('approves a reply, which then is a regular post of its author, dated now', async () => {
    const { client, id: author } = await somebody();
    const [answered, other] = [
      await forum.reply('mia', lobby.id, 'Ask away'),
      await forum.reply('mia', lobby.id, 'Or not'),
    ];
    const id = await held(
      client.post('/api/posts', { discussion_id: lobby.id, content: 'A *wombat*', reply_to_id: answered.id }),
    );
    const gone = await held(
      client.post('/api/posts', { discussion_id: lobby.id, content: 'Too late', reply_to_id: other.id }),
    );
    forum.app.clock.advance(60_000);
    const happened = forum.happened.length;
    const { body } = expectStatus(await approve('mia', id), 200);
    const { post } = (await forum.guest.get(`/api/posts/${body.post_id}`)).body;
    expect(post).toMatchObject({
      author: { id: author },
      content: 'A *wombat*',
      reply_to_number: answered.number,
      created_at: new Date(forum.app.clock.now()).toISOString(),
    });
    expect(body).toMatchObject({
      discussion_id: lobby.id,
      url: `http://forum.test/d/${lobby.number}/${post.number}#post-${post.number}`,
    });
    expect(forum.happened.slice(happened)).toMatchObject([
      { action: 'post.created', payload: { post: { id: body.post_id, author: { id: author } } } },
    ]);
    await forum.as.mia.delete(`/api/posts/${other.id}`);
    const second = expectStatus(await approve('mia', gone), 200).body.post_id;
    expect((await forum.guest.get(`/api/posts/${second}`)).body.post).toMatchObject({ reply_to_number: null });
    expect(await own(client)).toEqual([]);
    expect(ids(await queue())).not.toContain(id);
    expect((await forum.guest.get('/api/search?q=wombat')).body.results).toMatchObject([{ discussion_id: lobby.id }]);
  });

  test('approves a discussion with its tags', async () => {
    const { client } = await somebody();
    const id = await held(discuss(client, 'Tagged well', { tags: ['marsupials', 'Fur'] }));
    expect((await forum.guest.get('/api/tags?q=marsupials')).body.tags).toEqual([]);
    const { discussion_id: made } = expectStatus(await approve('mia', id), 200).body;
    const { discussion } = (await forum.guest.get(`/api/discussions/${made}`)).body;
    expect(discussion.title).toBe('Tagged well');
    expect(discussion.tags.map(({ name }: { name: string }) => name)).toEqual(['marsupials', 'Fur']);
  });

  test('approves a discussion with its tags as they are by then: renamed, merged, or without deleted ones', async () => {
    const { client } = await somebody();
    const tagOf = async (name: string): Promise<string> =>
      (await forum.guest.get(`/api/tags?q=${name}`)).body.tags[0].id;
    const change = async (path: string, body: Record<string, string>) =>
      expectStatus(await forum.as.root.submit(`/admin/tags${path}`, body), 303);
    const tags = ['Wombats', 'Hedgehogs', 'Dingos', 'Animals'];
    expectStatus(await discuss(forum.as.mia, 'Of all animals', { tags }), 201);
    const [wombats, hedgehogs, dingos] = await Promise.all(tags.map(tagOf));
    const id = await held(discuss(client, 'Of some', { tags: ['wombats', 'Hedgehogs', 'dingos', 'Quokkas'] }));
    await change('/save', { id: wombats!, name: 'Vombatidae', slug: 'vombatidae' });
    await change('/delete', { id: hedgehogs!, merge_into: 'animals' });
    await change('/delete', { id: dingos! });
    await vi.waitFor(async () => {
      const waiting = await forum.app.app.jobs.report();
      expect(waiting.filter(({ listener }) => listener.startsWith('approval/'))).toEqual([]);
    });
    const { discussion_id: made } = expectStatus(await approve('mia', id), 200).body;
    const { discussion } = (await forum.guest.get(`/api/discussions/${made}`)).body;
    expect(discussion.tags.map(({ name }: { name: string }) => name)).toEqual(['Vombatidae', 'Animals', 'Quokkas']);
    expect((await forum.guest.get('/api/tags?q=hedgehogs')).body.tags).toEqual([]);
  });

  test('rejects with a reason for the author, who can read the text for 30 days', async () => {
    const { client } = await somebody();
    const id = await held(reply(client, lobby.id, 'Buy this'));
    expect((await reject('mia', id, 'x'.repeat(501))).status).toBe(400);
    expectStatus(await reject('mia', id, ' No advertisements. '), 200);
    expect(await own(client)).toMatchObject([
      {
        id,
        status: 'rejected',
        content: 'Buy this',
        review_reason: 'No advertisements.',
        reviewed_at: expect.any(String),
      },
    ]);
    await forum.app.calm();
    const { notifications } = (await client.get('/api/notifications')).body;
    expect(notifications).toMatchObject([
      { type: 'post_rejected', title: 'No advertisements.', actor: null, url: 'http://forum.test/settings/held-posts' },
    ]);
    await forum.app.runSchedule('approval/job:forget');
    expect(await own(client)).toHaveLength(1);
    forum.app.clock.advance(31 * 86_400_000);
    await client.login(`new${count}`, PASSWORD);
    await forum.app.runSchedule('approval/job:forget');
    expect(await own(client)).toEqual([]);
    for (const name of ['mia', 'root', 'ada', 'bob', 'bad'] as const) await forum.as[name].login(name, PASSWORD);
  });

  test('decides alone: of two decisions at once, one is refused', async () => {
    for (const [first, second] of [
      [approve, approve],
      [approve, reject],
      [reject, reject],
    ] as const) {
      const { client } = await somebody();
      const id = await held(reply(client, lobby.id, 'Wanted'));
      const answers = await Promise.all([first('mia', id), second('root', id)]);
      expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
      expect(answers.find(({ status }) => status === 409)!.body.error).toMatch(
        /^This post was already (approved|rejected)$/,
      );
      expect((await approve('mia', id)).status).toBe(409);
    }
    const posts = (await forum.guest.get(`/api/discussions/${lobby.id}/posts?limit=100`)).body.posts;
    expect(posts.filter(({ content }: { content: string }) => content === 'Wanted').length).toBeLessThanOrEqual(2);
  });

  test('is shown why a post cannot be published, and it stays held', async () => {
    const { client, id: author } = await somebody();
    const target = await forum.start('mia', 'Comes to an end');
    const category = await forum.app.app.service(Categories).save({ name: 'Short-lived' });
    const [post, discussion] = [
      await held(reply(client, target.id, 'A reply')),
      await held(discuss(client, 'A discussion', { category_id: category.id })),
    ];
    const refusal = async (id: string): Promise<unknown> => {
      const { status, body } = await approve('root', id);
      expect([status, body.code]).toEqual([409, 'not_publishable']);
      expect(ids(await queue('root'))).toContain(id);
      return body.error;
    };
    const change = (values: object) => forum.as.mia.put(`/api/discussions/${target.id}`, values);
    await change({ is_locked: true });
    expect(await refusal(post)).toBe('The discussion is locked');
    await change({ is_locked: false });
    await forum.as.mia.delete(`/api/discussions/${target.id}`);
    expect(await refusal(post)).toBe('The discussion is deleted, or the author can no longer see it');
    await forum.as.mia.post(`/api/discussions/${target.id}/restore`);
    const access = forum.app.app.service(Access);
    await access.suspend({ userId: author, until: new Date(forum.app.clock.now() + 60_000), reason: 'x' });
    expect(await refusal(post)).toBe('The author may not currently write there');
    await access.release(author);
    await forum.app.app.service(Categories).remove(category.id);
    expect(await refusal(discussion)).toBe('The category no longer exists, or the author can no longer see it');
    expect(ids(await queue('mia'))).not.toContain(discussion);
    await forum.app.app.service(Accounts).setStatus(author, 'disabled');
    expect(await refusal(post)).toBe('Its author’s account is closed');
    expectStatus(await reject('root', discussion), 200);
    expectStatus(await reject('mia', post), 200);
  });

  test('sees posts for categories that they may read, and for a merged category the one it went into', async () => {
    const { client } = await somebody();
    const access = forum.app.app.service(Access);
    const categories = forum.app.app.service(Categories);
    const group = await access.saveGroup({ name: 'Hidden', level: 'member' });
    const [open, other] = [await categories.save({ name: 'Open yet' }), await categories.save({ name: 'Another' })];
    const id = await held(discuss(client, 'Goes along', { category_id: open.id }));
    expect(ids(await queue())).toContain(id);
    await categories.save({ ...open, view: [group.id] });
    expect([ids(await queue()).includes(id), ids(await queue('root')).includes(id)]).toEqual([false, true]);
    expect((await approve('mia', id)).status).toBe(404);
    await forum.as.root.csrf('/login/confirm');
    await forum.as.root.submit('/login/confirm', { password: PASSWORD });
    const merged = await forum.as.root.submit('/admin/categories/delete', { id: open.id, move_to: other.id });
    expect(merged.status).toBe(303);
    await forum.app.calm();
    expect((await queue()).find((post) => post.id === id).category_id).toBe(other.id);
    const { discussion_id: made } = expectStatus(await approve('mia', id), 200).body;
    expect((await forum.guest.get(`/api/discussions/${made}`)).body.discussion.category_id).toBe(other.id);
  });

  test('approves a reply to a merged discussion in the discussion that has its posts now', async () => {
    const { client } = await somebody();
    const [first, second, last] = [
      await forum.start('mia', 'Merged first'),
      await forum.start('mia', 'Merged second'),
      await forum.start('mia', 'Stays', 'help'),
    ];
    const answered = await forum.reply('mia', first.id, 'Ask here');
    const sent = { discussion_id: first.id, content: 'Here I ask', reply_to_id: answered.id };
    const id = await held(client.post('/api/posts', sent));
    for (const [from, into] of [[first, second] as const, [second, last] as const])
      expectStatus(await forum.as.mia.post(`/api/discussions/${from.id}/merge`, { into: into.id }), 200);
    await forum.app.calm();
    expect((await own(client))[0]).toMatchObject({ id, discussion_id: last.id, category_id: expect.any(String) });
    const { post_id: made } = expectStatus(await approve('mia', id), 200).body;
    const { post } = (await forum.guest.get(`/api/posts/${made}`)).body;
    expect(post).toMatchObject({ discussion_id: last.id, content: 'Here I ask', reply_to_author: { username: 'mia' } });
  });

  test('lists the oldest posts first, in pages', async () => {
    for (const { id } of await queue('root')) await reject('root', id);
    const { client } = await somebody();
    const made: string[] = [];
    for (const text of ['One', 'Two', 'Three']) made.push(await held(reply(client, lobby.id, text)));
    const first = (await forum.as.mia.get('/api/approval?limit=2')).body;
    expect([ids(first.held_posts), first.hasMore]).toEqual([made.slice(0, 2), true]);
    const rest = (await forum.as.mia.get(`/api/approval?limit=2&cursor=${first.next_cursor}`)).body;
    expect([ids(rest.held_posts), rest.hasMore]).toEqual([made.slice(2), false]);
    for (const query of ['?limit=0', '?cursor=nonsense', '?offset=-1'])
      expect((await forum.as.mia.get(`/api/approval${query}`)).status).toBe(400);
    const long = await held(reply(client, lobby.id, 'word '.repeat(13_000)));
    await held(reply(client, lobby.id, 'word '.repeat(13_000)));
    expect(ids(await own(client))).toContain(long);
  });
});

describe('the cost of approval', () => {
  test('is zero while it is off, and one statement for members with enough posts', async () => {
    await set({ 'approval.first_posts': 0 });
    const send = () => leastOf(() => forum.app.statements(() => reply(forum.as.bob, lobby.id, 'As always')));
    const off = await send();
    await forum.app.app.plugins.disable('approval');
    expect(await send()).toBe(off);
    await forum.app.app.plugins.enable('approval');
    await set({ 'approval.first_posts': 2 });
    expect(await send()).toBe(off + 1);
  });

  test('does not grow with the queue', async () => {
    const least = (path: string) => leastOf(() => forum.app.statements(() => forum.as.mia.get(path)));
    expect(await least('/api/approval?limit=100')).toBe(await least('/api/approval?limit=1'));
  });
});
