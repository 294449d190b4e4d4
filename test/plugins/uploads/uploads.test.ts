import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import sharp from 'sharp';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { picture, send } from './forum.ts';

const forum = useForum({ 'uploads.rate_limit': 1_000 });
const pathOf = ({ url }: { readonly url: string }): string => new URL(url).pathname;
let shown: any;

beforeAll(async () => {
  shown = expectStatus(
    await send(forum.as.ada, await picture('png'), 'Boats at “Sète”.png', { type: 'image/png' }),
    201,
  ).body.upload;
});

describe('uploading', () => {
  test('responds with the stored file', () => {
    expect(shown).toMatchObject({
      name: 'Boats at “Sète”.png',
      type: 'image/png',
      width: 40,
      height: 30,
      created_at: '2026-01-15T12:00:00.000Z',
    });
    expect(shown.url).toBe(`http://forum.test/uploads/${shown.id}/boats-at-sete.png`);
  });

  test.each([
    ['jpeg', 'jpg', 'image/jpeg'],
    ['gif', 'gif', 'image/gif'],
    ['webp', 'webp', 'image/webp'],
    ['avif', 'webp', 'image/webp'],
  ] as const)('accepts %s', async (format, extension, type) => {
    const sent = expectStatus(await send(forum.as.ada, await picture(format), `x.${format.toUpperCase()}`), 201);
    const { upload } = sent.body;
    expect(sent.headers.get('location')).toBe(upload.url);
    expect(upload).toMatchObject({ name: `x.${extension}`, type, width: 40, height: 30 });
    const bytes = Buffer.from(await (await fetch(forum.app.url + pathOf(upload))).arrayBuffer());
    expect(await sharp(bytes).metadata()).toMatchObject({ format: type.split('/')[1], width: 40, height: 30 });
  });

  test('creates smaller versions of a wide picture, which posts offer alongside the original', async () => {
    const wide = await picture('jpeg', { width: 1_300, height: 650 });
    const { upload } = expectStatus(await send(forum.as.ada, wide, 'Two boats.jpg'), 201).body;
    const base = `/uploads/${upload.id}`;
    expect(upload.copies).toEqual(
      [480, 960].map((width) => ({ url: `http://forum.test${base}/${width}/two-boats.webp`, width })),
    );
    const copy = await fetch(`${forum.app.url}${base}/480/two-boats.webp`);
    expect(copy.headers.get('content-type')).toBe('image/webp');
    const bytes = Buffer.from(await copy.arrayBuffer());
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 480, height: 240 });
    expect((await forum.guest.get(`${base}/480/two-boats.jpg`)).status).toBe(404);
    expect((await forum.guest.get(`${base}/481/two-boats.webp`)).status).toBe(404);

    const content = `![Two](${pathOf(upload)}) [![Linked](${pathOf(upload)})](/d/1)`;
    const post = expectStatus(
      await forum.as.ada.post('/api/discussions', { title: 'Two boats', content, category_id: 'general' }),
      201,
    ).body.discussion;
    const { posts } = (await forum.guest.get(`/api/discussions/${post.id}/posts`)).body;
    const file = `${base}/two-boats.jpg`;
    const srcset = `${base}/480/two-boats.webp 480w, ${base}/960/two-boats.webp 960w, ${file} 1300w`;
    expect(posts[0].html).toContain(
      `<a href="${file}" class="picture"><img src="${file}" srcset="${srcset}" sizes="(min-width: 48rem) 44rem, 100vw" alt="Two" width="1300" height="650" loading="lazy" decoding="async" /></a> <a href="/d/1"><img src="${file}" srcset="`,
    );

    expect((await forum.as.ada.delete(`/api/uploads/${upload.id}`)).status).toBe(200);
    const left = await readdir(join(forum.app.app.environment.dataDir, 'uploads/files', upload.id.slice(-2)));
    expect(left.filter((name) => name.startsWith(upload.id))).toEqual([]);
  });

  test('keeps animations', async () => {
    const frames = await Promise.all(
      ['#ff0000', '#0000ff'].map((background) =>
        sharp({ create: { width: 20, height: 10, channels: 3, background } })
          .png()
          .toBuffer(),
      ),
    );
    const moving = await sharp(frames, { join: { animated: true } })
      .gif({ delay: [200, 300] })
      .toBuffer();
    const { upload } = expectStatus(await send(forum.as.ada, moving, 'moving.gif'), 201).body;
    expect(upload).toMatchObject({ width: 20, height: 10 });
    const bytes = Buffer.from(await (await fetch(forum.app.url + pathOf(upload))).arrayBuffer());
    expect(await sharp(bytes, { animated: true }).metadata()).toMatchObject({ pages: 2, delay: [200, 300] });
  });

  test('stores documents and texts unchanged', async () => {
    for (const [name, bytes, type] of [
      ['a.pdf', '%PDF-1.7\nWords', 'application/pdf'],
      ['b.txt', 'Grüße\n', 'text/plain'],
      ['c.zip', 'PK\u0005\u0006'.padEnd(22, '\0'), 'application/zip'],
    ] as const) {
      const { upload } = expectStatus(await send(forum.as.ada, Buffer.from(bytes), name), 201).body;
      expect(upload).toMatchObject({ name, type, size: Buffer.byteLength(bytes), width: null, height: null });
      expect((await forum.guest.get(pathOf(upload))).text).toBe(bytes);
    }
  });

  test('requires permission and a CSRF token', async () => {
    const { ada, bad } = forum.as;
    expect((await send(forum.guest, 'x', 'x.txt')).status).toBe(401);
    expect((await send(bad, 'x', 'x.txt')).status).toBe(403);
    expect((await send(ada, 'x', 'x.txt', { headers: { 'x-csrf-token': 'wrong' } })).body).toMatchObject({
      code: 'csrf_failed',
    });
  });

  test('with an idempotency key returns the first file when repeated, and 409 for another file', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = expectStatus(await send(forum.as.ada, 'the same', 'x.txt', { headers }), 201);
    const again = expectStatus(await send(forum.as.ada, 'the same', 'x.txt', { headers }), 201);
    expect([again.body, again.headers.get('idempotency-replayed')]).toEqual([first.body, 'true']);
    expect((await send(forum.as.ada, 'another', 'x.txt', { headers })).status).toBe(409);
  });

  test('is documented as a form with a file', async () => {
    const { paths } = (await forum.guest.get('/api/openapi.json')).body;
    const { content } = paths['/api/uploads'].post.requestBody;
    expect(content['multipart/form-data'].schema).toMatchObject({
      properties: { file: { contentMediaType: 'application/octet-stream' } },
      required: ['file'],
    });
  });
});

describe('the list of one’s files', () => {
  test('contains only one’s own, newest first, in pages', async () => {
    const { mia, bob } = forum.as;
    for (const name of ['1.txt', '2.txt', '3.txt']) expectStatus(await send(mia, name, name), 201);
    const first = expectStatus(await mia.get('/api/uploads?limit=2'), 200).body;
    expect([first.uploads.map(({ name }: any) => name), first.count, first.hasMore]).toEqual([
      ['3.txt', '2.txt'],
      2,
      true,
    ]);
    const second = (await mia.get(`/api/uploads?limit=2&cursor=${first.next_cursor}`)).body;
    expect([second.uploads.map(({ name }: any) => name), second.hasMore]).toEqual([['1.txt'], false]);
    expect((await bob.get('/api/uploads')).body).toMatchObject({ uploads: [], count: 0 });
    expect((await mia.get('/api/uploads?cursor=nonsense')).status).toBe(400);
    expect((await forum.guest.get('/api/uploads')).status).toBe(401);
  });
});

describe('the URL of a file', () => {
  test('serves a picture inline, with safe headers, cached by browsers for a day and by shared caches for minutes', async () => {
    const { status, headers } = await forum.guest.get(pathOf(shown));
    expect([status, headers.get('content-type'), headers.get('content-length')]).toEqual([
      200,
      'image/png',
      String(shown.size),
    ]);
    expect(headers.get('content-disposition')).toBe(
      `inline; filename="Boats at ?S?te?.png"; filename*=UTF-8''Boats%20at%20%E2%80%9CS%C3%A8te%E2%80%9D.png`,
    );
    expect(headers.get('cache-control')).toBe('public, max-age=86400, s-maxage=300, immutable');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-security-policy')).toMatch(/(?=.*default-src 'none')(?=.*\bsandbox\b)/);
    expect(headers.getSetCookie()).toEqual([]);
  });

  test('serves everything else as a download', async () => {
    const { upload } = expectStatus(
      await send(forum.as.ada, '<script>alert(1)</script>', 'page.txt', { type: 'text/html' }),
      201,
    ).body;
    const { headers } = await forum.guest.get(pathOf(upload));
    expect([headers.get('content-type'), headers.get('content-disposition')]).toEqual([
      'text/plain; charset=utf-8',
      'attachment; filename=page.txt',
    ]);
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin');
  });

  test('supports conditional requests and HEAD', async () => {
    const etag = (await forum.guest.get(pathOf(shown))).headers.get('etag')!;
    const known = await forum.guest.get(pathOf(shown), { 'if-none-match': etag });
    expect([known.status, known.text]).toEqual([304, '']);
    expect((await forum.guest.get(pathOf(shown), { 'if-none-match': '"other"' })).status).toBe(200);
    const head = await forum.guest.request('HEAD', pathOf(shown));
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', String(shown.size)]);
  });

  test.each([
    '/uploads',
    '/uploads/',
    '/uploads/x/y.png',
    '/uploads/00000000-0000-7000-8000-000000000000/x.png',
    '/uploads/..%2f..%2fetc%2fpasswd/x',
    '/uploads/x/%00',
  ])('%s does not exist', async (path) => {
    const { status, headers } = await forum.guest.get(path);
    expect([status, headers.get('cache-control')]).toEqual([404, 'no-store']);
  });

  test('shows the usual 404 page to a browser that opens a missing file, for the logged-in member', async () => {
    const asPage = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' };
    const dead = `/uploads/${shown.id}/invoice.png`;
    for (const path of ['/uploads/x', dead]) {
      const { status, text, headers } = await forum.as.ada.get(path, asPage);
      expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
        404,
        'text/html; charset=utf-8',
        'private, no-store',
      ]);
      expect(text).toMatch(/<h1>Page not found<\/h1>/);
      expect(text).toContain('Account of ada');
      const page = (await forum.as.ada.get('/nowhere', asPage)).headers;
      const named = (from: Headers): readonly string[] =>
        [...from.keys()].filter((name) => !['date', 'content-length'].includes(name)).toSorted();
      expect(named(headers)).toEqual(named(page));
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    }
    expect((await forum.guest.get(dead, asPage)).text).toContain('Log in');
    // An image request by a page, and API clients.
    for (const accept of ['image/avif,image/webp,*/*;q=0.8', '*/*', 'application/json']) {
      const answer = await forum.guest.get(dead, { accept });
      expect([answer.status, answer.body.code, answer.headers.get('cache-control')]).toEqual([
        404,
        'not_found',
        'no-store',
      ]);
    }
  });

  test('logs no error when a download is aborted', async () => {
    const { body } = await send(forum.as.ada, 'x'.repeat(5_000_000), 'long.txt');
    const socket = connect(Number(new URL(forum.app.url).port), '127.0.0.1');
    socket.write(`GET ${new URL(body.upload.url).pathname} HTTP/1.1\r\nHost: forum.test\r\n\r\n`);
    await once(socket, 'readable');
    const before = forum.app.lines.length;
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(forum.app.lines.slice(before).filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('works with the file’s own name only', async () => {
    expect((await forum.guest.get(`/uploads/${shown.id}/invoice.png`)).status).toBe(404);
    expect((await forum.guest.get(`/uploads/${shown.id}`)).status).toBe(404);
    expect((await forum.guest.request('POST', pathOf(shown))).status).toBe(405);
  });
});

describe('deleting', () => {
  test('is allowed to the owner and to moderators', async () => {
    const made = async () => expectStatus(await send(forum.as.ada, 'x', 'x.txt'), 201).body.upload;
    const [one, two] = [await made(), await made()];
    expect((await forum.as.bob.delete(`/api/uploads/${one.id}`)).status).toBe(403);
    expect((await forum.guest.delete(`/api/uploads/${one.id}`)).status).toBe(401);
    expectStatus(await forum.as.ada.delete(`/api/uploads/${one.id}`), 200);
    expectStatus(await forum.as.mia.delete(`/api/uploads/${two.id}`), 200);
    for (const gone of [one, two]) {
      expect((await forum.guest.get(pathOf(gone))).status).toBe(404);
      expect((await forum.as.ada.delete(`/api/uploads/${gone.id}`)).status).toBe(404);
    }
    expect((await forum.as.ada.delete('/api/uploads/nonsense')).status).toBe(404);
  });

  test('removes the file from the memory cache too', async () => {
    const { upload } = expectStatus(await send(forum.as.ada, 'x', 'x.txt'), 201).body;
    expect((await forum.guest.get(pathOf(upload))).status).toBe(200);
    expectStatus(await forum.as.ada.delete(`/api/uploads/${upload.id}`), 200);
    expect((await forum.guest.get(pathOf(upload))).status).toBe(404);
  });
});
