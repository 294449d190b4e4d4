import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import {
  acceptsEncoding,
  defineSurface,
  etagOf,
  isFresh,
  type HttpError,
  type AnonymousContext,
  type Exchange,
  type Http,
  type SurfaceBehaviour,
} from 'parley-forum';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';

/** A document for crawlers. */
export interface CrawlerDocument {
  readonly type: string;
  /** The gzipped body. */
  readonly gzipped: Buffer;
}

/** Without sessions: everyone gets the same, and shared caches may store it. */
export const surfaces = {
  sitemap: defineSurface<AnonymousContext, CrawlerDocument>('sitemap', { prefix: '/sitemap.xml' }),
  parts: defineSurface<AnonymousContext, CrawlerDocument>('sitemap-parts', { prefix: '/sitemaps' }),
  robots: defineSurface<AnonymousContext, CrawlerDocument>('robots', { prefix: '/robots.txt' }),
} as const;

interface CrawlerSurfaceDeps {
  readonly http: Http;
  readonly protection: Protection;
}
/** For browsers and shared caches: the only place where a response may be older than the last change. */
const CACHE_CONTROL = 'public, max-age=3600';

export class CrawlerSurface implements SurfaceBehaviour<AnonymousContext, CrawlerDocument> {
  readonly #deps: CrawlerSurfaceDeps;

  constructor(deps: CrawlerSurfaceDeps) {
    this.#deps = deps;
  }

  authenticate(): AnonymousContext {
    return { actor: undefined };
  }

  async respond({ req, res }: Exchange, { type, gzipped }: CrawlerDocument): Promise<void> {
    const etag = etagOf(gzipped);
    this.#head(req, res, { 'Content-Type': type, 'Cache-Control': CACHE_CONTROL, Vary: 'Accept-Encoding', ETag: etag });
    if (isFresh(req, etag)) return void res.status(304).end();
    if (acceptsEncoding(req, 'gzip'))
      return void res.set({ 'Content-Encoding': 'gzip', 'Content-Length': String(gzipped.length) }).end(gzipped);
    if (req.method === 'HEAD') return void res.end();
    await pipeline(Readable.from([gzipped]), createGunzip(), res);
  }

  fail({ req, res }: Exchange, { status, message, code, headers }: HttpError): void {
    if (res.headersSent) return void res.destroy();
    this.#head(req, res, { 'Cache-Control': 'no-store', ...headers });
    res.status(status).json({ success: false, error: message, code, request_id: this.#deps.http.requestId(req) });
  }

  #head(req: Exchange['req'], res: Exchange['res'], headers: Readonly<Record<string, string>>): void {
    const { http, protection } = this.#deps;
    for (const [name, value] of protection.headers(DATA_POLICY)) res.setHeader(name, value);
    res.set({ ...headers, 'X-Request-Id': http.requestId(req) });
  }
}
