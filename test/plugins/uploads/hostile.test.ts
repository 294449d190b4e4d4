import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { describe, expect, test, vi } from 'vitest';
import sharp from 'sharp';
import type { Client } from 'parley-forum/testing';
import { expectStatus, useForum } from '../discussions/forum.ts';
import { formWith, picture, send } from './forum.ts';

const MOST = 200_000;
const forum = useForum({ 'uploads.rate_limit': 10_000, 'uploads.max_size': MOST, 'uploads.max_pixels': 1_000_000 });
const JPEG = 'image/jpeg';
/** Files on the disk in a folder. */
const lying = (folder: string): Promise<readonly string[]> =>
  readdir(join(forum.app.app.environment.dataDir, 'uploads', folder), { recursive: true }).catch(() => []);
const stored = async (upload: { readonly url: string }): Promise<Buffer> =>
  Buffer.from(await (await fetch(forum.app.url + new URL(upload.url).pathname)).arrayBuffer());

/** A chunk of a PNG. */
function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}
/** A PNG of one colour with a small file size, whatever its dimensions. */
function bomb(
  width: number,
  height: number,
  packed = deflateSync(Buffer.alloc(height * (Math.ceil(width / 8) + 1)), { level: 9 }),
): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head[8] = 1;
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', head),
    chunk('IDAT', packed),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

describe('polyglot files', () => {
  test('a GIF that is also a script keeps only the picture', async () => {
    const gif = await picture('gif');
    const script = Buffer.concat([
      gif.subarray(0, -1),
      Buffer.from('!\xfe\x18*/=1;alert(document.domain)//\0;', 'latin1'),
    ]);
    const { upload } = expectStatus(await send(forum.as.ada, script, 'x.gif'), 201).body;
    expect((await stored(upload)).includes('alert')).toBe(false);
    expect((await send(forum.as.ada, 'GIF89a/*<svg/onload=1>*/=1;alert(1)', 'x.gif')).status).toBe(400);
  });

  test('a JPEG with an embedded page loses it, together with its location metadata', async () => {
    const photo = await sharp(await picture('jpeg'))
      .withExif({
        IFD0: { Copyright: '<script>alert(1)</script>' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 0/1' },
      })
      .jpeg()
      .toBuffer();
    const both = Buffer.concat([photo, Buffer.from('<html><script>alert(2)</script></html>')]);
    const { upload } = expectStatus(await send(forum.as.ada, both, 'x.jpg'), 201).body;
    const bytes = await stored(upload);
    expect([bytes.includes('script'), (await sharp(bytes).metadata()).exif]).toEqual([false, undefined]);
  });

  test('a PDF that is also an archive is served as a PDF download', async () => {
    const both = `%PDF-1.7\nWords\nPK\u0003\u0004${'\0'.repeat(30)}`;
    expect((await send(forum.as.ada, both, 'x.zip')).status).toBe(400);
    const { upload } = expectStatus(await send(forum.as.ada, both, 'x.pdf'), 201).body;
    expect((await forum.guest.get(new URL(upload.url).pathname)).headers.get('content-disposition')).toMatch(
      /^attachment;/,
    );
  });

  test('a picture is rotated according to its EXIF orientation', async () => {
    const turned = await sharp(await picture('jpeg', { width: 40, height: 30 }))
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    expect(expectStatus(await send(forum.as.ada, turned, 'x.jpg'), 201).body.upload).toMatchObject({
      width: 30,
      height: 40,
    });
  });
});

describe('refused uploads', () => {
  test.each([
    ['an SVG with a script', '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>', 'x.svg'],
    [
      'an SVG with another extension',
      '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
      'x.png',
    ],
    ['an HTML page', '<!doctype html><script>alert(1)</script>', 'x.html'],
    ['an HTML page as a picture', '<!doctype html><script>alert(1)</script>', 'x.jpg'],
    ['an executable', 'MZ\x90\0\x03', 'x.exe'],
    ['an executable with a picture’s name', 'MZ\x90\0\x03', 'photo.png.exe'],
    ['an executable as a text', '\x7fELF\x02\x01\x01\0', 'x.txt'],
    ['a text with terminal control codes', 'x\x1b\x07\x08', 'x.txt'],
    ['a text with an invalid encoding', Buffer.from([0x66, 0xff, 0xfe, 0x80]), 'x.txt'],
    ['a name without an extension', 'x', 'photo'],
    ['a name that hides its extension', 'MZ\x90\0', 'photo\u202egnp.exe'],
    ['a name with a NUL before the extension', 'MZ\x90\0', 'photo.png\0.exe'],
    ['an empty file', '', 'x.png'],
    ['a name with a NUL', 'x', 'photo\0.txt'],
  ])('%s', async (_what, bytes, name) => {
    const answer = await send(forum.as.ada, bytes, name, { type: 'image/png' });
    expect([answer.status, answer.body.details?.[0]?.field]).toEqual([400, expect.stringMatching(/^file(\.name)?$/)]);
  });

  test('content that does not match the extension, either way', async () => {
    expect((await send(forum.as.ada, await picture('png'), 'x.jpg', { type: JPEG })).body.error).toContain(
      'but image/png',
    );
    expect((await send(forum.as.ada, await picture('jpeg'), 'x.png')).status).toBe(400);
    expectStatus(await send(forum.as.ada, await picture('png'), 'x.png', { type: 'text/html' }), 201);
  });

  test('truncated pictures', async () => {
    for (const format of ['png', 'jpeg', 'webp'] as const) {
      const whole = await sharp(await picture(format, { width: 300, height: 200 }))
        .blur(5)
        .toFormat(format)
        .toBuffer();
      expect((await send(forum.as.ada, whole.subarray(0, whole.length * 0.6), `x.${format}`)).status, format).toBe(400);
    }
  });

  test('decompression bombs, by their header alone', async () => {
    expect((await send(forum.as.ada, bomb(1_001, 1_000), 'x.png')).body.error).toContain('pixels');
    expect(
      (await send(forum.as.ada, bomb(60_000, 60_000, deflateSync(Buffer.alloc(1_000))), 'x.png')).body.error,
    ).toContain('pixels');
    expectStatus(await send(forum.as.ada, bomb(1_000, 1_000), 'x.png'), 201);
  });

  test('a type that is no longer allowed', async () => {
    const { settings } = forum.app.app;
    await settings.set({ 'uploads.types': ['png'] });
    expect((await send(forum.as.ada, 'x', 'x.txt')).body.error).toContain('png');
    await settings.set({ 'uploads.types': ['png', 'jpg', 'gif', 'webp', 'avif', 'pdf', 'zip', 'txt'] });
  });

  test('files that are too large, with the limit in the error', async () => {
    expectStatus(await send(forum.as.ada, 'x'.repeat(MOST), 'x.txt'), 201);
    const answer = await send(forum.as.ada, 'x'.repeat(MOST + 1), 'x.txt');
    expect([answer.status, answer.body.error]).toEqual([413, 'A file may be at most 196 KiB']);
    const far = await fetch(`${forum.app.url}/api/uploads`, {
      method: 'POST',
      body: '',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    expect(far.status).toBe(401);
  });
});

describe('file names', () => {
  test.each([
    ['../../etc/passwd.png', 'passwd.png', 'passwd.png'],
    ['..\\..\\boot.png', 'boot.png', 'boot.png'],
    ['photo.php.png', 'photo-php.png', 'photo-php.png'],
    ['pho\u202eto\u200b\u2028.png', 'photo.png', 'photo.png'],
    ['.png', 'file.png', 'file.png'],
    ['"; filename="x.exe".png', '; filename=x-exe.png', 'filename-x-exe.png'],
    [`${'long'.repeat(80)}.png`, `${'long'.repeat(25)}.png`, `${'long'.repeat(20)}.png`],
    ['船.PNG', '船.png', '船.png'],
  ])('%j is stored as %j', async (given, name, last) => {
    const body = Buffer.concat([
      Buffer.from(
        `--b\r\nContent-Disposition: form-data; name="file"; filename="${given.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"\r\nContent-Type: image/png\r\n\r\n`,
      ),
      await picture('png'),
      Buffer.from('\r\n--b--\r\n'),
    ]);
    const answer = await forum.as.ada.request('POST', '/api/uploads', {
      body,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    const { upload } = expectStatus(answer, 201).body;
    expect([upload.name, decodeURIComponent(new URL(upload.url).pathname.split('/').at(-1)!)]).toEqual([name, last]);
    expect((await forum.guest.get(new URL(upload.url).pathname)).status).toBe(200);
  });
});

describe('bodies that are not a form with a file', () => {
  const post = (body: string, type: string) =>
    forum.as.ada.request('POST', '/api/uploads', { body: Buffer.from(body), headers: { 'content-type': type } });
  const part = (name: string, value: string, more = '') =>
    `--b\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  test.each(['application/json', 'text/plain', 'multipart/mixed; boundary=b', 'application/x-www-form-urlencoded'])(
    '%s is 415',
    async (type) => {
      expect((await post('{}', type)).status).toBe(415);
    },
  );

  test.each([
    ['no boundary', '--b--\r\n', 'multipart/form-data'],
    ['another boundary', `${part('file', 'x', '; filename="x.txt"')}--b--\r\n`, 'multipart/form-data; boundary=c'],
    ['no closing boundary', part('file', 'x', '; filename="x.txt"'), 'multipart/form-data; boundary=b'],
    ['an empty body', '', 'multipart/form-data; boundary=b'],
    ['no file', `${part('file', 'x')}--b--\r\n`, 'multipart/form-data; boundary=b'],
    ['an empty field for a file', `${part('file', '', '; filename=""')}--b--\r\n`, 'multipart/form-data; boundary=b'],
    [
      'a file in another field',
      `${part('picture', 'x', '; filename="x.txt"')}--b--\r\n`,
      'multipart/form-data; boundary=b',
    ],
    ['two files', `${part('file', 'x', '; filename="x.txt"').repeat(2)}--b--\r\n`, 'multipart/form-data; boundary=b'],
    [
      'too many parts',
      `${part('x', 'y').repeat(100)}${part('file', 'x', '; filename="x.txt"')}--b--\r\n`,
      'multipart/form-data; boundary=b',
    ],
  ])('%s is 400', async (_what, body, type) => {
    expect((await post(body, type)).status).toBe(400);
  });

  test('parts beyond the maximum are not parsed', async () => {
    const { status, body } = await post(part('x', '').repeat(100), 'multipart/form-data; boundary=b');
    expect([status, body.error]).toEqual([400, 'file: must be one file, with at most 20 other fields']);
  });

  test('a field that is too long is refused', async () => {
    expect(
      (
        await post(
          `${part('x', 'y'.repeat(100_000))}${part('file', 'x', '; filename="x.txt"')}--b--\r\n`,
          'multipart/form-data; boundary=b',
        )
      ).status,
    ).toBe(413);
  });

  test('a compressed body is 415', async () => {
    expect(
      (
        await forum.as.ada.request('POST', '/api/uploads', {
          body: formWith('x', 'x.txt'),
          headers: { 'content-encoding': 'gzip' },
        })
      ).status,
    ).toBe(415);
  });
});

/** Sends the headers of an upload, whose body may follow. */
async function begin(client: Client, path: string, framing = 'Content-Length: 100000'): Promise<Socket> {
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const token = await client.csrf('/');
  const socket = connect(Number(new URL(forum.app.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nCookie: ${cookie}\r\nX-CSRF-Token: ${token}\r\nUser-Agent: node\r\nAccept-Language: *\r\nContent-Type: multipart/form-data; boundary=b\r\n${framing}\r\n\r\n`,
  );
  return socket;
}
const statusOf = async (socket: Socket): Promise<string> => {
  const [data] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return data.toString().split(' ')[1]!;
};

test('an upload by a guest is refused before its body is read', async () => {
  const guest = forum.app.client();
  for (const path of ['/api/uploads', '/settings/avatar', '/settings/uploads'])
    expect(await statusOf(await begin(guest, path)), path).toBe('401');
});

test.each([
  ['three hundred thousand chunks of one byte are refused', 300_000, 1, '400'],
  ['twenty thousand chunks of a usual size are read, to report that the file is too large', 20_000, 1_000, '413'],
])('%s', async (_what, count, size, status) => {
  const socket = await begin(forum.as.ada, '/api/uploads', 'Transfer-Encoding: chunked');
  const chunked = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
  const head = chunked('--b\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\n');
  socket.write(`${head}${chunked('x'.repeat(size)).repeat(count)}${chunked('\r\n--b--\r\n')}0\r\n\r\n`);
  // A client that is refused early may see the connection close instead.
  expect(await statusOf(socket).catch(() => '400')).toBe(status);
});

test('an aborted upload leaves nothing on the disk', async () => {
  const socket = await begin(forum.as.ada, '/api/uploads');
  socket.write(`--b\r\nContent-Disposition: form-data; name="file"; filename="x.txt"\r\n\r\n${'x'.repeat(50_000)}`);
  await vi.waitUntil(async () => (await lying('incoming')).length > 0, { timeout: 10_000 });
  socket.destroy();
  await vi.waitFor(async () => expect(await lying('incoming')).toEqual([]), { timeout: 10_000 });
});

test('an upload aborted while its picture is processed leaves nothing on the disk', async () => {
  const bytes = await picture('png', { width: 1_000, height: 1_000 });
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="x.png"\r\n\r\n';
  const body = Buffer.concat([Buffer.from(head), bytes, Buffer.from('\r\n--b--\r\n')]);
  const socket = await begin(forum.as.ada, '/api/uploads', `Content-Length: ${body.length}`);
  socket.write(body);
  const made = async (): Promise<boolean> => (await lying('incoming')).some((name) => name.endsWith('.new'));
  await vi.waitUntil(made, { timeout: 10_000, interval: 1 });
  socket.destroy();
  await vi.waitFor(async () => expect(await lying('incoming')).toEqual([]), { timeout: 10_000 });
});

test('none of this leaves incoming files behind, or logs a server error', async () => {
  await vi.waitUntil(async () => (await lying('incoming')).length === 0, { timeout: 10_000 });
  expect(
    forum.app.lines.filter(({ level, plugin }) => level === 'error' && (plugin === 'uploads' || plugin === 'api')),
  ).toEqual([]);
  // Two-character folders with ids in them, and no other names.
  for (const name of await lying('files')) expect(name).toMatch(/^[0-9a-f]{2}(\/[0-9a-f-]{36}(\.\d+)?)?$/);
});
