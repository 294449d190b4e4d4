import type { IncomingMessage, ServerResponse } from 'node:http';
import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { isFresh, type Cache, type Http, type Request, type Response } from 'parley-forum';
import { accessTag, type Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Csrf, type Sessions } from 'parley-forum/plugins/accounts';
import { renderedTag } from '../api.ts';
import { hasNotice } from '../pages/flash-notices.ts';
import { createNonce, type PageHeaders } from '../pages/headers.ts';
import { CachedPage } from './cached-page.ts';
import type { Locale } from '../themes/locales.ts';
import { preferencesKey, readPreferences, type Preferences } from '../appearance/preferences.ts';

/** Characters. Longer URLs are mostly searches, which are rarely repeated. */
const MAX_URL_LENGTH = 200;
/** How many URLs of members' pages are remembered after the first request. */
const MAX_ASKED = 10_000;
/** How many guests' CSRF tokens are cached, and the maximum length in characters of the cookies they belong to. */
const MAX_TOKENS = 1_000;
const MAX_COOKIE_LENGTH = 1_000;

export interface PageCacheDeps {
  readonly cache: Cache;
  readonly sessions: Sessions;
  readonly csrf: Csrf;
  readonly http: Http;
  readonly headers: PageHeaders;
  readonly bundleHash: () => string;
  readonly localeOf: (req: IncomingMessage) => Locale;
  readonly onPageView: (
    req: IncomingMessage,
    path: string,
    viewer: Viewer | undefined,
    key: string | undefined,
  ) => void;
}

interface StoreOptions {
  readonly tags: readonly string[];
  /** `Cache.version()` as it was before any data was read. */
  readonly cacheVersion: number;
  readonly preferences: Preferences;
  readonly viewer: Viewer;
  readonly seconds: number;
}

/**
 * Rendered pages cached as bytes. Guests' pages are sent before Express runs, members' as soon as they are
 * authenticated.
 */
export class PageCache {
  readonly #deps: PageCacheDeps;
  /** Guests' CSRF tokens by Cookie header: computing one takes longer than the rest of the response. */
  readonly #tokens = new LRUCache<string, string>({ max: MAX_TOKENS });
  /** Most pages are read only once by a member, so a member's page is cached from the second request on. */
  readonly #asked = new LRUCache<string, true>({ max: MAX_ASKED });

  constructor(deps: PageCacheDeps) {
    this.#deps = deps;
  }

  /** The cache key of a page for this request. Guests share their pages; each member has their own. */
  #key(req: IncomingMessage, preferences: Preferences, viewer?: Viewer): string {
    const who = viewer?.id === undefined ? '' : `${viewer.id}/${viewer.group.id}`;
    return `page ${who} ${this.#deps.bundleHash()} ${this.#deps.localeOf(req).key} ${preferencesKey(preferences)} ${req.url ?? '/'}`;
  }

  /** Caches the page rendered for this viewer, unless data that it shows changed since `cacheVersion`. */
  store(req: IncomingMessage, html: Buffer, { tags, cacheVersion, preferences, viewer, seconds }: StoreOptions): void {
    const url = req.url ?? '/';
    if (url.length > MAX_URL_LENGTH) return;
    const key = this.#key(req, preferences, viewer);
    if (viewer.id !== undefined && !this.#asked.has(key)) return void this.#asked.set(key, true);
    const page = new CachedPage(html, url);
    const own = viewer.id === undefined ? [] : [accountTag(viewer.id)];
    this.#deps.cache.set(key, [...tags, ...own, accessTag, renderedTag], page, cacheVersion, {
      bytes: page.size,
      seconds,
    });
  }

  /** For an authenticated member. Returns true if the page was sent. */
  sendToMember(req: Request, res: Response, viewer: Viewer): boolean {
    const { cookie } = req.headers;
    const secure = this.#deps.http.secure(req);
    if (viewer.id === undefined || req.method !== 'GET' || hasNotice(cookie, secure)) return false;
    const page = this.#deps.cache.peek<CachedPage>(this.#key(req, readPreferences(cookie, secure), viewer));
    if (!page) return false;
    this.#send(req, res, page, this.#deps.csrf.token(req, res));
    this.#deps.onPageView(req, page.path, viewer, undefined);
    return true;
  }

  /** For a guest. Returns true if the page was sent. Entirely synchronous. */
  sendToGuest(req: IncomingMessage, res: ServerResponse): boolean {
    const { cache, sessions, http, onPageView } = this.#deps;
    const { cookie } = req.headers;
    const secure = http.secure(req);
    if (cookie !== undefined && (sessions.hasCookie(cookie) || hasNotice(cookie, secure))) return false;
    const page = cache.peek<CachedPage>(this.#key(req, readPreferences(cookie, secure)));
    if (!page) return false;
    const { token, setCookie } = this.#cachedToken(cookie, secure) ?? this.#guestToken(cookie, secure);
    this.#send(req, res, page, token, setCookie);
    onPageView(req, page.path, undefined, setCookie === undefined ? token : undefined);
    return true;
  }

  #cachedToken(
    cookie: string | undefined,
    secure: boolean,
  ): { readonly token: string; readonly setCookie?: undefined } | undefined {
    const token = cookie === undefined ? undefined : this.#tokens.get(secure ? `s${cookie}` : cookie);
    return token === undefined ? undefined : { token };
  }

  #guestToken(cookie: string | undefined, secure: boolean): ReturnType<Csrf['guestToken']> {
    const answer = this.#deps.csrf.guestToken(cookie, secure);
    if (cookie === undefined || answer.setCookie !== undefined || cookie.length > MAX_COOKIE_LENGTH) return answer;
    this.#tokens.set(secure ? `s${cookie}` : cookie, answer.token);
    return answer;
  }

  #send(req: IncomingMessage, res: ServerResponse, page: CachedPage, token: string, setCookie?: string): void {
    const { http, headers } = this.#deps;
    const etag = etagOf(page.hash, token);
    const fresh = isFresh(req, etag);
    const nonce = fresh ? undefined : createNonce();
    const lines = headers.forPage(nonce);
    lines.push('Cache-Control', 'private, no-cache', 'ETag', etag, 'Vary', VARY, 'X-Request-Id', http.requestId(req));
    if (setCookie !== undefined) lines.push('Set-Cookie', setCookie);
    if (nonce === undefined) {
      res.writeHead(304, lines).end();
    } else {
      lines.push('Content-Type', 'text/html; charset=utf-8');
      page.body.send(req, res, lines, { nonce, csrf: token });
    }
  }
}

/** Unique to page and visitor: with another CSRF token, the forms in the browser's cached copy would be refused. */
export const etagOf = (hash: string, token: string): string => `W/"${hash}-${crc32(token).toString(36)}"`;
export const VARY = 'Accept-Encoding, Cookie, Accept-Language';
