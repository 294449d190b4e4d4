import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  defineSurface,
  etagOf,
  type HttpError,
  type Cache,
  type Exchange,
  type RequestContext,
  type RequestHandler,
  type Settings,
  type SurfaceBehaviour,
} from 'parley-forum';
import { allowOrigin, isPreflight } from 'parley-forum/plugins/api';
import type { Caller, Callers } from './callers.ts';
import type { FeedDocument } from './feed-builder.ts';
import type { CachedFeeds } from './cached-feeds.ts';
import type { Sender } from './sender.ts';

/** The context that feed routes get for a request. */
interface FeedContext {
  readonly actor: Caller;
}
/** The surface's own context. */
interface OwnContext extends FeedContext {
  /** Read before any data, so that a change in the meantime keeps the feed from being cached. */
  readonly cacheVersion: number;
}

/** The surfaces of feeds: one behaviour under three prefixes. */
export const surfaces = {
  feed: defineSurface<FeedContext, FeedDocument>('feeds', { prefix: '/feed' }),
  rss: defineSurface<FeedContext, FeedDocument>('feeds-rss', { prefix: '/rss' }),
  atom: defineSurface<FeedContext, FeedDocument>('feeds-atom', { prefix: '/atom' }),
} as const;

interface FeedSurfaceDeps {
  readonly callers: Callers;
  readonly cachedFeeds: CachedFeeds;
  readonly sender: Sender;
  readonly cache: Cache;
  readonly settings: Settings;
}

/** How feeds authenticate, respond and fail. */
export class FeedSurface implements SurfaceBehaviour<FeedContext, FeedDocument, {}, OwnContext> {
  readonly middleware: readonly RequestHandler[];
  readonly #deps: FeedSurfaceDeps;

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

  async authenticate({ req, res }: Exchange): Promise<OwnContext> {
    const cacheVersion = this.#deps.cache.version();
    allowOrigin(req, res, this.#deps.settings);
    return { actor: await this.#deps.callers.identify(req, res), cacheVersion };
  }

  /**
   * For guests whose request did not take the fast path: HEAD, a cookie of an expired session, or a URL that identifies
   * nobody.
   */
  fromCache({ req, res, actor }: RequestContext<OwnContext>): boolean {
    const feed = actor.personal ? undefined : this.#deps.cachedFeeds.find(req.originalUrl);
    if (feed) this.#deps.sender.send(req, res, feed, actor);
    return feed !== undefined;
  }

  respond(
    { req, res, actor, cacheVersion }: RequestContext<OwnContext>,
    document: FeedDocument,
    tags: readonly string[] | undefined,
  ): void {
    const { cachedFeeds, sender } = this.#deps;
    if (actor.personal || !tags) return sender.sendPersonal(req, res, { ...document, etag: etagOf(document.body) });
    sender.send(req, res, cachedFeeds.add(req.originalUrl, document, tags, cacheVersion), actor);
  }

  fail({ req, res }: Exchange, failure: HttpError): void {
    if (res.headersSent) return void res.destroy();
    if (isPreflight(res)) return void res.writeHead(204).end();
    this.#deps.sender.sendError(req, res, failure);
  }
}
