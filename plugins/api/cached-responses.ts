import {
  etagOf,
  isFresh,
  ReusableBody,
  type CheckedUrl,
  type Cache,
  type Clock,
  type Request,
  type Response,
  type RouteInfo,
} from 'parley-forum';
import { responsesTag } from 'parley-forum/plugins/api';
import type { HeaderPair } from 'parley-forum/plugins/protection';
import { JSON_TYPE, PRIVATE } from './responses.ts';
import type { RouteBucket } from 'parley-forum/plugins/api';

/** Maximum number of characters of a URL or of a cache key; longer ones rarely repeat. */
const MAX_KEY_LENGTH = 300;
/** Bytes that a cache entry takes besides its text. */
const ENTRY_OVERHEAD = 500;

/** The data for sending a cached response. */
interface CachedResponseOptions {
  /** Its `Vary` header. */
  readonly vary: string;
  /** The bucket it counts against; undefined: the general one. */
  readonly bucket: RouteBucket | undefined;
  /** Epoch milliseconds at which it becomes stale; undefined: only when its tags are purged. */
  readonly expiresAt: number | undefined;
}

/** A response as bytes, with the headers that are the same every time. */
export class CachedResponse {
  readonly etag: string;
  readonly body: ReusableBody;
  readonly options: CachedResponseOptions;
  readonly protection: readonly HeaderPair[];
  /** Alternating names and values, as `writeHead` takes them. */
  readonly headers: readonly string[];
  readonly gzipHeaders: readonly string[];

  constructor(plain: Buffer, protection: readonly HeaderPair[], options: CachedResponseOptions) {
    this.body = new ReusableBody(plain);
    this.options = options;
    this.protection = protection;
    this.etag = etagOf(plain);
    this.headers = [
      ...protection.flat(),
      'Content-Type',
      JSON_TYPE,
      'Cache-Control',
      PRIVATE,
      'Vary',
      options.vary,
      'ETag',
      this.etag,
    ];
    this.gzipHeaders = [...this.headers, 'Content-Encoding', 'gzip'];
  }
}

/** Sends a cached response on which the protection and rate limit headers are already set. */
export function sendCached(req: Request, res: Response, { etag, body }: CachedResponse): void {
  res.setHeader('ETag', etag);
  res.setHeader('Cache-Control', PRIVATE);
  if (isFresh(req, etag)) return void res.writeHead(304).end();
  const gzipped = body.gzipFor(req);
  if (gzipped) res.setHeader('Content-Encoding', 'gzip');
  res.setHeader('Content-Type', JSON_TYPE);
  res.setHeader('Content-Length', (gzipped ?? body.plain).length);
  res.writeHead(200).end(gzipped ?? body.plain);
}

interface StoreOptions {
  readonly tags: readonly string[];
  /** `Cache.version()` from before the response was computed. */
  readonly cacheVersion: number;
  /** `responseKey` of the caller and the checked input. */
  readonly key: string;
}

/**
 * The cache key of a response to `caller`. Built from the checked input, so that a request never gets the response to a
 * different one, however the URL is spelled. The caller is empty for guests, who share responses.
 */
export function responseKey(caller: string, { path }: RouteInfo, { params, query }: CheckedUrl): string {
  const values = [params ?? {}, query ?? {}].map((part) => Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  return `api ${caller} ${path} ${JSON.stringify(values)}`;
}

/** Cached responses to guests and members and, for guests, the exact URLs that led to them. */
export class CachedResponses {
  readonly #cache: Cache;
  readonly #clock: Clock;
  readonly #protection: () => readonly HeaderPair[];

  /** `protection`: the headers currently in force; a response with other ones is stale. */
  constructor(cache: Cache, clock: Clock, protection: () => readonly HeaderPair[]) {
    this.#cache = cache;
    this.#clock = clock;
    this.#protection = protection;
  }

  find(key: string): CachedResponse | undefined {
    const cached = this.#cache.peek<CachedResponse>(key);
    if (cached?.protection !== this.#protection()) return undefined;
    return cached.options.expiresAt !== undefined && cached.options.expiresAt <= this.#clock.now() ? undefined : cached;
  }

  /** Finds a guest's response by the exact URL. A different spelling has to be parsed first. */
  findByUrl(url: string): CachedResponse | undefined {
    const key = this.#cache.peek<string>(urlKey(url));
    return key === undefined ? undefined : this.find(key);
  }

  store(answer: CachedResponse, { key, tags, cacheVersion }: StoreOptions): void {
    if (key.length <= MAX_KEY_LENGTH)
      this.#cache.set(key, [...tags, responsesTag], answer, cacheVersion, {
        bytes: 1.5 * answer.body.plain.length + 2 * ENTRY_OVERHEAD,
      });
  }

  /**
   * Records that `url` leads guests to the response under `key`. The routes' input may change with plugins, hence
   * `cacheVersion`.
   */
  rememberUrl(url: string, key: string, cacheVersion: number): void {
    if (url.length <= MAX_KEY_LENGTH)
      this.#cache.set(urlKey(url), [responsesTag], key, cacheVersion, {
        bytes: url.length + key.length + ENTRY_OVERHEAD,
      });
  }
}

const urlKey = (url: string): string => `api address ${url}`;
