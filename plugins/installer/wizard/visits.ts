import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parse as parseCookies, serialize as serializeCookie } from 'cookie';
import { LRUCache } from 'lru-cache';

/** What was typed in earlier steps. Passwords stay here and are never sent back. */
export interface FormValues {
  site_name?: string;
  locale?: string;
  timezone?: string;
  database?: 'embedded' | 'server';
  /** What was typed, also where the embedded database is chosen. */
  database_url?: string;
  redis_url?: string;
  smtp_url?: string;
  username?: string;
  email?: string;
  demo?: boolean;
}

/** A browser that opened the set-up link. */
export interface Visit {
  /** For its forms. */
  readonly csrf: string;
  readonly answers: FormValues;
  /** The steps it has been through, by id. */
  readonly done: Set<string>;
}

/** Browsers at a time; beyond it the first one is dropped. */
const MAX_VISITS = 20;
const COOKIE = 'parley.install';

const secret = (): string => randomBytes(32).toString('base64url');

/**
 * The set-up link and the browsers that opened it. Only hashes of link and cookies are stored, and only in memory.
 */
export class Visits {
  #link: string | undefined;
  #owner: Visit | undefined;
  readonly #visits = new LRUCache<string, Visit>({ max: MAX_VISITS });

  /** A token for the set-up link; one made before no longer counts. This is the only time it can be read. */
  invite(): string {
    this.end();
    const token = secret();
    this.#link = hash('sha256', token);
    return token;
  }

  /** The Set-Cookie value for a browser with the right token; undefined for a wrong one. */
  open(token: string, { secure }: { readonly secure: boolean }): string | undefined {
    if (this.#link === undefined || !timingSafeEqual(Buffer.from(hash('sha256', token)), Buffer.from(this.#link)))
      return undefined;
    const cookie = secret();
    this.#visits.set(hash('sha256', cookie), { csrf: secret(), answers: {}, done: new Set() });
    // Not `Strict`: the link may be opened from a page of a chat or of a console in the browser.
    return serializeCookie(COOKIE, cookie, { path: '/install', httpOnly: true, sameSite: 'lax', secure });
  }

  of({ headers: { cookie = '' } }: IncomingMessage): Visit | undefined {
    const value = parseCookies(cookie)[COOKIE];
    return value === undefined ? undefined : this.#visits.peek(hash('sha256', value));
  }

  /** A browser has claimed the installation: the link lets no one in any more. */
  get claimed(): boolean {
    return this.#owner !== undefined;
  }

  /**
   * Gives the installation to the first browser that sends a step: the link and all other visits end. False for one
   * that came later. Opening the link claims nothing, since programs that preview links open them too.
   */
  claim(visit: Visit): boolean {
    if (this.#owner) return this.#owner === visit;
    this.#owner = visit;
    this.#link = undefined;
    for (const key of this.#visits.keys().toArray()) if (this.#visits.peek(key) !== visit) this.#visits.delete(key);
    return true;
  }

  /** The link and every visit end. */
  end(): void {
    this.#link = undefined;
    this.#owner = undefined;
    this.#visits.clear();
  }
}

/** Whether a form's token is the visit's, in constant time. */
export function isValidToken({ csrf }: Visit, given: unknown): boolean {
  return (
    typeof given === 'string' &&
    given.length === csrf.length &&
    timingSafeEqual(Buffer.from(hash('sha256', given)), Buffer.from(hash('sha256', csrf)))
  );
}
