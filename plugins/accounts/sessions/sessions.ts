import session from 'express-session';
import { LRUCache } from 'lru-cache';
import {
  HttpError,
  runMiddleware,
  type Clock,
  type Extension,
  type Http,
  type Logger,
  type PluginHandle,
  type Request,
  type RequestHandler,
  type Response,
  type Secrets,
} from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import {
  sessionEnded,
  type Account,
  type BrowserListener,
  type BrowserSession,
  type DeviceText,
  type LoginRequest,
  type LogoutNotice,
  type Sessions,
} from 'parley-forum/plugins/accounts';
import { SESSION, type Cookies } from './cookies.ts';
import { deviceOf, deviceText } from './device.ts';
import { digest, randomToken } from '../identifiers.ts';
import { publicId, type AccountSessions } from './account-sessions.ts';
import type { AccountsService } from '../accounts/service.ts';
import { logoutReason, fingerprintOf, loginOf, type SessionRules } from './session-rules.ts';
import { expiryOf, type Login, type SessionStore, type StoredSession } from './session-store.ts';
import type { ApiTokens } from '../api-tokens.ts';

/** Seconds after which a session gets a new id. */
const REGENERATE_INTERVAL = 1_800;
/** Milliseconds for which requests already in progress may still use the replaced id. */
const GRACE = 60_000;
/** Milliseconds between updates of the time a member was last here. */
const SEEN_INTERVAL = 60_000;
/**
 * Maximum number of ended sessions to remember, and for how many milliseconds; not longer, because a store may have
 * lost them only temporarily.
 */
const MAX_OVER = 10_000;
const OVER_TTL = 60_000;
/** Maximum length of a session cookie; a longer one was not issued by this forum. */
const MAX_COOKIE_LENGTH = 200;

export interface SessionsDeps {
  readonly store: SessionStore;
  readonly accountSessions: AccountSessions;
  readonly rules: SessionRules;
  readonly accounts: AccountsService;
  readonly tokens: ApiTokens;
  readonly access: Access;
  readonly clock: Clock;
  readonly http: Http;
  readonly cookies: Cookies;
  readonly secrets: Secrets;
  readonly emit: PluginHandle['emit'];
  readonly log: Logger;
  logoutNotices(): readonly LogoutNotice[];
  browserListeners(): readonly Extension<BrowserListener>[];
  readonly attempt: PluginHandle['attempt'];
}

/** The current login of a stored session. */
const storedLogin = (store: SessionStore, id: string): Promise<Login | undefined> =>
  new Promise((resolve, reject) => {
    void store.get(id, (error: unknown, session?: StoredSession | null) =>
      error ? reject(error) : resolve(session?.login),
    );
  });

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);
const unconfirmed = (req: Request): boolean =>
  (req.session as unknown as StoredSession | undefined)?.unconfirmed === true;

/** Puts a fresh, empty session with a new id on the request. */
const generate = (store: SessionStore, req: Request): void =>
  (store as unknown as { generate(req: Request): void }).generate(req);

/** Determines who makes a request, by the session in its cookie. */
export class SessionsService implements Omit<
  Sessions,
  'pendingLogin' | 'completeStep' | 'beginLogin' | 'asksForCode' | 'checkCode' | 'confirmIdentity'
> {
  readonly #deps: SessionsDeps;
  readonly #expressSession: Readonly<Record<'plain' | 'secure', RequestHandler>>;
  readonly #ended = new WeakSet<Request>();
  readonly #accounts = new WeakMap<Pick<Request, 'headers'>, Account>();
  /** Cookies of sessions that are over. Ids are never reused, so these requests are guests. */
  readonly #over = new LRUCache<string, true>({ max: MAX_OVER, ttl: OVER_TTL });
  /** When ids were recently replaced, by id. */
  readonly #renewed = new Map<string, number>();

  constructor(options: SessionsDeps) {
    this.#deps = options;
    const { secrets, store, cookies } = options;
    const common = {
      store,
      secret: secrets.sign('session-cookie', 'v1'),
      genid: randomToken,
      resave: false,
      saveUninitialized: false,
      cookie: (req: Request) => ({ path: '/', httpOnly: true, sameSite: 'lax' as const, secure: cookies.secure(req) }),
    };
    this.#expressSession = {
      plain: session({ ...common, name: cookies.name(SESSION, false) }),
      secure: session({ ...common, name: cookies.name(SESSION, true) }),
    };
  }

  readonly middleware: RequestHandler = (req, res, next) => {
    if (!this.hasCookie(req.headers.cookie)) return next();
    const secure = this.#deps.cookies.secure(req);
    // express-session reads this property to decide whether to send a Secure cookie; behind a proxy, Express itself
    // does not know.
    if (secure) Object.defineProperty(req, 'secure', { value: true, configurable: true });
    return this.#expressSession[secure ? 'secure' : 'plain'](req, res, (error?: unknown) => {
      if (!error && (SAFE_METHODS.has(req.method) || !unconfirmed(req))) return next();
      if (error) this.#deps.log.error({ error }, 'sessions cannot be read');
      next(
        new HttpError(503, 'Sessions cannot be read right now; try again soon', {
          headers: { 'Retry-After': '5' },
        }),
      );
    });
  };

  hasCookie(header: string | undefined): boolean {
    const named = this.#deps.cookies.sessionOf(header);
    return named !== undefined && !this.#over.has(named);
  }

  ended(req: Request): boolean {
    return this.#ended.has(req);
  }

  accountOf(req: Pick<Request, 'headers'>): Account | undefined {
    return this.#accounts.get(req);
  }

  sessionOf(req: Request): BrowserSession | undefined {
    const login = loginOf(req);
    return login && { id: publicId(login), device: login.device };
  }

  deviceText(device: string | undefined): DeviceText {
    return deviceText(device);
  }

  confirmed(req: Request): boolean {
    const login = loginOf(req);
    return login !== undefined && this.#deps.rules.confirmed(login);
  }

  confirmedUntil(req: Request): Date | undefined {
    const login = loginOf(req);
    return login && this.#deps.rules.confirmed(login) ? this.#deps.rules.confirmedUntil(login) : undefined;
  }

  async authenticate(req: Request, res: Response, { idle = false }: { readonly idle?: boolean } = {}): Promise<Viewer> {
    const { access, accounts, rules } = this.#deps;
    await access.refresh();
    const login = loginOf(req);
    if (!login) {
      const named = this.#deps.cookies.sessionOf(req.headers.cookie);
      if (named !== undefined) {
        // Only if the session was looked up.
        if (req.session && named.length <= MAX_COOKIE_LENGTH) this.#over.set(named, true);
        this.#clear(req, res);
      }
      return access.guest;
    }
    const account = await accounts.find(login.account);
    const reason = rules.violation(login, account, req) ?? (await this.#replacedCause(login));
    if (!account || reason !== undefined) return this.#end(req, res, login, reason ?? 'account gone');
    if (!idle && !(await this.#touch(req, login))) return this.#end(req, res, login, 'logged out');
    this.#accounts.set(req, account);
    return accounts.viewerOf(account);
  }

  async reauthenticate(req: Request): Promise<Viewer | undefined> {
    const { access, accounts, rules, store } = this.#deps;
    await access.refresh();
    const begun = loginOf(req);
    if (!begun) return access.guest;
    const account = await accounts.find(begun.account);
    if (!account) return undefined;
    const good = async (login: Login | undefined): Promise<boolean> =>
      login !== undefined && (rules.violation(login, account, req) ?? (await this.#replacedCause(login))) === undefined;
    if (await good(await storedLogin(store, req.sessionID))) return accounts.viewerOf(account);
    // The session may continue under another id. Read after the account, so that the continuing session is found
    // whichever version the account has.
    for (const { login } of await store.byAccount(account.id))
      if (login.csrf === begun.csrf && (await good(login))) return accounts.viewerOf(account);
    return undefined;
  }

  async authenticateBearer(token: string): Promise<Viewer | undefined> {
    await this.#deps.access.refresh();
    const account = await this.#deps.tokens.authenticate(token);
    return account?.status === 'active' ? this.#deps.accounts.viewerOf(account) : undefined;
  }

  /** Logs in, always under a new session id. Resolves when the session can be used. */
  async logIn(
    req: Request,
    res: Response,
    account: Account,
    { remember, identifiedAt }: Omit<LoginRequest, 'returnTo'>,
  ): Promise<Viewer> {
    const { clock, cookies, http, accountSessions, store } = this.#deps;
    const before = loginOf(req) ? req.sessionID : undefined;
    // If `authenticate` ended a session, express-session has already been set up for this response; otherwise it is
    // called now.
    if (before !== undefined || this.#ended.has(req)) generate(store, req);
    else if (!req.session) await this.#open(req, res);
    if (before !== undefined) await store.remove(before);
    const now = clock.now();
    await this.#save(req, {
      account: account.id,
      version: account.permissionsVersion,
      fingerprint: fingerprintOf(req),
      address: http.ip(req),
      device: deviceOf(req.headers['user-agent']),
      remember,
      csrf: randomToken(),
      startedAt: now,
      confirmedAt: Math.min(now, identifiedAt?.getTime() ?? now),
      issuedAt: now,
      seenAt: now,
    });
    await accountSessions.keepNewest(account.id);
    cookies.unset(res, cookies.name(SESSION, cookies.secure(req)));
    return this.#deps.accounts.viewerOf(account);
  }

  /** Logs out; does nothing for guests. */
  async logOut(req: Request, res: Response): Promise<void> {
    const login = loginOf(req);
    if (!req.session) return;
    const id = req.sessionID;
    Reflect.deleteProperty(req, 'session');
    this.#clear(req, res);
    await this.#deps.store.remove(id);
    if (login) await this.#deps.accountSessions.end(login.account, ({ csrf }) => csrf === login.csrf);
  }

  /** Calls the `browserListeners`; never rejects. */
  protected async notifyBrowserListeners(call: (listener: BrowserListener) => Promise<void>): Promise<void> {
    for (const { plugin, value } of this.#deps.browserListeners())
      await this.#deps.attempt(plugin, 'listener of logins and logouts', () => call(value));
  }

  /**
   * Records that the member confirmed their identity or (`confirmed: false`) revokes that. The session continues under
   * a new id, and the old one becomes invalid.
   */
  async confirm(req: Request, confirmed = true): Promise<void> {
    const login = loginOf(req);
    if (!login) return;
    const { accountSessions, clock, store } = this.#deps;
    const { sessionID: old, session: before } = req;
    const key = await this.#reissue(req, { ...login, confirmedAt: confirmed ? clock.now() : 0 });
    // The session was ended meanwhile, or a concurrent request did the same; its result is kept.
    if (!(await store.remove(old))) return this.#takeBack(req, { sessionID: old, session: before });
    await accountSessions.end(login.account, ({ csrf }, other) => csrf === login.csrf && other !== key);
  }

  /**
   * Ends every session of the member except that of the request, which continues under a new id. `end` ends them, and
   * resolves to the new `permissionsVersion`.
   */
  async endOthers(req: Request, end: () => Promise<number>): Promise<void> {
    const login = loginOf(req);
    if (!login) return void (await end());
    const { accountSessions, store } = this.#deps;
    const { sessionID: old, session: before } = req;
    // Store the new session before the old one becomes invalid, so that one of them is valid at any moment, even for
    // concurrent requests.
    const expected = login.version + 1;
    const key = await this.#reissue(req, { ...login, version: expected });
    let version: number;
    try {
      version = await end();
    } catch (error) {
      await this.#takeBack(req, { sessionID: old, session: before });
      throw error;
    }
    // Another change was committed first. Sessions that it ended stay ended.
    if (version !== expected) {
      Object.assign(req.session, { login: { ...loginOf(req)!, version } });
      await store.write(req.sessionID, req.session);
    }
    // Of two concurrent calls, the session of the later one remains.
    await accountSessions.end(login.account, (other, its) => its !== key && other.version < version);
  }

  /** The request continues as a guest's. */
  async #end(req: Request, res: Response, login: Login, cause: string): Promise<Viewer> {
    const { access, emit, http, log, logoutNotices, store } = this.#deps;
    log.info({ account: login.account, reason: cause }, 'a session was ended');
    const id = req.sessionID;
    Reflect.deleteProperty(req, 'session');
    this.#ended.add(req);
    this.#clear(req, res);
    // If many requests find it invalid at the same time, only one of them reports it.
    if (await store.remove(id)) {
      const reason = logoutReason(cause);
      if (reason !== undefined) for (const notify of logoutNotices()) notify(req, res, reason);
      await emit(sessionEnded, { id: login.account, cause, address: http.ip(req) });
    }
    return access.guest;
  }

  /** A replaced id is only valid for a short time, and only while the session that replaced it exists. */
  async #replacedCause({ successor, retiredAt = 0 }: Login): Promise<string | undefined> {
    if (successor === undefined) return undefined;
    if (this.#deps.clock.now() - retiredAt >= GRACE) return 'replaced';
    return (await this.#deps.store.has(successor)) ? undefined : 'logged out';
  }

  /** False if the session was ended meanwhile. */
  async #touch(req: Request, login: Login): Promise<boolean> {
    const { clock, accounts } = this.#deps;
    const now = clock.now();
    if (login.successor !== undefined || unconfirmed(req)) return true;
    if (now - login.issuedAt >= REGENERATE_INTERVAL * 1000) return this.#regenerate(req, login);
    if (now - login.seenAt < SEEN_INTERVAL) return true;
    login.seenAt = now;
    if (login.remember) req.session.cookie.maxAge = expiryOf(login) - now;
    await accounts.recordSeen(login.account);
    return true;
  }

  /** Concurrent requests all send the old id: the first one renews it, the others use it as it is. */
  async #regenerate(req: Request, login: Login): Promise<boolean> {
    const { store, clock } = this.#deps;
    const { sessionID: old, session } = req;
    const now = clock.now();
    for (const [id, time] of this.#renewed) if (now - time >= GRACE) this.#renewed.delete(id);
    if (this.#renewed.has(old)) return true;
    this.#renewed.set(old, now);
    const before = JSON.parse(JSON.stringify(session)) as StoredSession;
    generate(store, req);
    await this.#save(req, { ...login, issuedAt: now, seenAt: now });
    if (await store.write(old, { ...before, login: { ...login, successor: digest(req.sessionID), retiredAt: now } }))
      return true;
    // The session was ended or renewed elsewhere meanwhile. The replacement must not survive, and this request uses the
    // old id if it is still valid.
    await this.#takeBack(req, { sessionID: old, session });
    return (await storedLogin(store, old)) !== undefined;
  }

  /** Saved now instead of at the end of the response, because the next request may arrive before that. */
  async #save(req: Request, login: Login): Promise<void> {
    const { store, clock } = this.#deps;
    Object.assign(req.session, { login });
    if (login.remember) req.session.cookie.maxAge = expiryOf(login) - clock.now();
    await store.create(req.sessionID, req.session);
  }

  /**
   * Gives the request's session a new id, with `login` but without the properties of a replaced one. Resolves to its
   * key.
   */
  async #reissue(req: Request, login: Login): Promise<string> {
    generate(this.#deps.store, req);
    await this.#save(req, { ...login, issuedAt: this.#deps.clock.now(), successor: undefined, retiredAt: undefined });
    return digest(req.sessionID);
  }

  /** Removes the replacement, and restores the session that the request came with. */
  async #takeBack(req: Request, came: Pick<Request, 'sessionID' | 'session'>): Promise<void> {
    await this.#deps.store.remove(req.sessionID);
    Object.assign(req, came);
  }

  /** Calls express-session for a request without a cookie, to create a session. */
  #open(req: Request, res: Response): Promise<void> {
    const secure = this.#deps.cookies.secure(req);
    if (secure) Object.defineProperty(req, 'secure', { value: true, configurable: true });
    return runMiddleware(this.#expressSession[secure ? 'secure' : 'plain'], req, res);
  }

  #clear(req: Request, res: Response): void {
    const { cookies } = this.#deps;
    const secure = cookies.secure(req);
    cookies.clear(res, cookies.name(SESSION, secure), secure);
  }
}
