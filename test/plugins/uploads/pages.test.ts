import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import sharp from 'sharp';
import { definePlugin } from 'parley-forum';
import { userChanged } from 'parley-forum/plugins/accounts';
import { expectStatus, install, useForum, type Name } from '../discussions/forum.ts';
import { formWith, picture, send } from './forum.ts';

const forum = useForum({ 'uploads.rate_limit': 1_000, 'uploads.max_size': 100_000 });
const html = (text: string): string => text;
const page = async (path: string, name: Name = 'ada'): Promise<string> =>
  html(expectStatus(await forum.as[name].get(path), 200).text);

/** Submits a form like a browser without JavaScript. */
async function submit(name: Name, path: string, bytes: Uint8Array | string, fileName: string, token?: string) {
  const body = new FormData();
  body.append('_csrf', token ?? (await forum.as[name].csrf('/settings/profile')));
  for (const [key, value] of formWith(bytes, fileName)) body.append(key, value);
  return forum.as[name].request('POST', path, { body });
}
const avatarOf = async (name: Name): Promise<string | null> =>
  (await forum.guest.get(`/api/users/${forum.ids[name]}`)).body.user.avatar_url;
const incoming = () => readdir(join(forum.app.app.environment.dataDir, 'uploads/incoming')).catch(() => []);

describe('the page of one’s files', () => {
  test('is for members only, and linked from their settings', async () => {
    expect((await forum.guest.get('/settings/uploads')).headers.get('location')).toBe(
      '/login?return_to=%2Fsettings%2Fuploads',
    );
    expect(await page('/settings/profile')).toContain('href="/settings/uploads"');
    expect(await page('/settings/profile', 'bad')).not.toContain('href="/settings/uploads"');
    expect(await page('/settings/uploads')).toContain('You have not uploaded anything yet.');
  });

  test('accepts a file, and shows the Markdown to embed it', async () => {
    const answer = await submit('ada', '/settings/uploads', await picture('png'), 'A [boat] <x>.png');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings/uploads']);
    const text = await page('/settings/uploads');
    expect(text).toContain('A [boat] x.png is uploaded.');
    expect(text).toMatch(/value="!\[A \\\[boat\\\] x\]\(\/uploads\/[0-9a-f-]{36}\/a-boat-x\.png\)"/);
    await submit('ada', '/settings/uploads', 'Words', 'words.txt');
    expect(await page('/settings/uploads')).toMatch(/value="\[words\.txt\]\(\/uploads\/[0-9a-f-]{36}\/words\.txt\)"/);
  });

  test('shows errors in the form', async () => {
    for (const [bytes, name, status, message] of [
      ['MZ', 'x.exe', 400, 'must end in one of'],
      ['x'.repeat(100_001), 'x.txt', 413, 'at most 98 KiB'],
      ['', '', 400, 'choose a file'],
    ] as const) {
      const answer = await submit('ada', '/settings/uploads', bytes, name);
      expect([
        answer.status,
        html(answer.text).includes(message),
        html(answer.text).includes('enctype="multipart/form-data"'),
      ]).toEqual([status, true, true]);
    }
  });

  test('requires a CSRF token, and leaves nothing behind without it', async () => {
    expect((await submit('ada', '/settings/uploads', 'x', 'x.txt', 'wrong')).status).toBe(403);
    expect((await submit('ada', '/settings/uploads', 'x', 'x.txt', '')).status).toBe(403);
    expect((await submit('bad', '/settings/uploads', 'x', 'x.txt')).status).toBe(403);
    await vi.waitUntil(async () => (await incoming()).length === 0, { timeout: 10_000 });
  });

  test('deletes one’s own files, but not those of others', async () => {
    const { upload } = expectStatus(await send(forum.as.bob, 'x', 'x.txt'), 201).body;
    await forum.as.ada.submit('/settings/uploads/delete', { id: upload.id });
    expect((await forum.guest.get(new URL(upload.url).pathname)).status).toBe(200);
    await forum.as.bob.submit('/settings/uploads/delete', { id: upload.id });
    expect((await forum.guest.get(new URL(upload.url).pathname)).status).toBe(404);
  });

  test('deletes several of one’s own files at once, and reports how many', async () => {
    const sent = await Promise.all(['a.txt', 'b.txt', 'c.txt'].map((name) => send(forum.as.bob, 'x', name)));
    const [first, second, third] = sent.map((answer) => expectStatus(answer, 201).body.upload);
    const foreign = expectStatus(await send(forum.as.ada, 'x', 'd.txt'), 201).body.upload;
    expect(await page('/settings/uploads', 'bob')).toContain(`name="ids[]" value="${third.id}" form="chosen"`);
    await forum.as.bob.submit('/settings/uploads/delete', {
      'ids[0]': first.id,
      'ids[1]': second.id,
      'ids[2]': foreign.id,
    });
    expect(await page('/settings/uploads', 'bob')).toContain('2 files are deleted.');
    const statuses = await Promise.all(
      [first, second, third, foreign].map(({ url }) => forum.guest.get(new URL(url).pathname)),
    );
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 200, 200]);
    await forum.as.bob.submit('/settings/uploads/delete', { id: third.id });
    await forum.as.bob.submit('/settings/uploads/delete', {});
    expect(await page('/settings/uploads', 'bob')).toMatch(/class="notice info"[^]*?Nothing selected/);
  });

  test('has pagination', async () => {
    for (let at = 0; at < 51; at++) expectStatus(await send(forum.as.mia, 'x', `${at}.txt`), 201);
    const [first, second] = [await page('/settings/uploads', 'mia'), await page('/settings/uploads?page=2', 'mia')];
    expect([first.includes('50.txt'), first.includes('>0.txt'), second.includes('>0.txt')]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

describe('a profile picture', () => {
  test('is cropped to a square, and shown wherever the member is', async () => {
    expect(await avatarOf('ada')).toBeNull();
    const wide = await sharp({ create: { width: 90, height: 30, channels: 3, background: '#0000ff' } })
      .composite([
        { input: { create: { width: 30, height: 30, channels: 3, background: '#ff0000' } }, left: 30, top: 0 },
      ])
      .png()
      .toBuffer();
    const answer = await submit('ada', '/settings/avatar', wide, 'me.png');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/settings/profile']);
    const url = (await avatarOf('ada'))!;
    const { data, info } = await sharp(Buffer.from(await (await fetch(forum.app.url + url)).arrayBuffer()))
      .raw()
      .toBuffer({ resolveWithObject: true });
    expect([info.width, info.height]).toEqual([256, 256]);
    const edge = (128 * 256 + 3) * info.channels;
    expect([data[edge]! > 200, data[edge + 2]! < 60]).toEqual([true, true]);
    for (const path of ['/u/ada', '/settings/profile'])
      expect(await page(path)).toContain(`src="${url}" alt="" width="40" height="40"`);
    expect(await page('/u/bob')).not.toContain(`avatar-xl" src`);
  });

  test('replaces and deletes the previous one immediately', async () => {
    const before = (await avatarOf('ada'))!;
    expect((await submit('ada', '/settings/avatar', await picture('jpeg'), 'me.jpg')).status).toBe(303);
    const after = (await avatarOf('ada'))!;
    expect([after === before, (await forum.guest.get(before)).status, (await forum.guest.get(after)).status]).toEqual([
      false,
      404,
      200,
    ]);
  });

  test('exists after two concurrent uploads', async () => {
    await Promise.all([
      submit('bob', '/settings/avatar', await picture('png'), 'a.png'),
      submit('bob', '/settings/avatar', await picture('gif'), 'b.gif'),
    ]);
    expect((await forum.guest.get((await avatarOf('bob'))!)).status).toBe(200);
  });

  test('stays if uploaded while another one is removed', async () => {
    const [first, second] = [await picture('png'), await picture('gif')];
    let onChange: (() => Promise<unknown>) | undefined;
    await install(
      forum.app,
      definePlugin({
        id: 'test-moment',
        setup(_services, plugin) {
          const change = async (): Promise<void> => {
            const work = onChange;
            onChange = undefined;
            await work?.();
          };
          plugin.on(userChanged, change, { awaited: true });
        },
      }),
    );
    for (const remove of [
      () => forum.as.bob.submit('/settings/avatar/remove'),
      async () => forum.as.bob.delete(`/api/uploads/${(await avatarOf('bob'))!.split('/')[2]}`),
    ]) {
      await submit('bob', '/settings/avatar', first, 'a.png');
      onChange = () => submit('bob', '/settings/avatar', second, 'b.gif');
      await remove();
      expect((await forum.guest.get((await avatarOf('bob'))!)).status).toBe(200);
    }
    await forum.app.app.kernel.disable('test-moment');
  });

  test('is replaced and removed by programs too, each their own', async () => {
    const put = async (who: 'ada' | 'bob', bytes: Uint8Array | string, name: string) =>
      forum.as[who].request('PUT', `/api/users/${forum.ids.ada}/avatar`, { body: formWith(bytes, name) });
    const answer = await put('ada', await picture('png', { width: 60 }), 'me.png');
    expect([answer.status, answer.body.user.username]).toEqual([200, 'ada']);
    expect(answer.body.user.avatar_url).toBe(await avatarOf('ada'));
    expect((await forum.guest.get(answer.body.user.avatar_url)).status).toBe(200);
    expect((await put('bob', await picture('png'), 'me.png')).status).toBe(403);
    const refused = await put('ada', 'Words', 'me.txt');
    expect([refused.status, refused.body.details[0].field]).toEqual([400, 'file']);
    expect((await forum.as.bob.delete(`/api/users/${forum.ids.ada}/avatar`)).status).toBe(403);
    expect((await forum.guest.get(answer.body.user.avatar_url)).status).toBe(200);
    const removed = await forum.as.ada.delete(`/api/users/${forum.ids.ada}/avatar`);
    expect([removed.status, removed.body.user.avatar_url]).toEqual([200, null]);
    expect((await forum.guest.get(answer.body.user.avatar_url)).status).toBe(404);
    expect((await put('ada', await picture('png'), 'me.png')).status).toBe(200);
  });

  test('must be a picture', async () => {
    for (const [bytes, name] of [
      ['Words', 'me.txt'],
      ['%PDF-1.7', 'me.pdf'],
      ['not a picture', 'me.png'],
    ] as const) {
      const answer = await submit('ada', '/settings/avatar', bytes, name);
      expect([answer.status, html(answer.text).includes('id="f-file-problem"')]).toEqual([400, true]);
    }
    expect(await page('/settings/avatar')).toContain('action="/settings/avatar"');
    expect((await forum.as.bad.get('/settings/avatar')).status).toBe(403);
    expect((await forum.guest.get('/settings/avatar')).status).toBe(303);
  });

  test('is not listed with the files, and does not count towards the quota', async () => {
    expect((await forum.as.bob.get('/api/uploads')).body.uploads).toEqual([]);
  });

  test('is removed by its owner, or by a moderator', async () => {
    const url = (await avatarOf('ada'))!;
    expect((await forum.as.ada.submit('/settings/avatar/remove')).status).toBe(303);
    expect([await avatarOf('ada'), (await forum.guest.get(url)).status]).toEqual([null, 404]);
    const other = (await avatarOf('bob'))!;
    expectStatus(await forum.as.mia.delete(`/api/uploads/${other.split('/')[2]}`), 200);
    expect([await avatarOf('bob'), (await forum.guest.get(other)).status]).toEqual([null, 404]);
  });
});

test('the editor has a button to choose files', async () => {
  const text = await page('/new');
  expect(text).toMatch(/<x-upload[^>]+data-most="100000"/);
  expect(text).toContain('href="/settings/uploads"');
  // In the toolbar, after the formatting buttons.
  expect(text).toMatch(/data-mark="link"[^]*<x-choose-files[^]*<x-mention[^]*<x-emoji-picker/);
});

test('the editor of private messages warns that anyone with a file’s address can open it', async () => {
  const warning = 'Anyone with a file’s address can open it, even if they cannot read this post.';
  const text = await page('/messages/new');
  expect(text).toMatch(new RegExp(`<x-upload[^]*</x-upload>\\s*<p class="help">${warning}`));
  expect(await page('/new')).not.toContain(warning);
});
