import {
  defineSurface,
  isFresh,
  notFound,
  type AnonymousContext,
  type Exchange,
  type Http,
  type HttpError,
  type PluginHandle,
  type Request,
  type Response,
  type SurfaceBehaviour,
} from 'parley-forum';
import { IdParams } from 'parley-forum/plugins/api';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';
import type { PreviewStore } from './preview-store.ts';

interface StoredPicture {
  readonly id: string;
  readonly bytes: Uint8Array;
}
/** Needs no session: anyone who knows the URL may load the picture, which comes from a public page. */
const pictures = defineSurface<AnonymousContext, StoredPicture>('link-previews', { prefix: '/link-previews' });

/** The bytes under a URL never change, but they may be deleted: shared caches revalidate soon, browsers after a day. */
const CACHE_CONTROL = 'public, max-age=86400, s-maxage=300, immutable';

interface PictureSurfaceDeps {
  readonly http: Http;
  readonly protection: Protection;
}

class PictureSurface implements SurfaceBehaviour<AnonymousContext, StoredPicture> {
  readonly #deps: PictureSurfaceDeps;

  constructor(deps: PictureSurfaceDeps) {
    this.#deps = deps;
  }

  authenticate(): AnonymousContext {
    return { actor: undefined };
  }

  respond({ req, res }: Exchange, { id, bytes }: StoredPicture): void {
    const etag = `"${id}"`;
    this.#setHeaders(req, res, { 'Content-Type': 'image/webp', 'Cache-Control': CACHE_CONTROL, ETag: etag });
    if (isFresh(req, etag)) return void res.status(304).end();
    res.setHeader('Content-Length', bytes.length);
    res.end(req.method === 'HEAD' ? undefined : bytes);
  }

  fail({ req, res }: Exchange, { status, message, code, headers }: HttpError): void {
    if (res.headersSent) return void res.destroy();
    this.#setHeaders(req, res, { 'Cache-Control': 'no-store', ...headers });
    res.status(status).json({ success: false, error: message, code, request_id: this.#deps.http.requestId(req) });
  }

  #setHeaders(req: Request, res: Response, headers: Readonly<Record<string, string>>): void {
    const { http, protection } = this.#deps;
    for (const [name, value] of protection.headers(DATA_POLICY)) res.setHeader(name, value);
    res.set({ ...headers, 'X-Request-Id': http.requestId(req) });
  }
}

/** Serves /link-previews/{id}: the pictures of cards, so that browsers load nothing from the linked sites. */
export function servePictures(
  plugin: PluginHandle,
  { store, ...deps }: PictureSurfaceDeps & { readonly store: PreviewStore },
): void {
  plugin.surface(pictures, new PictureSurface(deps));
  plugin.route(pictures, {
    method: 'get',
    path: '/:id',
    can: 'public',
    params: IdParams,
    summary: 'The picture on the card of a linked page',
  })(async ({ params: { id } }) => {
    const bytes = await store.picture(id);
    if (!bytes) throw notFound('There is no such picture');
    return { id, bytes };
  });
}
