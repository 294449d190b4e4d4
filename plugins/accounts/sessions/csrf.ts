import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { parseSetCookie, stringifyCookie } from 'cookie';
import type { Logger, Request, Response, Secrets } from 'parley-forum';
import type { Csrf } from 'parley-forum/plugins/accounts';
import { randomText } from 'parley-forum/plugins/api';
import type { Cookies } from './cookies.ts';
import { loginOf } from './session-rules.ts';

const COOKIE = 'parley.csrf';
/** Number of guest tokens generated at once, which takes a third of the time per token. */
const GUEST_TOKEN_BATCH = 64;

interface GuestToken {
  readonly cookie: string;
  readonly token: string;
}

/**
 * Members' tokens are signatures of a secret of the login; guests' tokens are digests of a signed random cookie.
 * Nothing is stored.
 */
export class CsrfService implements Csrf {
  readonly #secrets: Secrets;
  readonly #cookies: Cookies;
  readonly #origin: string;
  readonly #log: Logger;
  readonly #guestTokens: GuestToken[] = [];
  #warned = false;

  constructor({
    secrets,
    cookies,
    baseUrl,
    log,
  }: {
    secrets: Secrets;
    cookies: Cookies;
    baseUrl: string;
    log: Logger;
  }) {
    this.#log = log;
    this.#secrets = secrets;
    this.#cookies = cookies;
    this.#origin = new URL(baseUrl).origin;
  }

  token(req: Request, res: Response): string {
    const login = loginOf(req);
    if (login) return this.#secrets.sign('csrf-member', login.csrf);
    const name = this.#cookies.name(COOKIE, this.#cookies.secure(req));
    const pending = pendingCookie(res, name);
    const { token, setCookie } = this.guestToken(pending ?? req.headers.cookie, this.#cookies.secure(req));
    if (setCookie !== undefined) res.append('Set-Cookie', setCookie);
    return token;
  }

  verify(req: Request, submitted?: string): boolean {
    if (!this.#sameOrigin(req)) return false;
    const header = req.headers['x-csrf-token'];
    const token = typeof header === 'string' ? header : submitted;
    if (token === undefined || token === '') return false;
    const login = loginOf(req);
    if (login) return this.#secrets.verify('csrf-member', login.csrf, token);
    const cookie = this.#cookie(req.headers.cookie, this.#cookies.secure(req));
    return (
      cookie !== undefined &&
      timingSafeEqual(hash('sha256', token, 'buffer'), hash('sha256', tokenOf(cookie), 'buffer'))
    );
  }

  verifiable(req: Request): boolean {
    const { cookie } = req.headers;
    const name = this.#cookies.name(COOKIE, this.#cookies.secure(req));
    return (
      this.#sameOrigin(req) &&
      (this.#cookies.sessionOf(cookie) !== undefined || this.#cookies.read(cookie, name) !== undefined)
    );
  }

  guestToken(
    cookieHeader: string | undefined,
    overHttps = false,
  ): { readonly token: string; readonly setCookie: string | undefined } {
    const secure = overHttps || this.#cookies.secureSite;
    const known = this.#cookie(cookieHeader, secure);
    if (known !== undefined) return { token: tokenOf(known), setCookie: undefined };
    if (this.#guestTokens.length === 0)
      for (let n = 0; n < GUEST_TOKEN_BATCH; n++) this.#guestTokens.push(this.#make());
    const { token, cookie } = this.#guestTokens.pop()!;
    return { token, setCookie: this.#cookies.serialize(this.#cookies.name(COOKIE, secure), cookie, secure) };
  }

  #make(): GuestToken {
    const random = randomText(32, 'base64url');
    const cookie = `${random}.${this.#secrets.sign('csrf-cookie', random)}`;
    return { cookie, token: tokenOf(cookie) };
  }

  /** Called at login and logout, so that a guest cookie that an attacker planted or read earlier becomes worthless. */
  clearGuestToken(req: Request, res: Response): void {
    const secure = this.#cookies.secure(req);
    const name = this.#cookies.name(COOKIE, secure);
    this.#cookies.unset(res, name);
    if (this.#cookies.read(req.headers.cookie, name) !== undefined) this.#cookies.clear(res, name, secure);
  }

  /** The guest's cookie, if it was issued by this forum. */
  #cookie(header: string | undefined, secure: boolean): string | undefined {
    const value = this.#cookies.read(header, this.#cookies.name(COOKIE, secure));
    const dot = value?.indexOf('.') ?? -1;
    return value !== undefined &&
      dot > 0 &&
      this.#secrets.verify('csrf-cookie', value.slice(0, dot), value.slice(dot + 1))
      ? value
      : undefined;
  }

  /** The second line of defence: `Sec-Fetch-Site` and `Origin`. Clients that send neither header pass. */
  #sameOrigin(req: IncomingMessage): boolean {
    const { origin, host, 'sec-fetch-site': site } = req.headers;
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
    // A page without a referrer sends no usable origin; if the browser sent `Sec-Fetch-Site`, that is sufficient.
    if (origin === undefined || (origin === 'null' && site !== undefined)) return true;
    return origin === this.#origin || (this.#isOwnHost(origin, host) && isLocal(this.#origin));
  }

  /**
   * Whether `Origin` is the host that the request was sent to, which any client can claim. That is sufficient on
   * localhost, because no remote site has that name.
   */
  #isOwnHost(origin: string, host: string | undefined): boolean {
    if (!URL.canParse(origin) || new URL(origin).host !== host) return false;
    if (isLocal(origin)) return true;
    if (!this.#warned)
      this.#log.warn(
        { origin, site: this.#origin },
        'forms that are not sent from the site’s own address are rejected; is BASE_URL correct?',
      );
    this.#warned = true;
    return false;
  }
}

const isLocal = (origin: string): boolean =>
  /^(?:localhost|(?:.*\.)localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(origin).hostname);

/** Only the holder of the cookie can compute its token, and the token does not reveal the cookie. */
const tokenOf = (cookie: string): string => hash('sha256', cookie, 'base64url');

/** A guest cookie that the current response already sets, in the format of a request header. */
function pendingCookie(res: Response, name: string): string | undefined {
  const lines = res.getHeader('Set-Cookie');
  const pending = (Array.isArray(lines) ? lines : [])
    .map((line) => parseSetCookie(line))
    .find((one) => one.name === name && one.value);
  return pending && stringifyCookie({ [name]: pending.value });
}
