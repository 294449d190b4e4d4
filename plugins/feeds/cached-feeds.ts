import { etagOf, ReusableBody, type Cache, type Clock } from 'parley-forum';
import { LastModifiedTimes } from './last-modified.ts';
import type { FeedDocument } from './feed-builder.ts';

/** A feed as guests get it. */
export class CachedFeed {
  readonly type: string;
  readonly body: ReusableBody;
  readonly etag: string;
  /** When it last changed, in epoch seconds. */
  readonly changedAt: number;

  constructor({ type, body }: FeedDocument, etag: string, changedAt: number) {
    this.type = type;
    this.body = new ReusableBody(body);
    this.etag = etag;
    this.changedAt = changedAt;
  }
}

/** A path that can be read in only one way, followed by the query, which no feed uses. */
const PATH = /^(?:\/[\w.~%-]+)+(?=\?|$)/;
/** The maximum length of a path in characters; longer ones name no feed. */
const MAX_PATH_LENGTH = 300;

/**
 * Guests' feeds as bytes. Which feed a path leads to is remembered from the request that led there, since a feed may
 * have several paths.
 */
export class CachedFeeds {
  readonly #cache: Cache;
  readonly #changes: LastModifiedTimes;

  constructor({ cache, clock }: { readonly cache: Cache; readonly clock: Clock }) {
    this.#cache = cache;
    this.#changes = new LastModifiedTimes(clock);
  }

  find(url: string): CachedFeed | undefined {
    const path = pathOf(url);
    const source = path && this.#cache.peek<string>(`feed at ${path}`);
    return source ? this.#cache.peek<CachedFeed>(`feed ${source}`) : undefined;
  }

  /**
   * Caches the document that was built for `url`. `cacheVersion` is `Cache.version()` from before the document was
   * built.
   */
  add(url: string, document: FeedDocument, tags: readonly string[], cacheVersion: number): CachedFeed {
    const etag = etagOf(document.body);
    const feed = new CachedFeed(document, etag, this.#changes.of(document.path, etag));
    this.#cache.set(`feed ${document.path}`, tags, feed, cacheVersion, { bytes: 1.5 * document.body.length + 1_000 });
    const path = pathOf(url);
    if (path !== undefined)
      this.#cache.set(`feed at ${path}`, tags, document.path, cacheVersion, {
        bytes: path.length + document.path.length + 500,
      });
    return feed;
  }
}

const pathOf = (url: string): string | undefined => {
  const path = PATH.exec(url)?.[0];
  return path !== undefined && path.length <= MAX_PATH_LENGTH ? path : undefined;
};
