import { etagOf, ReusableBody, type Cache, type Clock } from 'parley-forum';
import { LastModifiedTimes } from './last-modified.ts';
import type { FeedDocument } from './feed-builder.ts';

/** A feed as guests get it. */
export class CachedFeed {
  readonly type: string;
  readonly body: ReusableBody;
  readonly etag: string;
  /** Epoch seconds of its last change. */
  readonly changedAt: number;

  constructor({ type, body }: FeedDocument, etag: string, changedAt: number) {
    this.type = type;
    this.body = new ReusableBody(body);
    this.etag = etag;
    this.changedAt = changedAt;
  }
}

/** A path without anything that could be read in two ways, before the query, which no feed reads. */
const PATH = /^(?:\/[\w.~%-]+)+(?=\?|$)/;
/** Characters of a path; longer ones name no feed. */
const MAX_PATH_LENGTH = 300;

/** Guests' feeds as bytes. What a path leads to is known from the request that led there: one feed may have several. */
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

  /** What `url` asked for. `cacheVersion`: `Cache.version()` from before the document was made. */
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
