import type { Http, Request, Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';

const COOKIE = 'parley.push';
/** The longest time for which browsers keep a cookie. */
const MAX_AGE = 400 * 86_400_000;

/** Remembers in a browser which device it is, beyond the end of a session. */
export class BrowserCookie {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  set(req: Request, res: Response, deviceId: string): void {
    res.cookie(this.#name(req), deviceId, { ...this.#options(req), maxAge: MAX_AGE });
  }

  clear(req: Request, res: Response): void {
    res.clearCookie(this.#name(req), this.#options(req));
  }

  /** Whatever the browser sent. */
  read(req: Request): string | undefined {
    return cookieOf(req.headers.cookie, this.#name(req));
  }

  #name(req: Request): string {
    return cookieName(COOKIE, this.#http.secure(req));
  }

  #options(req: Request) {
    return { path: '/', httpOnly: true, sameSite: 'lax', secure: this.#http.secure(req) } as const;
  }
}
