import { hash, randomBytes } from 'node:crypto';
import type { Http, Request, Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';

const COOKIE = 'parley.sso';
const TOKEN = /^[\w-]{43}$/;

/**
 * A cookie that ties login attempts to the browser that started them: a link with a `state` from another browser is
 * useless in this one.
 */
export class BrowserToken {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** The browser's token, or a new one that the response sets. */
  issue(req: Request, res: Response): string {
    const known = this.read(req);
    if (known !== undefined) return known;
    const token = randomBytes(32).toString('base64url');
    const secure = this.#http.secure(req);
    res.cookie(cookieName(COOKIE, secure), token, { path: '/', httpOnly: true, sameSite: 'lax', secure });
    return token;
  }

  read(req: Request): string | undefined {
    const token = cookieOf(req.headers.cookie, cookieName(COOKIE, this.#http.secure(req)));
    return token !== undefined && TOKEN.test(token) ? token : undefined;
  }
}

/**
 * The key of a row that belongs to the browser; `purpose` keeps rows of different kinds from being mistaken for each
 * other.
 */
export const keyOf = (token: string, purpose: string): string => hash('sha256', `${token} ${purpose}`);
