import { createHash } from 'node:crypto';
import session from 'express-session';
import { HttpError, type Clock, type Http, type Logger, type Request, type RequestHandler, type Response, type Secrets } from '#core';
import type { Access, Viewer } from '#plugins/access';
import type { Account, Sessions } from '#plugins/accounts';
import type { Cookies } from './cookies.ts';
import { digest, randomToken } from './identifier.ts';
import type { AccountsService } from './service.ts';
import { endOf, IDLE_TIMEOUT, type Login, type SessionStore, type Stored } from './session-store.ts';

const COOKIE = 'parley.sid';
/** Seconds after which a session gets a new id. */
const REGENERATE_INTERVAL = 1_800;
/** Milliseconds in which requests that were under way may still come with the id that was replaced. */
const GRACE = 60_000;
/** Milliseconds between two notes of when a member was last here. */
const NOTE = 60_000;

export interface SessionSettings {
  readonly 'security.bind_ip': boolean;
}

export interface SessionsOptions {
  readonly store: SessionStore;
  readonly accounts: AccountsService;
  readonly access: Access;
  readonly clock: Clock;
  readonly http: Http;
  readonly cookies: Cookies;
  readonly secrets: Secrets;
  readonly settings: SessionSettings;
  readonly log: Logger;
}

/** The login of the request's session; undefined for guests, and before the middleware has run. */
export const loginOf = (req: Request): Login | undefined => (req.session as unknown as Stored | undefined)?.login;

const fingerprintOf = (req: Request): string =>
  createHash('sha256').update(`${req.headers['user-agent'] ?? ''}\n${req.headers['accept-language'] ?? ''}`).digest('hex');

/** What is stored of a session now. */
const storedLogin = (store: SessionStore, id: string): Promise<Login | undefined> => new Promise((resolve, reject) => {
  void store.get(id, (error: unknown, session?: Stored | null) => (error ? reject(error as Error) : resolve(session?.login)));
});

/** Puts a fresh, empty session with a new id on the request. */
const generate = (store: SessionStore, req: Request): void => (store as unknown as { generate(req: Request): void }).generate(req);

export class SessionsService implements Sessions {
  readonly #options: SessionsOptions;
  readonly #run: Readonly<Record<'plain' | 'secure', RequestHandler>>;
  readonly #ended = new WeakSet<Request>();
  /** Ids that were replaced lately, and when. */
  readonly #renewed = new Map<string, number>();

  constructor(options: SessionsOptions) {
    this.#options = options;
    const { secrets, store, cookies } = options;
    const common = {
      store, secret: secrets.sign('session-cookie', 'v1'), genid: randomToken, resave: false, saveUninitialized: false,
      cookie: (req: Request) => ({ path: '/', httpOnly: true, sameSite: 'lax' as const, secure: cookies.secure(req) }),
    };
    this.#run = { plain: session({ ...common, name: cookies.name(COOKIE, false) }), secure: session({ ...common, name: cookies.name(COOKIE, true) }) };
  }

  readonly middleware: RequestHandler = (req, res, next) => {
    if (!this.hasCookie(req.headers.cookie)) return next();
    const secure = this.#options.cookies.secure(req);
    // express-session asks this property whether it may send a Secure cookie; behind a proxy Express itself does not know.
    if (secure) Object.defineProperty(req, 'secure', { value: true, configurable: true });
    return this.#run[secure ? 'secure' : 'plain'](req, res, (error?: unknown) => {
      if (!error) return next();
      this.#options.log.error({ error }, 'sessions cannot be read');
      next(new HttpError(503, 'Sessions cannot be read at the moment; try again soon', { headers: { 'Retry-After': '5' } }));
    });
  };

  hasCookie(header: string | undefined): boolean {
    return header !== undefined && header.includes(`${COOKIE}=`);
  }

  ended(req: Request): boolean {
    return this.#ended.has(req);
  }

  async identify(req: Request, res: Response, { idle = false }: { readonly idle?: boolean } = {}): Promise<Viewer> {
    const { access, accounts, cookies, store, log } = this.#options;
    await access.refresh();
    const login = loginOf(req);
    if (!login) {
      if (this.hasCookie(req.headers.cookie)) this.#clear(req, res);
      return access.guest;
    }
    const account = await accounts.find(login.account);
    const reason = this.#broken(login, account, req) ?? (await this.#replaced(login));
    if (account && reason === undefined) {
      if (!idle) await this.#continue(req, login);
      return this.#viewer(account);
    }
    log.info({ account: login.account, reason }, 'a session was ended');
    const id = req.sessionID;
    Reflect.deleteProperty(req, 'session');
    this.#ended.add(req);
    cookies.clear(res, cookies.name(COOKIE, cookies.secure(req)), cookies.secure(req));
    await store.remove(id);
    return access.guest;
  }

  async again(req: Request): Promise<Viewer | undefined> {
    const { access, accounts, store } = this.#options;
    await access.refresh();
    if (!loginOf(req)) return access.guest;
    const login = await storedLogin(store, req.sessionID);
    const account = login && (await accounts.find(login.account));
    if (!account || (this.#broken(login, account, req) ?? (await this.#replaced(login))) !== undefined) return undefined;
    return this.#viewer(account);
  }

  async bearer(token: string): Promise<Viewer | undefined> {
    await this.#options.access.refresh();
    const account = await this.#options.accounts.ofToken(token);
    return account?.status === 'active' ? this.#viewer(account) : undefined;
  }

  /** Logs in: always under a new session id. Resolves when the session can be used. */
  async start(req: Request, res: Response, account: Account, { remember }: { remember: boolean }): Promise<Viewer> {
    const { clock, cookies, http, store } = this.#options;
    const before = loginOf(req) ? req.sessionID : undefined;
    // A session that `identify` ended has left express-session at work on this answer; otherwise it is called now.
    if (before !== undefined || this.#ended.has(req)) generate(store, req);
    else if (!req.session) await this.#open(req, res);
    if (before !== undefined) await store.remove(before);
    const now = clock.now();
    const login: Login = {
      account: account.id, version: account.permissionsVersion, fingerprint: fingerprintOf(req), address: http.addressOf(req), remember,
      csrf: randomToken(), startedAt: now, issuedAt: now, seenAt: now,
    };
    await this.#keep(req, login);
    cookies.withdraw(res, cookies.name(COOKIE, cookies.secure(req)));
    return this.#viewer(account);
  }

  /** Logs out; harmless for guests. */
  async stop(req: Request, res: Response): Promise<void> {
    if (!req.session) return;
    const id = req.sessionID;
    Reflect.deleteProperty(req, 'session');
    this.#clear(req, res);
    await this.#options.store.remove(id);
  }

  /** Keeps this session after its own member changed what ends all others. */
  async renew(req: Request, account: Account): Promise<void> {
    const { store } = this.#options;
    const login = loginOf(req);
    if (!login) return;
    const old = req.sessionID;
    generate(store, req);
    await store.remove(old);
    await this.#keep(req, { ...login, version: account.permissionsVersion, issuedAt: this.#options.clock.now() });
  }

  #broken(login: Login, account: Account | undefined, req: Request): string | undefined {
    const { clock, http, settings } = this.#options;
    const now = clock.now();
    if (!account) return 'account gone';
    if (account.status !== 'active') return 'account disabled';
    if (account.permissionsVersion !== login.version) return 'permissions changed';
    if (now >= endOf(login)) return 'lifetime';
    if (!login.remember && now - login.seenAt >= IDLE_TIMEOUT * 1000) return 'idle';
    if (login.fingerprint !== fingerprintOf(req)) return 'fingerprint';
    if (settings['security.bind_ip'] && login.address !== http.addressOf(req)) return 'address';
    return undefined;
  }

  /** A replaced id is good for a moment only, and only while the session that took over lives. */
  async #replaced({ successor, retiredAt = 0 }: Login): Promise<string | undefined> {
    if (successor === undefined) return undefined;
    if (this.#options.clock.now() - retiredAt >= GRACE) return 'replaced';
    return (await this.#options.store.has(successor)) ? undefined : 'logged out';
  }

  async #continue(req: Request, login: Login): Promise<void> {
    const { clock, accounts } = this.#options;
    const now = clock.now();
    if (login.successor !== undefined) return;
    if (now - login.issuedAt >= REGENERATE_INTERVAL * 1000) return this.#regenerate(req, login);
    if (now - login.seenAt < NOTE) return;
    login.seenAt = now;
    if (login.remember) req.session.cookie.maxAge = endOf(login) - now;
    await accounts.seen(login.account);
  }

  /** Requests that come together all bring the old id: the first of them renews it, the others use it as it is. */
  async #regenerate(req: Request, login: Login): Promise<void> {
    const { store, clock } = this.#options;
    const old = req.sessionID;
    const now = clock.now();
    for (const [id, time] of this.#renewed) if (now - time >= GRACE) this.#renewed.delete(id);
    if (this.#renewed.has(old)) return;
    this.#renewed.set(old, now);
    const before = JSON.parse(JSON.stringify(req.session)) as Stored;
    generate(store, req);
    await this.#keep(req, { ...login, issuedAt: now, seenAt: now });
    await store.write(old, { ...before, login: { ...login, successor: digest(req.sessionID), retiredAt: now } });
  }

  /** Saved now, not when the answer ends: the next request may come before that. */
  async #keep(req: Request, login: Login): Promise<void> {
    const { store, clock } = this.#options;
    Object.assign(req.session, { login });
    if (login.remember) req.session.cookie.maxAge = endOf(login) - clock.now();
    store.admit(req.sessionID);
    await store.write(req.sessionID, req.session as unknown as Stored);
  }

  /** express-session for a request that came without a cookie: gives it a session to fill. */
  #open(req: Request, res: Response): Promise<void> {
    const secure = this.#options.cookies.secure(req);
    if (secure) Object.defineProperty(req, 'secure', { value: true, configurable: true });
    return new Promise((resolve, reject) => {
      void this.#run[secure ? 'secure' : 'plain'](req, res, (error?: unknown) => (error ? reject(error as Error) : resolve()));
    });
  }

  #clear(req: Request, res: Response): void {
    const { cookies } = this.#options;
    const secure = cookies.secure(req);
    cookies.clear(res, cookies.name(COOKIE, secure), secure);
  }

  #viewer({ id, username, groupId }: Account): Viewer {
    const { access } = this.#options;
    return { id, username, group: access.group(groupId) ?? access.groupOf('guest') };
  }
}
