import { describe, expect, test } from 'vitest';
import { definePlugin, HttpError } from 'parley-forum';
import { draftAccepted } from 'parley-forum/plugins/discussions';
import type { Answer } from 'parley-forum/testing';
import { install, useForum } from './forum.ts';

const forum = useForum();

describe('starting a discussion', () => {
  test('returns both ids, and the discussion exists', async () => {
    const answer = await forum.as.ada.post('/api/discussions', {
      title: '  Ahoy   there ',
      content: 'Is **anybody** home?\r\n',
      category_id: 'help',
    });
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      success: true,
      discussion_id: expect.any(String),
      post_id: expect.any(String),
    });
    const { discussion, posts, category } = (await forum.guest.get(`/api/discussions/${answer.body.discussion_id}`))
      .body;
    expect(discussion).toMatchObject({
      title: 'Ahoy there',
      slug: 'ahoy-there',
      content: 'Is **anybody** home?',
      html: expect.stringContaining('<strong>anybody</strong>'),
    });
    expect(posts).toMatchObject([{ id: answer.body.post_id, number: 1, is_first: true }]);
    expect(category.slug).toBe('help');
  });

  test('accepts a form as well as JSON', async () => {
    const answer = await forum.as.ada.request('POST', '/api/discussions', {
      form: { title: 'From a form', content: 'Text', category_id: 'general' },
      headers: { 'x-csrf-token': await forum.as.ada.csrf('/') },
    });
    expect(answer.status).toBe(201);
  });

  test('keeps letters of every script in the URL', async () => {
    const { number } = await forum.start('ada', 'Où est la mer? 海はどこ');
    expect((await forum.guest.get(`/api/discussions/${number}`)).body.discussion.slug).toBe('ou-est-la-mer-海はどこ');
    const { number: wordless } = await forum.start('ada', '🚢🚢');
    expect((await forum.guest.get(`/api/discussions/${wordless}`)).body.discussion.slug).toBe('discussion');
  });

  test.each([
    [{ content: 'x', category_id: 'general' }, 'title'],
    [{ title: ' ', content: 'x', category_id: 'general' }, 'title'],
    [{ title: 'x'.repeat(201), content: 'x', category_id: 'general' }, 'title'],
    [{ title: 'x', content: ' \n', category_id: 'general' }, 'content'],
    [{ title: 'x', content: 'y'.repeat(65_537), category_id: 'general' }, 'content'],
    [{ title: 'x', content: 'x' }, 'category_id'],
    [{ title: 'x', content: 'x', category_id: 'nowhere' }, 'category_id'],
    [{ title: 'x', content: 'x', category_id: 'staff' }, 'category_id'],
  ])('refuses %j, naming the field', async (body, field) => {
    const answer = await forum.as.ada.post('/api/discussions', body);
    expect(answer.status).toBe(400);
    expect(answer.body.details.map((problem: any) => problem.field)).toContain(field);
  });

  test('raises discussion.created alone, once it can be read', async () => {
    forum.happened.length = 0;
    const { id, number } = await forum.start('bob', 'News');
    expect(forum.happened.map(({ action }) => action)).toEqual(['discussion.created']);
    expect(forum.happened[0]!.payload.discussion).toEqual({
      id,
      number,
      title: 'News',
      slug: 'news',
      url: `http://forum.test/d/${number}-news`,
      category_id: expect.any(String),
      author: { id: forum.ids.bob, username: 'bob' },
      created_at: expect.any(String),
    });
  });
});

describe('replying', () => {
  test('returns the post, and updates the discussion', async () => {
    const { id, number } = await forum.start('ada', 'A question');
    forum.app.clock.advance(60_000);
    forum.happened.length = 0;
    const answer = await forum.as.bob.post('/api/posts', { discussion_id: String(number), content: 'An *answer*' });
    expect(answer.status).toBe(201);
    expect(answer.body.post).toMatchObject({
      discussion_id: id,
      number: 2,
      content: 'An *answer*',
      author: { username: 'bob' },
      is_first: false,
      edited_at: null,
      is_deleted: false,
    });
    const { discussion } = (await forum.guest.get(`/api/discussions/${id}`)).body;
    expect(discussion).toMatchObject({
      reply_count: 1,
      participant_count: 2,
      last_author: { username: 'bob' },
      updated_at: answer.body.post.created_at,
      last_post_at: answer.body.post.created_at,
    });
    expect(forum.happened.map(({ action }) => action)).toEqual(['post.created']);
    expect(forum.happened[0]!.payload.post).toMatchObject({
      number: 2,
      url: `http://forum.test/d/${number}/2#post-2`,
      author: { username: 'bob' },
    });
  });

  test('requires a discussion (400) that exists (404) and a text (400)', async () => {
    const { id } = await forum.start('ada', 'Another');
    const status = async (body: object) => (await forum.as.bob.post('/api/posts', body)).status;
    expect(await status({ content: 'x' })).toBe(400);
    expect(await status({ discussion_id: 'nothing', content: 'x' })).toBe(404);
    expect(await status({ discussion_id: id })).toBe(400);
    expect(await status({ discussion_id: id, content: '   ' })).toBe(400);
  });

  test('numbers posts without gaps or duplicates, however many write at once', async () => {
    const { id } = await forum.start('ada', 'Crowded');
    const names = ['ada', 'bob', 'mia', 'root'] as const;
    const posts = await Promise.all(
      Array.from({ length: 40 }, (_, index) => forum.reply(names[index % 4]!, id, `Voice ${index}`)),
    );
    expect(posts.map((post) => post.number).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, index) => index + 2),
    );
    expect((await forum.guest.get(`/api/discussions/${id}`)).body.discussion).toMatchObject({
      reply_count: 40,
      participant_count: 4,
    });
    const { category } = (await forum.guest.get('/api/categories/general')).body;
    const { discussions } = (await forum.guest.get('/api/discussions?category_id=general&limit=100')).body;
    expect(category.discussion_count).toBe(discussions.length);
    expect(category.post_count).toBe(
      discussions.reduce((sum: number, discussion: any) => sum + discussion.reply_count + 1, 0),
    );
  });

  test('stores nothing when a listener refuses the draft', async () => {
    await install(
      forum.app,
      definePlugin({
        id: 'test-refusal',
        setup(_services, plugin) {
          plugin.on(draftAccepted, (draft) => {
            if (draft.content?.includes('buy now')) throw new HttpError(400, 'No advertising');
            if (draft.title?.includes('SALE')) throw new HttpError(400, 'No shouting');
            return draft.content === undefined ? draft : { ...draft, content: draft.content.replace('teh', 'the') };
          });
        },
      }),
    );
    const { id } = await forum.start('ada', 'Market');
    const refused = await forum.as.bob.post('/api/posts', { discussion_id: id, content: 'buy now' });
    expect([refused.status, refused.body.error]).toEqual([400, 'No advertising']);
    expect((await forum.reply('bob', id, 'teh end')).content).toBe('the end');
    const renamed = await forum.as.ada.put(`/api/discussions/${id}`, { title: 'SALE' });
    expect([renamed.status, renamed.body.error]).toEqual([400, 'No shouting']);
    expect((await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Fair' })).status).toBe(200);
    expect((await forum.guest.get(`/api/discussions/${id}`)).body.discussion.reply_count).toBe(1);
    await forum.app.app.kernel.disable('test-refusal');
  });

  test('validates what a listener makes of a draft like what was sent', async () => {
    await install(
      forum.app,
      definePlugin({
        id: 'test-words',
        setup(_services, plugin) {
          const filtered = (text: string): string => text.replaceAll('darn', '').replaceAll('!', '!'.repeat(50));
          plugin.on(draftAccepted, ({ title, content }) => ({
            ...(title !== undefined && { title: filtered(title) }),
            ...(content !== undefined && { content: filtered(content) }),
          }));
        },
      }),
    );
    const { id, postId } = await forum.start('ada', 'A darn market');
    const market = async () => (await forum.guest.get(`/api/discussions/${id}`)).body.discussion;
    expect(await market()).toMatchObject({ title: 'A market', content: 'About A  market' });
    const wrong = async (answer: Promise<Answer>): Promise<unknown> => {
      const { status, body } = await answer;
      return [status, body.details?.map(({ field, message }: any) => `${field} ${message}`)];
    };
    const whole = { title: 'darn darn', content: ' darn\n', category_id: 'general' };
    const renamed = (title: string) => wrong(forum.as.ada.put(`/api/discussions/${id}`, { title }));
    const required = (...fields: string[]) => [400, fields.map((field) => `${field} is required`)];
    expect(await wrong(forum.as.ada.post('/api/discussions', whole))).toEqual(required('title', 'content'));
    expect(await wrong(forum.as.ada.post('/api/posts', { discussion_id: id, content: 'darn' }))).toEqual(
      required('content'),
    );
    expect(await wrong(forum.as.ada.put(`/api/posts/${postId}`, { content: 'darn' }))).toEqual(required('content'));
    expect(await renamed('darn')).toEqual(required('title'));
    expect(await renamed('Now!!!!!')).toEqual([400, ['title must have at most 200 characters']]);
    const { status, body } = await forum.as.ada.put(`/api/posts/${postId}`, { content: '!'.repeat(2_000) });
    expect([status, body.details]).toEqual([400, [{ field: 'content', message: 'must have at most 65536 bytes' }]]);
    expect(await market()).toMatchObject({ title: 'A market', content: 'About A  market', reply_count: 0 });
    await forum.app.app.kernel.disable('test-words');
  });
});
