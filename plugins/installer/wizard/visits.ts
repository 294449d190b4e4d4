import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parse as parseCookies, serialize as serializeCookie } from 'cookie';
import { LRUCache } from 'lru-cache';

/** Values entered in earlier steps. Passwords stay here and are never sent back. */
export interface FormValues {
  site_name?: string;
  locale?: string;
  timezone?: string;
  database?: 'embedded' | 'server';
  /** The URL that was typed, even if the embedded database is chosen. */
  database_url?: string;
  redis_url?: string;
  smtp_url?: string;
  username?: string;
  email?: string;
  demo?: boolean;
}

/** A browser that opened the set-up link. */
export interface Visit {
  /** The CSRF token of its forms. */
  readonly csrf: string;
  readonly answers: FormValues;
  /** The ids of the completed steps. */
  readonly done: Set<string>;
}

/** The maximum number of visits; beyond it, the oldest is dropped. */
const MAX_VISITS = 20;
const COOKIE = 'parley.install';

const secret = (): string => randomBytes(32).toString('base64url');

/**
 * The set-up link and the browsers that opened it. Only hashes of the link and the cookies are stored, and only in
 * memory.
 */
export class Visits {
  #link: string | undefined;
  #owner: Visit | undefined;
  readonly #visits = new LRUCache<string, Visit>({ max: MAX_VISITS });

  /** Returns a token for a new set-up link and invalidates the previous one. The token cannot be read again later. */
  invite(): string {
    this.end();
    const token = secret();
    this.#link = hash('sha256', token);
    return token;
  }

  /** The Set-Cookie value for a browser with the right token; undefined if the token is wrong. */
  open(token: string, { secure }: { readonly secure: boolean }): string | undefined {
    if (this.#link === undefined || !timingSafeEqual(Buffer.from(hash('sha256', token)), Buffer.from(this.#link)))
      return undefined;
    const cookie = secret();
    this.#visits.set(hash('sha256', cookie), { csrf: secret(), answers: {}, done: new Set() });
    // Not `Strict`: the link may be opened from a web-based chat or console.
    return serializeCookie(COOKIE, cookie, { path: '/install', httpOnly: true, sameSite: 'lax', secure });
  }

  of({ headers: { cookie = '' } }: IncomingMessage): Visit | undefined {
    const value = parseCookies(cookie)[COOKIE];
    return value === undefined ? undefined : this.#visits.peek(hash('sha256', value));
  }

  /** True once a browser has claimed the installation: the link no longer works. */
  get claimed(): boolean {
    return this.#owner !== undefined;
  }

  /**
   * Gives the installation to the first browser that submits a step, and ends the link and all other visits. Returns
   * false for any later browser. Opening the link claims nothing, since link-preview bots open it too.
   */
  claim(visit: Visit): boolean {
    if (this.#owner) return this.#owner === visit;
    this.#owner = visit;
    this.#link = undefined;
    for (const key of this.#visits.keys().toArray()) if (this.#visits.peek(key) !== visit) this.#visits.delete(key);
    return true;
  }

  /** Ends the link and all visits. */
  end(): void {
    this.#link = undefined;
    this.#owner = undefined;
    this.#visits.clear();
  }
}

/** Compares the form's token with the visit's in constant time. */
export function isValidToken({ csrf }: Visit, given: unknown): boolean {
  return (
    typeof given === 'string' &&
    given.length === csrf.length &&
    timingSafeEqual(Buffer.from(hash('sha256', given)), Buffer.from(hash('sha256', csrf)))
  );
}
