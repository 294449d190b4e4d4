import { beforeAll, describe, expect, test } from 'vitest';
import { Data, sql } from 'parley-forum';
import { Importer } from 'parley-forum/plugins/discussions';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { picture, send } from '../uploads/forum.ts';
import { exported } from './forum.ts';

const forum = useForum({ 'pro.enabled': true, 'privacy.export_rate_limit': 50 });
const parsed = (files: ReadonlyMap<string, string>, name: string): any => JSON.parse(files.get(name) ?? 'null');

describe('a member’s data', () => {
  let files: ReadonlyMap<string, string>;
  let discussion: { readonly id: string; readonly number: number; readonly postId: string };
  let fileId: string;

  beforeAll(async () => {
    discussion = await forum.start('ada', 'About kites');
    const others = await forum.start('bob', 'The title is Bob’s');
    const reply = await forum.reply('ada', others.id, 'I like **wind**.');
    const gone = await forum.reply('ada', others.id, 'Said too much.');
    expectStatus(await forum.as.ada.put(`/api/posts/${reply.id}`, { content: 'I like **storms**.' }), 200);
    expectStatus(await forum.as.ada.delete(`/api/posts/${gone.id}`), 200);
    expectStatus(await forum.as.ada.post('/api/reactions/toggle', { post_id: others.postId, reaction: 'like' }), 200);
    expectStatus(await forum.as.ada.post('/api/bookmarks', { post_id: others.postId, note: 'For winter' }), 201);
    const toBob = { to: ['bob'], subject: 'Kites and wind', content: 'At the **quay**?' };
    const { conversation, message } = expectStatus(await forum.as.ada.post('/api/conversations', toBob), 201).body;
    const path = `/api/conversations/${conversation.id}`;
    const at = { content: 'At the **pier**?' };
    expectStatus(await forum.as.ada.put(`/api/messages/${message.id}`, at), 200);
    expectStatus(await forum.as.ada.put(path, { is_muted: true }), 200);
    expectStatus(await forum.as.bob.post(`${path}/messages`, { content: 'Said to ada alone.' }), 201);
    const mute = { kind: 'member', subject_id: forum.ids.bob, muted: true };
    expectStatus(await forum.as.ada.post('/api/subscriptions/mute', mute), 200);
    expectStatus(await forum.as.ada.put('/api/drafts/new', { fields: { title: 'Not yet', content: 'Begun' } }), 200);
    expectStatus(
      await forum.as.ada.post('/api/reports', {
        post_id: others.postId,
        reason: 'spam',
        note: 'It is an advertisement.',
      }),
      201,
    );
    expectStatus(
      await forum.as.bob.post('/api/reports', { post_id: discussion.postId, reason: 'abuse', note: 'Bob says so.' }),
      201,
    );
    expectStatus(
      await forum.as.mia.post(`/api/posts/${discussion.postId}/notes`, { content: 'Mia says so, to moderators.' }),
      201,
    );
    fileId = expectStatus(await send(forum.as.ada, await picture(), 'kite.png'), 201).body.upload.id;
    await forum.as.ada.submit('/settings/feeds', { name: 'My phone' });
    await forum.app.calm();
    files = await exported(forum.app, forum.as.ada);
  });

  test('contains the account without credentials', () => {
    expect(parsed(files, 'account.json')).toMatchObject({
      id: forum.ids.ada,
      username: 'ada',
      email: 'ada@forum.test',
      has_api_token: false,
    });
    expect([...files.values()].join('\n')).not.toMatch(/\$2[aby]\$|feed_[\w-]{43}|csrf|password/);
    expect(parsed(files, 'sessions.json')[0]).toMatchObject({
      address: expect.stringContaining('127.0.0.1') as string,
    });
    expect(parsed(files, 'two-factor.json')).toEqual({ enabled: false, backup_codes_left: 0 });
  });

  test('contains everything they wrote, including revisions and deleted posts', () => {
    expect(parsed(files, 'discussions.json')).toMatchObject([
      { title: 'About kites', number: discussion.number, deleted_at: null },
    ]);
    expect(parsed(files, 'posts.json')).toMatchObject([
      { content: 'About About kites' },
      { content: 'I like **storms**.' },
      { content: 'Said too much.' },
    ]);
    expect(parsed(files, 'revisions.json')).toMatchObject([{ content: 'I like **wind**.' }]);
    expect(files.get('posts/001.md')).toContain('I like **storms**.');
    expect(files.get('posts/001.md')).not.toContain('Said too much.');
  });

  test('contains a moved post once, at its current place', async () => {
    const [from, to] = [await forum.start('root', 'One subject'), await forum.start('root', 'Another subject')];
    const { id } = await forum.reply('bob', from.id, 'Moved about');
    const path = `/api/discussions/${from.id}/move-posts`;
    expect((await forum.as.mia.post(path, { post_ids: [id], discussion_id: to.id })).status).toBe(200);
    const posts = parsed(await exported(forum.app, forum.as.bob), 'posts.json') as readonly { readonly id: string }[];
    expect(posts.filter((post) => post.id === id)).toMatchObject([{ discussion: to.number, number: 2 }]);
    expect(posts.map((post) => post.id)).toEqual([...new Set(posts.map((post) => post.id))]);
    expect(posts).not.toContainEqual(expect.objectContaining({ discussion: from.number }));
  });

  test('contains their other activity', () => {
    expect(parsed(files, 'reactions.json')).toMatchObject([{ reaction: 'like' }]);
    expect(parsed(files, 'conversations.json')).toMatchObject([{ subject: 'Kites and wind', message_count: 2 }]);
    expect(parsed(files, 'messages.json')).toMatchObject([
      { number: 1, content: 'At the **pier**?', edited_at: expect.any(String) as string },
    ]);
    expect([...files.values()].join('\n')).not.toContain('Said to ada alone.');
    expect(parsed(files, 'bookmarks.json')).toMatchObject([{ note: 'For winter' }]);
    expect(parsed(files, 'drafts.json')).toMatchObject([
      { key: 'new', fields: { title: 'Not yet', content: 'Begun' } },
    ]);
    expect(parsed(files, 'reports.json')).toMatchObject([{ reason: 'spam', note: 'It is an advertisement.' }]);
    expect(parsed(files, 'subscriptions.json')).toHaveLength(2);
    expect(parsed(files, 'follows.json')).toMatchObject([
      { kind: 'member', subject_id: forum.ids.bob, is_muted: true },
    ]);
    expect(parsed(files, 'read-marks.json')).toHaveLength(2);
    expect(parsed(files, 'feed-tokens.json')).toMatchObject([{ name: 'My phone' }]);
    expect(parsed(files, 'uploads.json')).toMatchObject([{ id: fileId, name: 'kite.png', type: 'image/png' }]);
    expect(files.get(`uploads/${fileId}-kite.png`)).toMatch(/PNG/);
    for (const name of ['accepted-answers.json', 'notifications.json', 'tags.json', 'moderation.json'])
      expect(parsed(files, name)).toEqual([]);
  });

  test('contains nothing by others', () => {
    expect([...files.values()].join('\n')).not.toMatch(/The title is Bob|Bob says so|Mia says so|bob@/);
  });
});

describe('requesting a data export', () => {
  test('requires a member with a recent password confirmation', async () => {
    expect(
      (await forum.guest.request('POST', '/settings/privacy/export', { headers: { accept: 'application/json' } }))
        .status,
    ).toBe(401);
    await forum.as.bob.csrf('/settings/privacy');
    forum.app.clock.advance(16 * 60_000);
    const refused = await forum.as.bob.submit('/settings/privacy/export');
    expect([refused.status, refused.text.includes('action="/login/confirm"')]).toEqual([403, true]);
    expect(
      (await forum.as.bob.request('POST', '/settings/privacy/export', { headers: { accept: 'application/json' } })).body
        .code,
    ).toBe('confirmation_needed');
  });

  test('requires a CSRF token', async () => {
    await forum.as.mia.login('mia', 'Plain-Sailing-42');
    expect((await forum.as.mia.request('POST', '/settings/privacy/export', { form: { _csrf: 'x' } })).status).toBe(403);
  });

  test('is open to banned members', async () => {
    await forum.as.bad.login('bad', 'Plain-Sailing-42');
    expect(parsed(await exported(forum.app, forum.as.bad), 'account.json')).toMatchObject({ username: 'bad' });
  });

  test('reads long data in batches', async () => {
    const posts = Array.from({ length: 2_500 }, (_, at) => ({
      authorId: forum.ids.mia,
      content: `Number ${at}.`,
      html: `<p>Number ${at}.</p>`,
      createdAt: new Date(1_700_000_000_000 + at),
    }));
    const general = (await forum.guest.get('/api/categories/general')).body.category.id as string;
    const long = { title: 'Long', categoryId: general, authorId: forum.ids.mia, createdAt: posts[0]!.createdAt, posts };
    await forum.app.app.service(Importer).importDiscussions([long]);
    const files = await exported(forum.app, forum.as.mia);
    expect(parsed(files, 'posts.json')).toHaveLength(2_500);
    expect([...files.keys()].filter((name) => name.startsWith('posts/'))).toEqual([
      'posts/001.md',
      'posts/002.md',
      'posts/003.md',
    ]);
    expect([1, 2, 3].flatMap((part) => files.get(`posts/00${part}.md`)!.match(/^Number \d+\.$/gm) ?? [])).toHaveLength(
      2_500,
    );
  });

  test('is recorded in the audit log without any of the data', async () => {
    const entries = await forum.app.app.service(Data).all(sql<{ actor: string; details: object }>`
      select actor, details from audit_entry where action = 'privacy.export-requested'`);
    expect(entries).toContainEqual({ actor: forum.ids.mia, details: {} });
  });
});

describe('the export limit', () => {
  const limited = useForum({ 'privacy.export_rate_limit': 2 });

  test('applies per member and day', async () => {
    for (let times = 0; times < 2; times++) await exported(limited.app, limited.as.ada);
    const refused = await limited.as.ada.submit('/settings/privacy/export');
    expect([
      refused.status,
      Number(refused.headers.get('retry-after')) > 0,
      refused.text.includes('try again tomorrow'),
    ]).toEqual([429, true, true]);
    await exported(limited.app, limited.as.bob);
  });
});
