import type { IncomingMessage, ServerResponse } from 'node:http';
import { defineSurface, HttpError, notFound, type Request, type Response, type SurfaceBehaviour } from 'parley-forum';
import type { Policy, Protection } from 'parley-forum/plugins/protection';
import type { Assets, Tree } from './assets.ts';
import type { Asset } from './build.ts';

/** Files for browsers. They know no visitor: no session, no cookie, no nonce. */
export const assetSurface = defineSurface<undefined>('assets', { prefix: '/assets' });
export const ASSET_PATH = '/:kind/:tree/*path';

/** Seconds: addresses with a hash never change what they mean. */
const FOR_EVER = 31_536_000;
/** Seconds for the addresses without one, which stand in posts. */
const A_WHILE = 300;

const FILE_POLICY: Policy = { 'default-src': ["'none'"], 'frame-ancestors': ["'self'"] };
/** A picture that is opened by itself must not run what it may contain. */
const DRAWING_POLICY: Policy = {
  sandbox: [],
  'default-src': ["'none'"],
  'style-src': ["'unsafe-inline'"],
  'frame-ancestors': ["'self'"],
};

const ADDRESS = /^\/assets\/([a-z])\/([^/?]+)\/([^?]*)/;

const accepts = (req: IncomingMessage, coding: string): boolean =>
  String(req.headers['accept-encoding'] ?? '').includes(coding);

interface Sending {
  readonly tree: Tree;
  readonly asset: Asset;
  /** Whether the address changes with the file. */
  readonly hashed: boolean;
  readonly protection: Protection;
}

function send(req: IncomingMessage, res: ServerResponse, { tree, asset, hashed, protection }: Sending): void {
  const etag = `"${tree.hash}"`;
  const cache = hashed ? `public, max-age=${FOR_EVER}, immutable` : `public, max-age=${A_WHILE}`;
  const protecting = protection.headers(asset.path.endsWith('.svg') ? DRAWING_POLICY : FILE_POLICY);
  const headers: Record<string, string | number> = {
    ...Object.fromEntries(protecting),
    'Cache-Control': cache,
    ETag: etag,
  };
  if (asset.gzip) headers['Vary'] = 'Accept-Encoding';
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

export interface ServeParts {
  readonly assets: Assets;
  readonly protection: Protection;
}

type Address = Readonly<Record<string, string>>;

export async function serveAsset(
  { assets, protection }: ServeParts,
  req: Request,
  res: Response,
  address: Address,
): Promise<void> {
  const { kind = '', tree: name = '', path = '' } = address;
  const tree = allowed(kind, name) ? assets.find(kind, name) : undefined;
  const asset = tree?.paths.has(path) ? await tree.file(path) : undefined;
  if (!tree || !asset) throw notFound();
  send(req, res, { tree, asset, hashed: name.includes('@'), protection });
}

export const assetBehaviour = ({ assets, protection }: ServeParts): SurfaceBehaviour<undefined> => ({
  fastPath: (req, res) => {
    const [, kind = '', name = '', path = ''] = ADDRESS.exec(req.url ?? '') ?? [];
    const tree = allowed(kind, name) ? assets.find(kind, name) : undefined;
    const asset = tree?.peek(path);
    if (!tree || !asset) return false;
    send(req, res, { tree, asset, hashed: name.includes('@'), protection });
    return true;
  },
  authenticate: () => undefined,
  respond: () => undefined,
  fail: ({ res }, error) => {
    const status = error instanceof HttpError ? error.status : 500;
    const text =
      status === 404
        ? 'There is no such file.\n'
        : status === 500
          ? 'The file could not be made.\n'
          : `${(error as Error).message}\n`;
    for (const [header, value] of protection.headers(FILE_POLICY)) res.setHeader(header, value);
    res.status(status).set('Cache-Control', 'no-store').type('text/plain').send(text);
  },
});
