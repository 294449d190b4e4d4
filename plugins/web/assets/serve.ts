import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  acceptsEncoding,
  defineSurface,
  HttpError,
  isFresh,
  notFound,
  type AnonymousContext,
  type Request,
  type Response,
  type SurfaceBehaviour,
} from 'parley-forum';
import type { Policy, Protection } from 'parley-forum/plugins/protection';
import type { Assets, Tree } from './assets.ts';
import type { Asset } from './build.ts';

/** Files for browsers, independent of the visitor: no session, no cookie, no nonce. */
export const assetSurface = defineSurface<AnonymousContext>('assets', { prefix: '/assets' });
export const ASSET_PATH = '/:kind/:tree/*path';

/** In seconds. The content of a URL with a hash never changes. */
const HASHED_MAX_AGE = 31_536_000;
/** In seconds, for URLs without a hash, which appear in posts. */
const UNHASHED_MAX_AGE = 300;

const FILE_POLICY: Policy = { 'default-src': ["'none'"], 'frame-ancestors': ["'self'"] };
/** An SVG that is opened directly must not run scripts that it may contain. */
const SVG_POLICY: Policy = {
  sandbox: [],
  'default-src': ["'none'"],
  'style-src': ["'unsafe-inline'"],
  'frame-ancestors': ["'self'"],
};

const ASSET_URL = /^\/assets\/([a-z])\/([^/?]+)\/([^?]*)/;

interface AssetResponse {
  readonly tree: Tree;
  readonly asset: Asset;
  /** Whether the URL contains the hash of the tree. */
  readonly hashed: boolean;
  readonly protection: Protection;
}

function send(req: IncomingMessage, res: ServerResponse, { tree, asset, hashed, protection }: AssetResponse): void {
  const etag = `"${tree.hash}"`;
  const cache = hashed ? `public, max-age=${HASHED_MAX_AGE}, immutable` : `public, max-age=${UNHASHED_MAX_AGE}`;
  const protecting = protection.headers(asset.path.endsWith('.svg') ? SVG_POLICY : FILE_POLICY);
  const headers: Record<string, string | number> = {
    ...Object.fromEntries(protecting),
    'Cache-Control': cache,
    ETag: etag,
  };
  if (asset.gzip) headers['Vary'] = 'Accept-Encoding';
  if (isFresh(req, etag)) return void res.writeHead(304, headers).end();
  const coding =
    asset.brotli && acceptsEncoding(req, 'br') ? 'br' : asset.gzip && acceptsEncoding(req, 'gzip') ? 'gzip' : undefined;
  const body = coding === 'br' ? asset.brotli : coding === 'gzip' ? asset.gzip : asset.body;
  headers['Content-Type'] = asset.type;
  headers['Content-Length'] = body?.length ?? 0;
  if (coding) headers['Content-Encoding'] = coding;
  res.writeHead(200, headers).end(req.method === 'HEAD' ? undefined : body);
}

/** Only plugins have URLs without a hash, because links in posts must survive an update. */
const isAllowed = (kind: string, name: string): boolean => kind === 'p' || name.includes('@');

export interface ServeDeps {
  readonly assets: Assets;
  readonly protection: Protection;
}

type AssetParams = Readonly<Record<string, string>>;

export async function serveAsset(
  { assets, protection }: ServeDeps,
  req: Request,
  res: Response,
  address: AssetParams,
): Promise<void> {
  const { kind = '', tree: name = '', path = '' } = address;
  const tree = isAllowed(kind, name) ? assets.find(kind, name) : undefined;
  const asset = tree?.paths.has(path) ? await tree.file(path) : undefined;
  if (!tree || !asset) throw notFound();
  send(req, res, { tree, asset, hashed: name.includes('@'), protection });
}

export const assetBehaviour = ({ assets, protection }: ServeDeps): SurfaceBehaviour<AnonymousContext> => ({
  fastPath: (req, res) => {
    const [, kind = '', name = '', path = ''] = ASSET_URL.exec(req.url ?? '') ?? [];
    const tree = isAllowed(kind, name) ? assets.find(kind, name) : undefined;
    const asset = tree?.peek(path);
    if (!tree || !asset) return false;
    send(req, res, { tree, asset, hashed: name.includes('@'), protection });
    return true;
  },
  authenticate: () => ({ actor: undefined }),
  respond: () => undefined,
  fail: ({ res }, error) => {
    const status = error instanceof HttpError ? error.status : 500;
    const text =
      status === 404
        ? 'There is no such file.\n'
        : status === 500
          ? 'The file could not be built.\n'
          : `${(error as Error).message}\n`;
    for (const [header, value] of protection.headers(FILE_POLICY)) res.setHeader(header, value);
    res.status(status).set('Cache-Control', 'no-store').type('text/plain').send(text);
  },
});
