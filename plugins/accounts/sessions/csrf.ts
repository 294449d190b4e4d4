import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Logger, Request, Response, Secrets } from 'parley-forum';
import type { Csrf } from 'parley-forum/plugins/accounts';
import { randomText } from 'parley-forum/plugins/api';
import type { Cookies } from './cookies.ts';
import { loginOf } from './session-rules.ts';

const COOKIE = 'parley.csrf';
/** Cookies for newcomers that are made at a time: one after the other they take a third of what each takes alone. */
const FRESH = 64;

interface Fresh {
  readonly cookie: string;
  readonly token: string;
}

/**
 * Tokens are signatures of the login's own secret for members, and digests of a signed random cookie for guests.
 * Nothing is stored.
 */
export class CsrfService implements Csrf {
  readonly #secrets: Secrets;
  readonly #cookies: Cookies;
  readonly #origin: string;
  readonly #log: Logger;
  readonly #fresh: Fresh[] = [];
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
    const coming = pendingCookie(res, name);
    const { token, setCookie } = this.guestToken(coming ?? req.headers.cookie, this.#cookies.secure(req));
    if (setCookie !== undefined) res.append('Set-Cookie', setCookie);
    return token;
  }

  valid(req: Request, given?: string): boolean {
    if (!this.#sameOrigin(req)) return false;
    const header = req.headers['x-csrf-token'];
    const token = typeof header === 'string' ? header : given;
    if (token === undefined || token === '') return false;
    const login = loginOf(req);
    if (login) return this.#secrets.verify('csrf-member', login.csrf, token);
    const cookie = this.#cookie(req.headers.cookie, this.#cookies.secure(req));
    return (
      cookie !== undefined &&
      timingSafeEqual(hash('sha256', token, 'buffer'), hash('sha256', tokenOf(cookie), 'buffer'))
    );
  }

  possible(req: Request): boolean {
    const { cookie } = req.headers;
    const name = this.#cookies.name(COOKIE, this.#cookies.secure(req));
    return (
      this.#sameOrigin(req) && (this.#cookies.hasSession(cookie) || this.#cookies.read(cookie, name) !== undefined)
    );
  }

  guestToken(
    cookieHeader: string | undefined,
    overHttps = false,
  ): { readonly token: string; readonly setCookie: string | undefined } {
    const secure = overHttps || this.#cookies.secureSite;
    const known = this.#cookie(cookieHeader, secure);
    if (known !== undefined) return { token: tokenOf(known), setCookie: undefined };
    if (this.#fresh.length === 0) for (let n = 0; n < FRESH; n++) this.#fresh.push(this.#make());
    const { token, cookie } = this.#fresh.pop()!;
    return { token, setCookie: this.#cookies.line(this.#cookies.name(COOKIE, secure), cookie, secure) };
  }

  #make(): Fresh {
    const random = randomText(32, 'base64url');
    const cookie = `${random}.${this.#secrets.sign('csrf-cookie', random)}`;
    return { cookie, token: tokenOf(cookie) };
  }

  /** At login and logout: whoever planted or read the guest's cookie before has nothing from it afterwards. */
  forgetGuest(req: Request, res: Response): void {
    const secure = this.#cookies.secure(req);
    const name = this.#cookies.name(COOKIE, secure);
    this.#cookies.withdraw(res, name);
    if (this.#cookies.read(req.headers.cookie, name) !== undefined) this.#cookies.clear(res, name, secure);
  }

  /** The guest's cookie, if we made it. */
  #cookie(header: string | undefined, secure: boolean): string | undefined {
    const value = this.#cookies.read(header, this.#cookies.name(COOKIE, secure));
    const dot = value?.indexOf('.') ?? -1;
    return value !== undefined &&
      dot > 0 &&
      this.#secrets.verify('csrf-cookie', value.slice(0, dot), value.slice(dot + 1))
      ? value
      : undefined;
  }

  /** The second line: what browsers say about where the request comes from. Clients that say nothing pass. */
  #sameOrigin(req: IncomingMessage): boolean {
    const { origin, host, 'sec-fetch-site': site } = req.headers;
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
    // A page that gives no referrer has no origin either; a browser that names the site has said enough.
    if (origin === undefined || (origin === 'null' && site !== undefined)) return true;
    return origin === this.#origin || (this.#isHere(origin, host) && isLocal(this.#origin));
  }

  /**
   * Whether it says that it comes from where it was sent to, as anybody can. On the own machine that is enough: no site
   * elsewhere has such a name.
   */
  #isHere(origin: string, host: string | undefined): boolean {
    if (!URL.canParse(origin) || new URL(origin).host !== host) return false;
    if (isLocal(origin)) return true;
    if (!this.#warned)
      this.#log.warn(
        { origin, site: this.#origin },
        'forms are refused that are not sent from the site’s own address; is BASE_URL right?',
      );
    this.#warned = true;
    return false;
  }
}

const isLocal = (origin: string): boolean =>
  /^(?:localhost|(?:.*\.)localhost|127(?:\.\d+){3}|\[::1\])$/.test(new URL(origin).hostname);

/** Whoever does not know the cookie cannot make its token, and the token does not give the cookie away. */
const tokenOf = (cookie: string): string => hash('sha256', cookie, 'base64url');

/** A guest cookie that this very answer already sets, in the form of a request's header. */
function pendingCookie(res: Response, name: string): string | undefined {
  const lines = res.getHeader('Set-Cookie');
  const line = (Array.isArray(lines) ? lines : []).find(
    (one) => one.startsWith(`${name}=`) && !one.startsWith(`${name}=;`),
  );
  return line?.split(';', 1)[0];
}
