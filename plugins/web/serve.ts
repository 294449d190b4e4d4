import type { IncomingMessage, ServerResponse } from 'node:http';
import { defineSurface, HttpError, notFound, type Request, type Response, type SurfaceBehaviour } from '#core';
import type { Assets, Tree } from './assets.ts';
import type { Asset } from './build.ts';

/** Files for browsers. They know no visitor: no session, no cookie, no nonce. */
export const assetSurface = defineSurface<undefined>('assets', { prefix: '/assets' });
export const ASSET_PATH = '/:kind/:tree/*path';

/** Seconds: addresses with a hash never change what they mean. */
const FOR_EVER = 31_536_000;
/** Seconds for the addresses without one, which stand in posts. */
const A_WHILE = 300;

const ADDRESS = /^\/assets\/([a-z])\/([^/?]+)\/([^?]*)/;

const accepts = (req: IncomingMessage, coding: string): boolean => String(req.headers['accept-encoding'] ?? '').includes(coding);

function send(req: IncomingMessage, res: ServerResponse, tree: Tree, asset: Asset, hashed: boolean): void {
  const etag = `"${tree.hash}"`;
  const cache = hashed ? `public, max-age=${FOR_EVER}, immutable` : `public, max-age=${A_WHILE}`;
  const headers: Record<string, string | number> = { 'Cache-Control': cache, ETag: etag, 'X-Content-Type-Options': 'nosniff', 'Cross-Origin-Resource-Policy': 'same-origin' };
  if (asset.gzip) headers['Vary'] = 'Accept-Encoding';
  // A picture that is opened by itself must not run what it may contain.
  headers['Content-Security-Policy'] = asset.path.endsWith('.svg') ? "sandbox; default-src 'none'; style-src 'unsafe-inline'" : "default-src 'none'";
  if (req.headers['if-none-match'] === etag) return void res.writeHead(304, headers).end();
  const coding = asset.brotli && accepts(req, 'br') ? 'br' : asset.gzip && accepts(req, 'gzip') ? 'gzip' : undefined;
  const body = coding === 'br' ? asset.brotli : coding === 'gzip' ? asset.gzip : asset.body;
  headers['Content-Type'] = asset.type;
  headers['Content-Length'] = body?.length ?? 0;
  if (coding) headers['Content-Encoding'] = coding;
  res.writeHead(200, headers).end(req.method === 'HEAD' ? undefined : body);
}

/** Unhashed addresses exist for plugins only: what posts show must survive an update. */
const allowed = (kind: string, name: string): boolean => kind === 'p' || name.includes('@');

export async function serveAsset(assets: Assets, req: Request, res: Response, { kind = '', tree: name = '', path = '' }: Readonly<Record<string, string>>): Promise<void> {
  const tree = allowed(kind, name) ? assets.find(kind, name) : undefined;
  const asset = tree?.paths.has(path) ? await tree.file(path) : undefined;
  if (!tree || !asset) throw notFound();
  send(req, res, tree, asset, name.includes('@'));
}

export const assetBehaviour = (assets: Assets): SurfaceBehaviour<undefined> => ({
  replay: (req, res) => {
    const [, kind = '', name = '', path = ''] = ADDRESS.exec(req.url ?? '') ?? [];
    const tree = allowed(kind, name) ? assets.find(kind, name) : undefined;
    const asset = tree?.peek(path);
    if (!tree || !asset) return false;
    send(req, res, tree, asset, name.includes('@'));
    return true;
  },
  enter: () => undefined,
  succeed: () => undefined,
  fail: ({ res }, error) => {
    const status = error instanceof HttpError ? error.status : 500;
    const text = status === 404 ? 'There is no such file.\n' : status === 500 ? 'The file could not be made.\n' : `${(error as Error).message}\n`;
    res.status(status).set('Cache-Control', 'no-store').set('X-Content-Type-Options', 'nosniff').type('text/plain').send(text);
  },
});
