import type { IncomingMessage, ServerResponse } from 'node:http';
import { crc32 } from 'node:zlib';
import type { Cache, Http, Request, Response } from 'parley-forum';
import { accessTag, type Viewer } from 'parley-forum/plugins/access';
import { accountTag, type Csrf, type Sessions } from 'parley-forum/plugins/accounts';
import { renderedTag } from '../api.ts';
import { hasNotice } from '../pages/flash-notices.ts';
import { createNonce, type PageHeaders } from '../pages/headers.ts';
import { KeptPage } from './cached-page.ts';
import type { Locale } from '../themes/locales.ts';
import { preferencesKey, readPreferences, type Preferences } from '../appearance/preferences.ts';

/** Characters; longer addresses are searches and the like, which hardly repeat. */
const LONGEST_URL = 200;
/** How many guests' tokens are remembered, and up to which length of their cookies (characters). */
const REMEMBERED = 1_000;
const LONGEST_COOKIE = 1_000;
const GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/;

export interface ReplayParts {
  readonly cache: Cache;
  readonly sessions: Sessions;
  readonly csrf: Csrf;
  readonly http: Http;
  readonly headers: PageHeaders;
  readonly lookHash: () => string;
  readonly localeOf: (req: IncomingMessage) => Locale;
  readonly seen: (req: IncomingMessage, path: string, viewer: Viewer | undefined, key: string | undefined) => void;
}

interface Keeping {
  readonly tags: readonly string[];
  /** `Cache.mark()` from before anything was read. */
  readonly mark: number;
  readonly preferences: Preferences;
  readonly viewer: Viewer;
  readonly seconds: number;
}

/** Pages kept as bytes and sent again: guests' without entering Express, members' as soon as it is known who asks. */
export class Replay {
  readonly #parts: ReplayParts;
  /** Guests' tokens by the cookies they belong to: computing one takes longer than all the rest of an answer. */
  readonly #tokens = new Map<string, string>();

  constructor(parts: ReplayParts) {
    this.#parts = parts;
  }

  /** Where a page for whoever sent this request is kept. Guests are all alike; members' pages are kept one by one. */
  #key(req: IncomingMessage, preferences: Preferences, viewer?: Viewer): string {
    const who = viewer?.id === undefined ? '' : `${viewer.id}/${viewer.group.id}`;
    return `page ${who} ${this.#parts.lookHash()} ${this.#parts.localeOf(req).id} ${preferencesKey(preferences)} ${req.url ?? '/'}`;
  }

  /** Keeps what was made for this viewer, unless something it shows changed since `mark`. */
  keep(req: IncomingMessage, text: string, { tags, mark, preferences, viewer, seconds }: Keeping): void {
    const url = req.url ?? '/';
    if (url.length > LONGEST_URL) return;
    const page = new KeptPage(text, url);
    const own = viewer.id === undefined ? [] : [accountTag(viewer.id)];
    this.#parts.cache.keep(this.#key(req, preferences, viewer), [...tags, ...own, accessTag, renderedTag], page, mark, {
      bytes: page.size,
      seconds,
    });
  }

  /** For a member, who is known by now: true when it has answered. */
  recall(req: Request, res: Response, viewer: Viewer): boolean {
    const { cookie } = req.headers;
    const secure = this.#parts.http.secure(req);
    if (viewer.id === undefined || req.method !== 'GET' || hasNotice(cookie, secure)) return false;
    const page = this.#parts.cache.peek<KeptPage>(this.#key(req, readPreferences(cookie, secure), viewer));
    if (!page) return false;
    this.#send(req, res, page, this.#parts.csrf.token(req, res));
    this.#parts.seen(req, page.path, viewer, undefined);
    return true;
  }

  /** True when it has answered. Synchronous from the first line to the last. */
  answer(req: IncomingMessage, res: ServerResponse): boolean {
    const { cache, sessions, http, seen } = this.#parts;
    const { cookie } = req.headers;
    const secure = http.secure(req);
    if (cookie !== undefined && (sessions.hasCookie(cookie) || hasNotice(cookie, secure))) return false;
    const page = cache.peek<KeptPage>(this.#key(req, readPreferences(cookie, secure)));
    if (!page) return false;
    const { token, setCookie } = this.#known(cookie, secure) ?? this.#ask(cookie, secure);
    this.#send(req, res, page, token, setCookie);
    seen(req, page.path, undefined, setCookie === undefined ? token : undefined);
    return true;
  }

  #known(
    cookie: string | undefined,
    secure: boolean,
  ): { readonly token: string; readonly setCookie?: undefined } | undefined {
    const token = cookie === undefined ? undefined : this.#tokens.get(secure ? `s${cookie}` : cookie);
    return token === undefined ? undefined : { token };
  }

  #ask(cookie: string | undefined, secure: boolean): ReturnType<Csrf['guestToken']> {
    const answer = this.#parts.csrf.guestToken(cookie, secure);
    if (cookie === undefined || answer.setCookie !== undefined || cookie.length > LONGEST_COOKIE) return answer;
    if (this.#tokens.size >= REMEMBERED) this.#tokens.clear();
    this.#tokens.set(secure ? `s${cookie}` : cookie, answer.token);
    return answer;
  }

  #send(req: IncomingMessage, res: ServerResponse, page: KeptPage, token: string, setCookie?: string): void {
    const { http, headers } = this.#parts;
    const etag = etagOf(page.hash, token);
    const fresh = req.headers['if-none-match'] === etag;
    const nonce = fresh ? undefined : createNonce();
    const lines = headers.forPage(nonce);
    lines.push('Cache-Control', 'private, no-cache', 'ETag', etag, 'Vary', VARY, 'X-Request-Id', http.idOf(req));
    if (setCookie !== undefined) lines.push('Set-Cookie', setCookie);
    if (nonce === undefined) {
      res.writeHead(304, lines).end();
    } else {
      lines.push('Content-Type', 'text/html; charset=utf-8');
      if (GZIP.test(String(req.headers['accept-encoding'] ?? ''))) page.sendZipped(res, lines, { nonce, csrf: token });
      else page.send(res, lines, { nonce, csrf: token });
    }
  }
}

/** One page, one visitor: with another token the stored copy's forms would no longer be accepted. */
export const etagOf = (hash: string, token: string): string => `W/"${hash}-${crc32(token).toString(36)}"`;
export const VARY = 'Accept-Encoding, Cookie, Accept-Language';
