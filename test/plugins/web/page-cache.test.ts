import { gunzipSync } from 'node:zlib';
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { member, startGallery, type Gallery } from './start.ts';

let app: Gallery;
beforeAll(async () => void (app = await startGallery()));
afterAll(() => app[Symbol.asyncDispose]());

const cookie = 'visitor=abc';
interface Raw {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}
/** Bypasses fetch, which would decompress responses and add headers. */
const raw = (path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> =>
  new Promise((resolve, reject) => {
    const sent = request(app.url + path, { method, headers }, (res) => {
      const chunks: Buffer[] = [];
      res
        .on('data', (chunk: Buffer) => chunks.push(chunk))
        .on('end', () => resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks) }));
    });
    sent.on('error', reject).end();
  });
const plain = (text: string): string => text.replaceAll(/nonce="[^"]+"/g, 'nonce=""');
/** How often the home page's slots were rendered: not at all for cached responses. */
const renderings = (): number => app.log.batches.length;

beforeEach(async () => {
  await app.app.cache.purge('gallery');
  await raw('/', { cookie });
  app.log.batches.length = 0;
});

describe('a guest’s cached page', () => {
  it('equals the original, with a fresh nonce', async () => {
    await app.app.cache.purge('gallery');
    const [made, kept] = [await raw('/', { cookie }), await raw('/', { cookie })];
    expect(renderings()).toBe(1);
    expect(plain(kept.body.toString())).toBe(plain(made.body.toString()));
    expect(kept.body.toString()).not.toBe(made.body.toString());
    const names = Object.keys(made.headers).filter((name) => !['date', 'connection', 'keep-alive'].includes(name));
    for (const name of names) expect(kept.headers, name).toHaveProperty(name);
    const nonce = /'nonce-([^']+)'/.exec(String(kept.headers['content-security-policy']))?.[1];
    expect(kept.body.toString().split(`nonce="${nonce}"`)).toHaveLength(4);
  });

  it('contains each visitor’s own CSRF token, and sets one for a new visitor', async () => {
    const [known, other, fresh] = [
      await raw('/', { cookie }),
      await raw('/', { cookie: 'visitor=xyz' }),
      await raw('/'),
    ];
    const token = ({ body }: Raw): string | undefined => /csrf-token" content="([^"]+)"/.exec(body.toString())?.[1];
    expect(renderings()).toBe(0);
    expect(new Set([token(known), token(other), token(fresh)]).size).toBe(3);
    expect(known.headers['set-cookie']).toBeUndefined();
    expect(fresh.headers['set-cookie']).toEqual([expect.stringContaining('visitor=fresh')]);
  });

  it('is sent compressed if accepted, with the same content', async () => {
    const [open, zipped] = [await raw('/', { cookie }), await raw('/', { cookie, 'accept-encoding': 'gzip, br' })];
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(Number(zipped.headers['content-length'])).toBe(zipped.body.length);
    expect(plain(gunzipSync(zipped.body).toString())).toBe(plain(open.body.toString()));
    expect(renderings()).toBe(0);
  });

  it('supports conditional requests', async () => {
    const { headers } = await raw('/', { cookie });
    const again = await raw('/', { cookie, 'if-none-match': String(headers['etag']) });
    expect([again.status, again.body.length, again.headers['content-security-policy']]).toEqual([304, 0, undefined]);
    expect((await raw('/', { cookie: 'visitor=other', 'if-none-match': String(headers['etag']) })).status).toBe(200);
  });

  it('is counted as a page view', async () => {
    app.log.seen.length = 0;
    await raw('/', { cookie });
    expect(app.log.seen).toEqual(['/']);
    expect(renderings()).toBe(0);
  });

  it('is rebuilt as soon as one of its tags is purged', async () => {
    await app.app.cache.purge('gallery');
    await raw('/', { cookie });
    expect(renderings()).toBe(1);
  });

  it('is rebuilt when the site’s name changes', async () => {
    await app.app.settings.set({ 'site.name': 'Harbour' });
    expect((await raw('/', { cookie })).body.toString()).toContain('<title>Test forum · Harbour</title>');
    await app.app.settings.set({ 'site.name': 'Test forum' });
  });

  it('is never sent to a member, nor a member’s to a guest', async () => {
    expect((await raw('/', member)).body.toString()).toContain('mira.k');
    expect((await raw('/', { cookie })).body.toString()).not.toContain('mira.k');
  });

  it('exists for a member from the second request on', async () => {
    app.log.batches.length = 0;
    for (let time = 0; time < 3; time++) await raw('/?sort=2', member);
    expect(renderings()).toBe(2);
  });

  it('exists per appearance, and not for unknown parameters', async () => {
    expect((await raw('/', { cookie: `${cookie}; appearance=dark...` })).body.toString()).toContain(
      'data-scheme="dark"',
    );
    expect((await raw('/', { cookie })).body.toString()).toContain('data-scheme=""');
    app.log.batches.length = 0;
    await raw('/?utm=1', { cookie });
    await raw('/?utm=1', { cookie });
    expect(renderings()).toBe(2);
    await raw('/?sort=1', { cookie });
    await raw('/?sort=1', { cookie });
    expect(renderings()).toBe(3);
  });

  it('answers HEAD like GET, without the body', async () => {
    const [got, head] = [await raw('/', { cookie }), await raw('/', { cookie }, 'HEAD')];
    expect([head.status, head.body.length, head.headers['etag']]).toEqual([200, 0, got.headers['etag']]);
  });
});
