import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { Data, Settings, sql } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Deletions } from 'parley-forum/ports/personal-data';
import { expectStatus, useForum, type Name } from '../discussions/forum.ts';
import { onServer } from '../../kit/database.ts';
import { picture, send } from './forum.ts';

const DAY = 24 * 3_600_000;
const CLEANUP = 'uploads/job:tidy';
const forum = useForum({ 'uploads.rate_limit': 1_000 });
const data = () => forum.app.app.service(Data);
let count = 0;

interface Sent {
  readonly id: string;
  readonly url: string;
  readonly path: string;
}
const upload = async (name: Name = 'ada'): Promise<Sent> => {
  const { id, url } = expectStatus(await send(forum.as[name], `file ${count++}`, 'x.txt'), 201).body.upload;
  return { id, url, path: new URL(url).pathname };
};
const start = async (content: string): Promise<{ readonly id: string; readonly postId: string }> => {
  const body = expectStatus(
    await forum.as.ada.post('/api/discussions', { title: 'With files', content, category_id: 'general' }),
    201,
  ).body;
  return { id: body.discussion_id, postId: body.post_id };
};
const edit = async (post: string, content: string) =>
  expectStatus(await forum.as.ada.put(`/api/posts/${post}`, { content }), 200);
const there = async (...files: readonly Sent[]): Promise<readonly boolean[]> =>
  Promise.all(files.map(async ({ path }) => (await forum.guest.get(path)).status === 200));
const folder = (): string => join(forum.app.app.environment.dataDir, 'uploads');
const onDisk = async (): Promise<readonly string[]> =>
  (await readdir(join(folder(), 'files'), { recursive: true })).map((name) => name.split('/')[1] ?? '').filter(Boolean);

/** Advances the clock by so many days and runs the daily job. */
async function tidied(days: number): Promise<void> {
  forum.app.clock.advance(days * DAY);
  await forum.app.runSchedule(CLEANUP);
  for (const name of ['ada', 'mia', 'root'] as const) await forum.as[name].login(name, 'Plain-Sailing-42');
}

describe('the daily job', () => {
  test('deletes unused files from the disk, and only those', async () => {
    const [unused, shown, linked, foreign] = [await upload(), await upload(), await upload(), await upload('mia')];
    await start(`![A picture](${shown.path}) and [a file](${linked.url})`);
    await start(`Of somebody else: [file](${foreign.path})`);
    await tidied(6);
    expect(await there(unused, shown, linked, foreign)).toEqual([true, true, true, true]);
    await tidied(2);
    expect(await there(unused, shown, linked, foreign)).toEqual([false, true, true, true]);
    const ids = await onDisk();
    expect([ids.includes(unused.id), ids.includes(shown.id)]).toEqual([false, true]);
  });

  test('waits from the time when the last post stopped using a file', async () => {
    const file = await upload();
    const [one, two] = [await start(file.path.replace(/.*/, '[x]($&)')), await start(`[x](${file.path})`)];
    await tidied(10);
    await edit(one.postId, 'Nothing any more');
    await tidied(10);
    expect(await there(file)).toEqual([true]);
    await edit(two.postId, 'Nothing either');
    await tidied(6);
    expect(await there(file)).toEqual([true]);
    await edit(one.postId, `[x](${file.path}) is back`);
    await tidied(10);
    expect(await there(file)).toEqual([true]);
    await edit(one.postId, 'And gone');
    await tidied(8);
    expect(await there(file)).toEqual([false]);
  });

  test('keeps files used in a draft, private message, profile, held post or setting', async () => {
    const files = await Promise.all(Array.from({ length: 6 }, () => upload()));
    const [draft, message, profile, waiting, page, shared] = files.map(({ path }) => path) as [string, ...string[]];
    const link = (path = ''): string => `A [file](${path})`;
    const { ada } = forum.as;
    expectStatus(await ada.put('/api/drafts/new', { fields: { title: 'Later', content: link(draft) } }), 200);
    const conversation = { to: ['bob'], subject: 'The plan', content: link(message) };
    expectStatus(await ada.post('/api/conversations', conversation), 201);
    expectStatus(
      await ada.put(`/api/users/${forum.ids.ada}/profile`, { about: link(profile), place: '', links: [] }),
      200,
    );
    const settings = forum.app.app.service(Settings);
    await settings.set({ 'approval.words': ['file'] });
    const { id } = await forum.start('mia', 'Something to answer');
    expectStatus(await ada.post('/api/posts', { discussion_id: id, content: link(waiting) }), 202);
    await settings.set({ 'approval.words': [], 'site-pages.help': link(page), 'site.picture': shared });
    await tidied(8);
    expect(await there(...files)).toEqual(files.map(() => true));
    expectStatus(await ada.delete('/api/drafts/new'), 200);
    await settings.set({ 'site-pages.help': '', 'site.picture': '' });
    await tidied(8);
    expect(await there(...files)).toEqual([false, true, true, true, false, false]);
  });

  test.runIf(onServer)('keeps a file that moves from a draft into a message while it runs', async () => {
    const file = await upload();
    const link = `A [file](${file.path})`;
    const opening = { to: ['bob'], subject: 'The plan', content: 'Nothing yet' };
    const { id } = expectStatus(await forum.as.ada.post('/api/conversations', opening), 201).body.message;
    expectStatus(await forum.as.ada.put('/api/drafts/new', { fields: { title: 'Later', content: link } }), 200);
    forum.app.clock.advance(8 * DAY);
    const locked = Promise.withResolvers<void>();
    const moved = data().transaction(async () => {
      await data().all(sql`lock table draft in access exclusive mode`);
      locked.resolve();
      const waiting = sql`select 1 from pg_locks where relation = 'draft'::regclass and not granted`;
      await vi.waitFor(async () => expect(await data().all(waiting)).toHaveLength(1), 20_000);
      await data().all(sql`update conversation_message set html = ${link} where id = ${id}`);
      await data().all(sql`delete from draft where user_id = ${forum.ids.ada}`);
    });
    await locked.promise;
    await Promise.all([moved, forum.app.runSchedule(CLEANUP)]);
    expect(await there(file)).toEqual([true]);
    await tidied(0);
  });

  test('deletes files of edited or removed messages, unless a report has a copy', async () => {
    const files = [await upload(), await upload(), await upload()] as const;
    const [edited, removed, reported] = await Promise.all(
      files.map(async ({ path }) => {
        const body = { to: ['bob'], subject: 'The plan', content: `A [file](${path})` };
        return expectStatus(await forum.as.ada.post('/api/conversations', body), 201).body.message.id as string;
      }),
    );
    await forum.as.bob.login('bob', 'Plain-Sailing-42');
    const report = { message_id: reported, reason: 'abuse' };
    expectStatus(await forum.as.bob.post('/api/message-reports', report), 201);
    await tidied(10);
    expect(await there(...files)).toEqual([true, true, true]);
    expectStatus(await forum.as.ada.put(`/api/messages/${edited}`, { content: 'None' }), 200);
    for (const id of [removed, reported]) expectStatus(await forum.as.ada.delete(`/api/messages/${id}`), 200);
    await tidied(8);
    expect(await there(...files)).toEqual([false, false, true]);
  });

  test('keeps files used by disabled plugins until those are uninstalled', async () => {
    const { plugins } = forum.app.app;
    const [draft, profile, page] = [await upload(), await upload(), await upload()];
    const link = ({ path }: Sent): string => `A [file](${path})`;
    expectStatus(await forum.as.ada.put('/api/drafts/new', { fields: { content: link(draft) } }), 200);
    const about = { about: link(profile), place: '', links: [] };
    expectStatus(await forum.as.ada.put(`/api/users/${forum.ids.ada}/profile`, about), 200);
    await forum.app.app.service(Settings).set({ 'site-pages.help': link(page) });
    await tidied(1);
    for (const id of ['drafts', 'profiles', 'site-pages']) await plugins.disable(id);
    await tidied(8);
    await tidied(8);
    expect(await there(draft, profile, page)).toEqual([true, true, true]);
    await plugins.uninstall('drafts');
    for (const id of ['profiles', 'site-pages']) await plugins.enable(id);
    await tidied(8);
    expect(await there(draft, profile, page)).toEqual([false, true, true]);
    await plugins.enable('drafts');
  });

  test('keeps the files of deleted posts, which may be restored', async () => {
    const file = await upload();
    const { id } = await start(`[x](${file.path})`);
    expectStatus(await forum.as.ada.delete(`/api/discussions/${id}`), 200);
    await tidied(30);
    expect(await there(file)).toEqual([true]);
    expectStatus(await forum.as.mia.post(`/api/discussions/${id}/restore`), 200);
  });

  test('keeps a file for a while when a text that is not saved yet refers to it', async () => {
    const file = await upload();
    forum.app.clock.advance(8 * DAY);
    expectStatus(await forum.guest.post('/api/markdown/parse', { content: `A [file](${file.path})` }), 200);
    await tidied(0);
    expect(await there(file)).toEqual([true]);
    await tidied(8);
    expect(await there(file)).toEqual([false]);
  });

  test('deletes the files of deleted accounts, used or not, and keeps existing members’ profile pictures', async () => {
    const accounts = forum.app.app.service(Accounts);
    const gone = await accounts.create({
      username: 'leaver',
      email: 'leaver@forum.test',
      password: 'Plain-Sailing-42',
    });
    const client = forum.app.client();
    await client.login('leaver', 'Plain-Sailing-42');
    const { upload: sent } = expectStatus(await send(client, 'of the leaver', 'x.txt'), 201).body;
    const file = { id: sent.id, url: sent.url, path: new URL(sent.url).pathname };
    await start(`[x](${file.path})`);
    const body = new FormData();
    body.append('file', new Blob([new Uint8Array(await picture('png'))]), 'me.png');
    await forum.as.ada.csrf('/');
    expect((await forum.as.ada.request('POST', '/settings/avatar', { body })).status).toBe(303);
    const { avatar_url: avatar } = (await forum.guest.get(`/api/users/${forum.ids.ada}`)).body.user;
    await data().all(sql`delete from account where id = ${gone.id}`);
    await forum.app.app.cache.purge(`account:${gone.id}`);
    await tidied(1);
    expect(await there(file)).toEqual([false]);
    expect((await forum.guest.get(avatar)).status).toBe(200);
  });

  test('keeps files used in settings even if their uploader is deleted', async () => {
    const { app } = forum.app;
    const { id } = await app
      .service(Accounts)
      .create({ username: 'painter', email: 'painter@forum.test', password: 'Plain-Sailing-42' });
    const client = forum.app.client();
    await client.login('painter', 'Plain-Sailing-42');
    const add = async (): Promise<Sent> => {
      const { upload: sent } = expectStatus(await send(client, `painted ${count++}`, 'x.txt'), 201).body;
      return { id: sent.id, url: sent.url, path: new URL(sent.url).pathname };
    };
    const [icon, help, own] = [await add(), await add(), await add()];
    const settings = app.service(Settings);
    await settings.set({ 'site.icon': icon.path, 'site-pages.help': `![A map](${help.url})` });
    await app.service(Deletions).erase(id, 'remove');
    expect(await there(icon, help, own)).toEqual([true, true, false]);
    await tidied(10);
    expect(await there(icon, help)).toEqual([true, true]);
    await settings.set({ 'site.icon': '', 'site-pages.help': '' });
    await tidied(8);
    expect(await there(icon, help)).toEqual([false, false]);
  });

  test('deletes old remains of a crash from the disk', async () => {
    const kept = await upload();
    const leftover = '01900000-0000-7000-8000-0000000000ab';
    const paths = [join(folder(), 'incoming', 'half'), join(folder(), 'files', 'ab', leftover)];
    for (const path of paths) {
      await mkdir(join(path, '..'), { recursive: true });
      await writeFile(path, 'x');
      await utimes(path, new Date(0), new Date(0));
    }
    await writeFile(join(folder(), 'incoming', 'under-way'), 'x');
    await tidied(0);
    expect(await readdir(join(folder(), 'incoming'))).toEqual(['under-way']);
    const ids = await onDisk();
    expect([ids.includes(leftover), ids.includes(kept.id)]).toEqual([false, true]);
  });
});

describe('posts', () => {
  test('show pictures from the site’s own address, absolute or relative, and no others without https', async () => {
    const { upload: shown } = expectStatus(await send(forum.as.ada, await picture('png'), 'boat.png'), 201).body;
    const { pathname } = new URL(shown.url);
    const { html } = expectStatus(
      await forum.as.ada.post('/api/markdown/parse', {
        content: `![a](${pathname}) ![b](${shown.url}) ![c](http://elsewhere.test${pathname})`,
      }),
      200,
    ).body;
    expect(html).toContain(`<img src="${pathname}" alt="a"`);
    expect(html.match(/<img /g)).toHaveLength(2);
  });

  test('run the same number of statements with many files as with one', async () => {
    const files = [await upload(), await upload(), await upload(), await upload()];
    const { id } = await start('Something');
    const reply = (content: string) =>
      forum.app.statements(
        async () => void expectStatus(await forum.as.ada.post('/api/posts', { discussion_id: id, content }), 201),
      );
    await reply('Warm');
    // Whichever runs first reads again what background work has changed, so the minimum of several tries counts: of
    // enough for both to have run at a quiet time.
    const [one, many]: [number[], number[]] = [[], []];
    while (many.length < 8 || (Math.min(...many) > Math.min(...one) && many.length < 40)) {
      one.push(await reply(`[x](${files[0]!.path})`));
      many.push(await reply(files.map(({ path }) => `[x](${path})`).join(' ')));
    }
    expect(Math.min(...many)).toBeLessThanOrEqual(Math.min(...one));
  });

  test('that refer to missing files are accepted', async () => {
    const { postId } = await start(
      '[x](/uploads/019bc186-de00-7049-a145-dd30c67456c0/x.txt) and [y](/uploads/nonsense/y.txt)',
    );
    expect((await forum.guest.get(`/api/posts/${postId}`)).status).toBe(200);
  });

  test('written while the plugin was disabled count once it is enabled', async () => {
    const file = await upload();
    await forum.app.app.kernel.disable('uploads');
    expect((await forum.guest.get(file.path)).status).toBe(404);
    await start(`[x](${file.path})`);
    await forum.app.app.kernel.enable('uploads');
    await vi.waitUntil(
      async () => !(await data().one(sql`select 1 from job where listener = 'uploads/job:catch-up'`)),
      { timeout: 20_000 },
    );
    await tidied(30);
    expect(await there(file)).toEqual([true]);
  });
});
