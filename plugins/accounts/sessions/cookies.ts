import type { IncomingMessage } from 'node:http';
import { parseSetCookie, serialize } from 'cookie';
import type { Http, Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';

/** The cookie with a member's session id. */
export const SESSION = 'parley.sid';
const NAMED = /parley\.sid=([^;]*)/;

/**
 * The cookies of this forum. Under HTTPS they are `Secure` and have the `__Host-` prefix, so that no other host can set
 * them.
 */
export class Cookies {
  readonly #http: Http;
  /** Whether the site's origin uses HTTPS, for responses created without a request at hand. */
  readonly secureSite: boolean;

  constructor(http: Http, baseUrl: string) {
    this.#http = http;
    this.secureSite = baseUrl.startsWith('https:');
  }

  secure(req: IncomingMessage): boolean {
    return this.#http.secure(req);
  }

  name(base: string, secure: boolean): string {
    return cookieName(base, secure);
  }

  read(header: string | undefined, name: string): string | undefined {
    return cookieOf(header, name);
  }

  /** The session id in a Cookie header; the session may be over. */
  sessionOf(header: string | undefined): string | undefined {
    return header?.includes(`${SESSION}=`) ? NAMED.exec(header)?.[1] : undefined;
  }

  serialize(name: string, value: string, secure: boolean): string {
    // Values are base64url, and checking them for characters to encode would take longer than the rest of a guest's
    // page.
    return serialize(name, value, { path: '/', httpOnly: true, sameSite: 'lax', secure, encode: String });
  }

  clear(res: Response, name: string, secure: boolean): void {
    res.append('Set-Cookie', serialize(name, '', { maxAge: 0, path: '/', httpOnly: true, sameSite: 'lax', secure }));
  }

  /** Removes a cookie that this response was going to set, so that no name is set twice. */
  unset(res: Response, name: string): void {
    const lines = res.getHeader('Set-Cookie');
    if (lines === undefined) return;
    const remaining = (Array.isArray(lines) ? lines : [String(lines)]).filter(
      (line) => parseSetCookie(line).name !== name,
    );
    if (remaining.length > 0) res.setHeader('Set-Cookie', remaining);
    else res.removeHeader('Set-Cookie');
  }
}
