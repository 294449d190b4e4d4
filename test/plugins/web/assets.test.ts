import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Assets, modulesIn } from '../../../plugins/web/assets/assets.ts';
import { build, removeStaleTrees } from '../../../plugins/web/assets/build.ts';
import { testLog } from '../../kit/database.ts';
import { startGallery, type Gallery } from './start.ts';

let app: Gallery;
let page: string;
beforeAll(async () => {
  app = await startGallery();
  page = (await app.client().get('/')).text;
});
afterAll(() => app[Symbol.asyncDispose]());

const found = (pattern: RegExp): string => pattern.exec(page)?.[0] ?? '';

describe('assets', () => {
  it('have a content hash in their URL, and are cached for ever', async () => {
    const { status, headers, text } = await app.client().get(found(/\/assets\/t\/default@[\w-]{10}\/css\/style\.css/));
    expect(status).toBe(200);
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('content-type')).toBe('text/css; charset=utf-8');
    expect(text).toContain('@layer components');
  });
  it('are compiled from a plugin’s TypeScript modules', async () => {
    const { text, headers } = await app.client().get(found(/\/assets\/p\/web@[\w-]{10}\/boot\.js/));
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(text).toContain('from"@forum/client"');
    expect(text).not.toContain('interface ');
  });
  it('are sent in the best encoding that the browser accepts', async () => {
    const path = found(/\/assets\/s\/tokens@[\w-]{10}\/tokens\.css/);
    const answer = await fetch(app.url + path, { headers: { 'accept-encoding': 'br' } });
    expect(answer.headers.get('content-encoding')).toBe('br');
    expect(await answer.text()).toContain('light-dark(');
  });
  it('support conditional requests', async () => {
    const path = found(/\/assets\/t\/default@[\w-]{10}\/img\/icon\.svg/);
    const etag = (await app.client().get(path)).headers.get('etag') ?? '';
    expect((await app.client().get(path, { 'if-none-match': etag })).status).toBe(304);
  });
  it('cannot run scripts in an SVG', async () => {
    const { headers } = await app.client().get(found(/\/assets\/t\/default@[\w-]{10}\/img\/icon\.svg/));
    expect(headers.get('content-security-policy')).toMatch(/^sandbox;default-src 'none'/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });
  it('are not found under another hash, outside their folder, or without a hash for themes', async () => {
    const wrong = [
      '/assets/t/default@AAAAAAAAAA/css/style.css',
      '/assets/t/default/css/style.css',
      '/assets/p/web@x/../plugin.ts',
      '/assets/p/web/..%2fplugin.ts',
      '/assets/p/web/boot.ts',
      '/assets/x/y/z',
      '/assets/',
    ];
    for (const path of wrong) {
      expect((await app.client().get(path)).status, path).toBe(404);
    }
  });
  it('of plugins also have a URL without a hash, for use in posts', async () => {
    const { status, headers } = await app.client().get('/assets/p/web/client.js');
    expect([status, headers.get('cache-control')]).toEqual([200, 'public, max-age=300']);
  });
});

describe('building assets', () => {
  it('changes the URL of modules when an imported file changes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'assets-'));
    mkdirSync(join(folder, 'client/parts'), { recursive: true });
    writeFileSync(join(folder, 'client/x.ts'), "export { x } from './parts/y.ts';");
    const assets = new Assets(join(folder, 'built'), testLog);
    const bases = ['1', '2', '1'].map((value) => {
      writeFileSync(join(folder, 'client/parts/y.ts'), `export const x: number = ${value};`);
      return assets.mount('p', 'x', modulesIn(folder)).base;
    });
    expect(bases[1]).not.toBe(bases[0]);
    expect(bases[2]).toBe(bases[0]);
    expect([...assets.tree('p', 'x')!.paths]).toEqual(['x.js']);
    rmSync(folder, { recursive: true });
  });

  it('happens once: a later start reads the cache', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assets-'));
    writeFileSync(join(folder, 'x.ts'), 'export const x: number = 1;');
    const sources = [
      { path: 'x.ts', file: join(folder, 'x.ts'), module: true },
      { path: 'a.css', text: 'a { color: red; }\n' },
    ];
    const cache = join(folder, 'tree@1');
    const [module, sheet] = await build(sources, cache);
    expect(module?.path).toBe('x.js');
    expect(sheet?.body.toString()).toBe('a{color:red}\n');
    expect(brotliDecompressSync(sheet?.brotli ?? Buffer.of()).toString()).toBe('a{color:red}\n');
    rmSync(join(folder, 'x.ts'));
    expect((await build(sources, cache))[0]?.body).toEqual(module?.body);
    expect(readdirSync(folder)).toEqual(['CACHEDIR.TAG', 'tree@1']);
  });
  it('fails with the file name for a module that does not compile', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assets-'));
    writeFileSync(join(folder, 'bad.ts'), 'export const = 1;');
    await expect(
      build([{ path: 'bad.ts', file: join(folder, 'bad.ts'), module: true }], join(folder, 'tree@1')),
    ).rejects.toThrow(/bad\.ts/);
  });
  it('in advance stops on abort: the rest is built on request', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'parley-assets-'));
    try {
      const assets = new Assets(folder, testLog);
      const stop = new AbortController();
      const [, later] = ['first', 'later'].map((owner) =>
        assets.mount('s', owner, [{ path: 'a.css', text: 'p { margin: 0 }' }]),
      );
      const making = assets.warm(stop.signal);
      stop.abort();
      await making;
      expect(readdirSync(folder).filter((name) => name.includes('@'))).toEqual([
        expect.stringMatching(/^s-first@[\w-]+$/),
      ]);
      expect((await later!.file('a.css'))?.body.toString()).toContain('margin:0');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
  it('keeps the previous generation, and files another process may be building', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'assets-'));
    const ages = { 'tree@1': 72, 'tree@2': 48, 'tree@3': 24, 'tree@4': 0.5, 'tree@5.77.new': 0, 'tree@6': 0 };
    for (const name of Object.keys(ages)) mkdirSync(join(folder, name));
    await removeStaleTrees(
      folder,
      new Set(['tree@6']),
      Object.entries(ages).map(([name, hours]) => ({ name, time: Date.now() - hours * 3_600_000 })),
    );
    expect(readdirSync(folder).sort()).toEqual(['tree@3', 'tree@4', 'tree@5.77.new', 'tree@6']);
  });
});
