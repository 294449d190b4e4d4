import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  defineSurface,
  etagOf,
  type HttpError,
  type Cache,
  type RequestContext,
  type Http,
  type Request,
  type RequestHandler,
  type Response,
  type Settings,
  type SurfaceBehaviour,
} from 'parley-forum';
import { allowOrigin } from 'parley-forum/plugins/api';
import type { Caller, Callers } from './callers.ts';
import type { FeedDocument } from './feed-builder.ts';
import type { CachedFeeds } from './cached-feeds.ts';
import type { Sender } from './sender.ts';

/** Where feeds are: one behaviour under three prefixes. */
export const surfaces = {
  feed: defineSurface<Caller, FeedDocument>('feeds', { prefix: '/feed' }),
  rss: defineSurface<Caller, FeedDocument>('feeds-rss', { prefix: '/rss' }),
  atom: defineSurface<Caller, FeedDocument>('feeds-atom', { prefix: '/atom' }),
} as const;

interface FeedSurfaceDeps {
  readonly callers: Callers;
  readonly cachedFeeds: CachedFeeds;
  readonly sender: Sender;
  readonly cache: Cache;
  readonly http: Http;
  readonly settings: Settings;
}

/** How feeds authenticate, respond and fail. */
export class FeedSurface implements SurfaceBehaviour<Caller, FeedDocument> {
  readonly middleware: readonly RequestHandler[];
  readonly #deps: FeedSurfaceDeps;
  /** Taken before anything is read, so that a change meanwhile keeps the feed from being cached. */
  readonly #marks = new WeakMap<Request, number>();

  constructor(deps: FeedSurfaceDeps) {
    this.#deps = deps;
    this.middleware = [deps.callers.middleware];
  }

  fastPath(req: IncomingMessage, res: ServerResponse): boolean {
    const { callers, cachedFeeds, sender, settings } = this.#deps;
    const feed = callers.anonymous(req) ? cachedFeeds.find(req.url ?? '/') : undefined;
    if (!feed) return false;
    allowOrigin(req, res, settings);
    sender.send(req, res, feed);
    return true;
  }

  authenticate(req: Request, res: Response): Promise<Caller> {
    this.#marks.set(req, this.#deps.cache.mark());
    allowOrigin(req, res, this.#deps.settings);
    return this.#deps.callers.identify(req, res);
  }

  /** Guests whose request did not take the fast path: HEAD, or a cookie of a session that is over. */
  fromCache({ req, res, actor }: RequestContext<Caller>): boolean {
    const feed = actor.personal ? undefined : this.#deps.cachedFeeds.find(req.originalUrl);
    if (feed) this.#deps.sender.send(req, res, feed);
    return feed !== undefined;
  }

  respond(
    { req, res, actor }: RequestContext<Caller>,
    document: FeedDocument,
    _route: unknown,
    tags: readonly string[] | undefined,
  ): void {
    const { cachedFeeds, sender } = this.#deps;
    if (actor.personal || !tags) return sender.sendPersonal(req, res, { ...document, etag: etagOf(document.body) });
    sender.send(req, res, cachedFeeds.add(req.originalUrl, document, tags, this.#marks.get(req) ?? 0));
  }

  fail({ req, res }: RequestContext<Caller | undefined>, failure: HttpError): void {
    if (res.headersSent) return void res.destroy();
    this.#deps.sender.sendError(req, res, failure);
  }
}
