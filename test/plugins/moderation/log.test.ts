import { beforeAll, describe, expect, test, vi } from 'vitest';
import { definePlugin, Settings, type Permission } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { administer } from 'parley-forum/plugins/admin';
import { Categories } from 'parley-forum/plugins/discussions';
import { moderationActed, openModeration, type ModerationEntry } from 'parley-forum/plugins/moderation';
import { moderationQueues } from 'parley-forum/ports/moderation';
import { leastOf } from 'parley-forum/testing';
import { install, useForum, type Name } from '../discussions/forum.ts';

const forum = useForum();
const entries: ModerationEntry[] = [];

beforeAll(async () =>
  install(
    forum.app,
    definePlugin({
      id: 'test-moderation',
      setup: (_services, plugin) => plugin.on(moderationActed, ({ entry }) => void entries.push(entry)),
    }),
  ),
);

const page = async (path: string, name: Name = 'mia') => (await forum.as[name].get(path)).text;
/** Waits for an entry, as the log is written in the background. */
const logged = async (action: string, about: string): Promise<ModerationEntry> => {
  const find = () =>
    entries.find(
      (entry) =>
        entry.action === action &&
        [entry.post?.id, entry.discussion?.id, entry.report_id, entry.user_id].includes(about),
    );
  await vi.waitUntil(find, { timeout: 20_000 });
  return find()!;
};
const notified = async (name: Name, type: string) =>
  (await forum.as[name].get('/api/notifications')).body.notifications.filter(
    (one: { type: string }) => one.type === type,
  );

test('the moderation pages link to each other, and mark the current one', async () => {
  const tabs = async (path: string) => {
    const [, list = ''] = /<nav class="tabs" aria-label="Moderation">(.*?)<\/nav>/s.exec(await page(path)) ?? [];
    return [...list.matchAll(/<a href="([^"]*)"( aria-current="page")?>/g)].map(([, href, current]) => [
      href,
      Boolean(current),
    ]);
  };
  const paths = ['/mod', '/mod/discussions', '/mod/reports', '/mod/message-reports', '/mod/approval'];
  for (const path of paths) expect(await tabs(path)).toEqual(paths.map((href) => [href, href === path]));
});

describe('the overview', () => {
  const QUIET = 'Nothing to review';
  /** The headings of the queues, and the links and texts of their lines. */
  const waiting = async (name: Name = 'mia') => {
    const text = await page('/mod', name);
    return {
      headings: [...text.matchAll(/<h2 id="mod-queue-\d"><a href="[^"]*">([^<]*)/g)].map(([, heading]) => heading),
      lines: [...text.matchAll(/<li class="entry"><p><a href="(\/mod\/[^"]*)">([^<]*)/g)].map(([, ...line]) => line),
    };
  };

  test('says that there is nothing to review', async () => {
    expect(await waiting()).toEqual({ headings: [], lines: [] });
    expect(await page('/mod')).toContain(QUIET);
  });

  test('lists what is pending in every queue, once for each post and message, with a link to each', async () => {
    const { id } = await forum.start('ada', 'Ropes');
    const reply = await forum.reply('bob', id, 'Buy mine');
    await forum.as.ada.post('/api/reports', { post_id: reply.id, reason: 'other' });
    const report = (await forum.as.root.post('/api/reports', { post_id: reply.id, reason: 'spam' })).body.report.id;
    const begun = await forum.as.bob.post('/api/conversations', { to: ['ada'], subject: 'Rope', content: 'Buy!' });
    const complaint = { message_id: begun.body.message.id, reason: 'abuse' };
    const reported = (await forum.as.ada.post('/api/message-reports', complaint)).body.report.id;
    await forum.app.app.service(Settings).set({ 'approval.words': ['casino'] });
    const advertisement = { discussion_id: id, content: 'A casino' };
    const held = (await forum.as.bob.post('/api/posts', advertisement)).body.held_post.id;
    expect(await waiting()).toEqual({
      headings: ['1 reported post', '1 reported message', '1 held post'],
      lines: [
        [`/mod/reports/${report}`, 'It is spam'],
        [`/mod/message-reports/${reported}`, 'It is abusive'],
        [`/mod/approval/${held}`, 'Contains a listed word'],
      ],
    });
    await forum.as.mia.put(`/api/reports/${report}`, { status: 'resolved' });
    await forum.as.mia.put(`/api/message-reports/${reported}`, { status: 'dismissed' });
    await forum.as.mia.post(`/api/approval/${held}/reject`, {});
    expect(await waiting()).toEqual({ headings: [], lines: [] });
  });

  test('does not say that nothing is pending if a queue fails, and hides queues that the viewer may not see', async () => {
    const queue = (can: Permission, answer: () => Promise<{ readonly count: number; readonly items: [] }>) => ({
      href: '/mod/lost-property',
      heading: 'moderation:suspended',
      can,
      waiting: answer,
    });
    await install(
      forum.app,
      definePlugin({
        id: 'test-queues',
        setup(_services, plugin) {
          plugin.extend(
            moderationQueues,
            queue(openModeration, () => Promise.reject(new Error('lost'))),
          );
          plugin.extend(
            moderationQueues,
            queue(administer, () => Promise.resolve({ count: 3, items: [] })),
          );
        },
      }),
    );
    expect((await waiting()).headings).toEqual([]);
    expect(await page('/mod')).not.toContain(QUIET);
    expect((await waiting('root')).headings).toEqual(['3 suspended members']);
    await forum.app.app.kernel.disable('test-queues');
    expect(await page('/mod', 'root')).toContain(QUIET);
  });
});

describe('the log', () => {
  test('records what moderators do with others’ content, with moderator, author and reason', async () => {
    const { id, number } = await forum.start('ada', 'Keel bolts');
    const reply = await forum.reply('bob', id, 'Buy mine');
    expect((await forum.as.mia.delete(`/api/posts/${reply.id}?reason=Advertising`)).status).toBe(200);
    expect(await logged('post.deleted', reply.id)).toMatchObject({
      actor_id: forum.ids.mia,
      user_id: forum.ids.bob,
      reason: 'Advertising',
      discussion: { id, number, title: 'Keel bolts' },
      post: { id: reply.id, number: 2 },
    });
    await forum.as.mia.post(`/api/posts/${reply.id}/restore`);
    await logged('post.restored', reply.id);
    await forum.as.mia.put(`/api/posts/${reply.id}`, { content: 'Mine are fine', reason: 'Prices taken out' });
    expect(await logged('post.edited', reply.id)).toMatchObject({ reason: 'Prices taken out' });
    await forum.as.mia.put(`/api/discussions/${id}`, {
      title: 'Bolts of keels',
      category_id: 'help',
      is_pinned: true,
      is_locked: true,
      reason: 'Tidier',
    });
    for (const action of ['renamed', 'moved', 'pinned', 'locked'])
      expect(await logged(`discussion.${action}`, id)).toMatchObject({ reason: 'Tidier', user_id: forum.ids.ada });
    await forum.as.mia.submit(`/d/${number}/delete`, { reason: 'Enough of keels' });
    expect(await logged('discussion.deleted', id)).toMatchObject({ reason: 'Enough of keels' });
    const text = await page('/mod/log');
    for (const words of ['Advertising', 'Prices taken out', 'Enough of keels', 'Post restored', 'Discussion pinned'])
      expect(text).toContain(words);
    expect(await page('/mod')).toContain('Enough of keels');
  });

  test('records each place where a discussion was pinned', async () => {
    const { id } = await forum.start('ada', 'Pins of keels');
    for (const place of ['category', 'category', 'everywhere', null])
      expect((await forum.as.mia.put(`/api/discussions/${id}`, { pinned_in: place })).status).toBe(200);
    await logged('discussion.unpinned', id);
    const actions = entries.filter(({ discussion }) => discussion?.id === id).map(({ action }) => action);
    expect(actions.toSorted()).toEqual(['discussion.pinned', 'discussion.pinned', 'discussion.unpinned']);
  });

  test('records moved posts and merged discussions, once for all posts, and links to them', async () => {
    const [from, to] = [await forum.start('ada', 'Too much of keels'), await forum.start('ada', 'Enough of keels')];
    const posts = [await forum.reply('bob', from.id, 'One'), await forum.reply('root', from.id, 'Two')];
    const move = { post_ids: posts.map(({ id }) => id), discussion_id: to.id, reason: ' Another subject ' };
    expect((await forum.as.mia.post(`/api/discussions/${from.id}/move-posts`, move)).status).toBe(200);
    const moved = await logged('posts.moved', posts[0].id);
    expect(moved).toMatchObject({
      actor_id: forum.ids.mia,
      reason: 'Another subject',
      discussion: { id: from.id, number: from.number, title: 'Too much of keels' },
      post: { id: posts[0].id, number: 2 },
    });
    expect(moved.user_id).toBeUndefined();
    const merge = { into: to.id, reason: 'The same' };
    expect((await forum.as.mia.post(`/api/discussions/${from.id}/merge`, merge)).status).toBe(200);
    expect(await logged('discussion.merged', from.id)).toMatchObject({
      reason: 'The same',
      user_id: forum.ids.ada,
      discussion: { id: from.id },
    });
    expect(entries.filter(({ discussion }) => discussion?.id === from.id)).toHaveLength(2);
    const text = await page('/mod/log');
    for (const words of ['Another subject', 'The same', 'Posts moved', 'Discussions merged', `/d/${from.number}/2`])
      expect(text).toContain(words);
  });

  test('can be exported as filtered, without what the reader may not read, and with formulas escaped', async () => {
    const saved = async (name: Name, filters: Record<string, string> = {}): Promise<readonly string[]> => {
      const answer = await forum.as[name].submit('/mod/log/export', filters);
      expect([answer.status, answer.headers.get('content-type'), answer.headers.get('cache-control')]).toEqual([
        200,
        'text/csv; charset=utf-8',
        'no-store',
      ]);
      expect(answer.headers.get('content-disposition')).toMatch(/^attachment; filename=moderation-log-[\d-]+\.csv$/);
      return answer.text.trim().split('\n');
    };
    const { id, number } = await forum.start('ada', '=HYPERLINK("http://x.test")');
    await forum.as.mia.put(`/api/discussions/${id}`, { is_locked: true, reason: 'Heated, "too much"' });
    await logged('discussion.locked', id);
    const access = forum.app.app.service(Access);
    const helm = await access.saveGroup({ name: 'Helm', level: 'member' });
    const categories = forum.app.app.service(Categories);
    const hidden = await categories.save({ name: 'Helm only', view: [helm.id], create: 'everyone' });
    const secret = await forum.start('ada', 'Seen for a while', 'help');
    await forum.as.mia.put(`/api/discussions/${secret.id}`, { is_locked: true });
    await logged('discussion.locked', secret.id);
    await forum.as.root.put(`/api/discussions/${secret.id}`, { category_id: hidden.id, reason: 'x' });
    const [head, ...lines] = await saved('mia');
    expect(head!.replace('\ufeff', '')).toBe('time,action,by,member,discussion,post,title,report,reason,until');
    expect(lines.length).toBeGreaterThan(3);
    const line = lines.find((one) => one.includes(`,${number},`));
    expect(line).toContain(
      `discussion.locked,mia,ada,${number},,"'=HYPERLINK(""http://x.test"")",,"Heated, ""too much""",`,
    );
    expect((await saved('mia', { action: 'discussion.locked', actor: 'mia' })).slice(1)).toContain(line);
    expect(await saved('mia', { action: 'discussion.locked', actor: 'root' })).toHaveLength(1);
    expect(await saved('mia', { action: 'no.such-thing' })).toHaveLength(1);
    const form = /<form[^>]*action="\/mod\/log\/export"[^]*?<\/form>/.exec(await page('/mod/log?actor=mia'))![0];
    expect(form).toContain('name="actor" value="mia"');
    expect(form).not.toContain('name="member"');
    for (const name of ['bob', 'bad'] as const)
      expect((await forum.as[name].submit('/mod/log/export')).status).toBe(403);
    expect((await forum.guest.submit('/mod/log/export')).status).toBe(401);
  });

  test('records nothing that authors do with their own content', async () => {
    const { id } = await forum.start('ada', 'My own');
    const reply = await forum.reply('mia', id, 'Mine');
    await forum.as.mia.put(`/api/posts/${reply.id}`, { content: 'Mine still' });
    await forum.as.mia.delete(`/api/posts/${reply.id}`);
    await forum.as.ada.put(`/api/discussions/${id}`, { title: 'Renamed by me' });
    await forum.as.ada.delete(`/api/discussions/${id}`);
    await forum.as.mia.post(`/api/discussions/${id}/restore`);
    await logged('discussion.restored', id);
    expect(entries.filter(({ discussion }) => discussion?.id === id).map(({ action }) => action)).toEqual([
      'discussion.restored',
    ]);
  });

  test('records the outcome of reports, and actions on members', async () => {
    const { postId } = await forum.start('ada', 'Reported');
    const { report } = (await forum.as.bob.post('/api/reports', { post_id: postId, reason: 'spam' })).body;
    await forum.as.mia.put(`/api/reports/${report.id}`, { status: 'dismissed', note: 'Harmless' });
    expect(await logged('report.dismissed', report.id)).toMatchObject({
      actor_id: forum.ids.mia,
      user_id: forum.ids.ada,
      reason: 'Harmless',
    });
    await forum.as.mia.submit('/mod/members/bob/warn', { reason: 'Look twice' });
    expect(await logged('member.warned', forum.ids.bob)).toMatchObject({
      actor_id: forum.ids.mia,
      reason: 'Look twice',
    });
    expect(await page('/mod/members/ada')).toContain(`/mod/reports/${report.id}`);
  });

  test('can be filtered by action, moderator and member, and is paginated, newest first', async () => {
    for (let at = 0; at < 35; at++) {
      forum.app.clock.advance(1_000);
      await forum.as.root.submit('/mod/members/bob/warn', { reason: `Warning number ${at}.` });
    }
    const first = await page('/mod/log?action=member.warned&actor=root&member=bob');
    expect(first.indexOf('Warning number 34.')).toBeGreaterThan(-1);
    expect(first.indexOf('Warning number 34.')).toBeLessThan(first.indexOf('Warning number 33.'));
    expect(first).not.toContain('Warning number 4.');
    expect(first).not.toContain('Look twice');
    expect(await page('/mod/log?action=member.warned&actor=root&member=bob&page=2')).toContain('Warning number 4.');
    for (const query of [
      'actor=nobody-here',
      'member=ada&action=member.warned',
      'action=no.such',
      'member=bob%40forum.test',
    ])
      expect(await page(`/mod/log?${query}`)).not.toContain('Warning number');
    expect((await forum.as.mia.get('/mod/log?page=0')).status).toBe(400);
  });

  test('takes as many SQL statements for many entries as for few', async () => {
    const least = (path: string) => leastOf(() => forum.app.statements(() => page(path)));
    expect(await least('/mod/log?action=member.warned')).toBe(await least('/mod/log?action=report.dismissed'));
  });

  test('omits what a moderator may not read', async () => {
    const group = await forum.app.app.service(Access).saveGroup({ name: 'Owners', level: 'member' });
    const secret = await forum.app.app
      .service(Categories)
      .save({ name: 'Owners', view: [group.id], create: 'staff', reply: 'staff' });
    const { id } = await forum.start('ada', 'Quicksilver');
    await forum.as.root.put(`/api/discussions/${id}`, { is_locked: true, reason: 'Quiet' });
    await logged('discussion.locked', id);
    expect(await page('/mod/log')).toContain('Quicksilver');
    await forum.as.root.put(`/api/discussions/${id}`, { category_id: secret.id });
    await logged('discussion.moved', id);
    for (const path of ['/mod/log', '/mod', '/mod/members/ada']) expect(await page(path)).not.toContain('Quicksilver');
    expect(await page('/mod/log', 'root')).toContain('Quicksilver');
    const own = await page('/settings/standing', 'ada');
    expect([own.includes('Quiet'), own.includes('Quicksilver')]).toEqual([true, false]);
  });
});

describe('the affected member', () => {
  test('is notified of what was done and why, but not by whom, and can look it up later', async () => {
    const { id } = await forum.start('ada', 'Anchors');
    const reply = await forum.reply('bob', id, 'Nonsense');
    await forum.as.mia.delete(`/api/posts/${reply.id}?reason=Not%20kind`);
    await logged('post.deleted', reply.id);
    await vi.waitUntil(
      async () =>
        (await notified('bob', 'moderation_removed')).some(({ title }: { title: string }) => title === 'Anchors'),
      { timeout: 20_000 },
    );
    const [one] = await notified('bob', 'moderation_removed');
    expect(one).toMatchObject({ title: 'Anchors', actor: null, url: 'http://forum.test/settings/standing' });
    const text = await page('/settings/standing', 'bob');
    expect(text).toContain('Not kind');
    const main = text.slice(text.indexOf('<main'), text.indexOf('</main>'));
    expect(main).not.toContain('mia');
    expect(await page('/settings/standing', 'ada')).not.toContain('Not kind');
    for (const tab of ['/settings/profile', '/settings/security', '/settings/privacy'])
      expect(main).toContain(`href="${tab}"`);
    expect(main).toMatch(/href="\/settings\/standing"[^>]* aria-current="page"/);
    expect(await page('/settings/profile', 'ada')).toContain('href="/settings/standing"');
    expect((await forum.guest.get('/settings/standing')).headers.get('location')).toContain('/login');
  });

  test('gets one unread notification for all changes in a discussion, and one for each warning', async () => {
    const { id } = await forum.start('ada', 'Five knots');
    for (const content of ['One', 'Two', 'Three', 'Four', 'Five']) {
      const reply = await forum.reply('bob', id, content);
      await forum.as.mia.put(`/api/posts/${reply.id}`, { content: `${content} knots` });
      await logged('post.edited', reply.id);
    }
    const changed = async () =>
      (await notified('bob', 'moderation_changed')).filter(({ title }: { title: string }) => title === 'Five knots');
    await vi.waitUntil(async () => (await changed())[0]?.count === 5, { timeout: 20_000 });
    expect(await changed()).toHaveLength(1);
    expect(await page('/notifications', 'bob')).toContain('Moderators changed what you wrote, 5 times:');
    expect((await page('/settings/standing', 'bob')).match(/Post edited/g)!.length).toBeGreaterThanOrEqual(5);
    const warned = async () =>
      (await notified('ada', 'moderation_member')).map(({ title, count }: { title: string; count: number }) => [
        title,
        count,
      ]);
    for (const reason of ['Calm down', 'Calm down again'])
      await forum.as.mia.submit('/mod/members/ada/warn', { reason });
    await vi.waitUntil(async () => (await warned()).length === 2, { timeout: 20_000 });
    expect(await warned()).toEqual(
      expect.arrayContaining([
        ['Calm down', 1],
        ['Calm down again', 1],
      ]),
    );
  });

  test('does not see the title of a discussion that they can no longer read', async () => {
    const { id } = await forum.start('mia', 'Plain title');
    const reply = await forum.reply('bob', id, 'Hello');
    await forum.as.mia.put(`/api/discussions/${id}`, { title: 'Hidden title', category_id: 'staff' });
    await forum.as.mia.delete(`/api/posts/${reply.id}?reason=Moved`);
    await logged('post.deleted', reply.id);
    await vi.waitUntil(
      async () =>
        (await notified('bob', 'moderation_removed')).some(
          ({ title }: { title: string }) => title === 'something you wrote',
        ),
      { timeout: 20_000 },
    );
    for (const path of ['/settings/standing', '/notifications'])
      expect(await page(path, 'bob')).not.toContain('Hidden title');
  });

  test('sees the title of their deleted discussion, but not of one renamed where they cannot read it', async () => {
    const [gone, moved] = [await forum.start('bob', 'My own title'), await forum.start('bob', 'Before')];
    await forum.as.mia.delete(`/api/discussions/${gone.id}?reason=Twice`);
    await forum.as.mia.put(`/api/discussions/${moved.id}`, { title: 'Secret suspicion', category_id: 'staff' });
    const titles = async () =>
      [...(await notified('bob', 'moderation_removed')), ...(await notified('bob', 'moderation_changed'))].map(
        ({ title }: { title: string }) => title,
      );
    await vi.waitUntil(
      async () => (await titles()).includes('My own title') && (await titles()).includes('something you wrote'),
      { timeout: 20_000 },
    );
    for (const path of ['/settings/standing', '/notifications'])
      expect(await page(path, 'bob')).not.toContain('Secret suspicion');
  });
});

describe('the author of moved posts', () => {
  test('is notified once, never by whom, and sees where they are only if they may read that', async () => {
    const [from, to] = [await forum.start('ada', 'Rigging'), await forum.start('ada', 'Only for staff')];
    await forum.as.mia.put(`/api/discussions/${to.id}`, { category_id: 'staff' });
    const posts = [
      await forum.reply('bob', from.id, 'One'),
      await forum.reply('bob', from.id, 'Two'),
      await forum.reply('root', from.id, 'Three'),
      await forum.reply('mia', from.id, 'Four'),
    ];
    const post_ids = posts.map(({ id }) => id);
    const path = `/api/discussions/${from.id}/move-posts`;
    expect((await forum.as.mia.post(path, { post_ids, discussion_id: to.id })).status).toBe(200);
    const received = async (name: Name) =>
      (await notified(name, 'moderation_moved')).filter(({ url }: any) =>
        url.startsWith(`http://forum.test/d/${from.number}/`),
      );
    await vi.waitUntil(async () => (await received('root')).length > 0, { timeout: 20_000 });
    const [seen] = await received('root');
    expect(seen).toMatchObject({ title: 'Only for staff', actor: null, url: `http://forum.test/d/${from.number}/4` });
    const [unseen, ...more] = await received('bob');
    expect([unseen.url, more]).toEqual([`http://forum.test/d/${from.number}/2`, []]);
    expect(JSON.stringify(unseen)).not.toContain('Only for staff');
    expect(await received('mia')).toEqual([]);
  });
});
