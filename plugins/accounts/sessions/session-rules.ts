import type { Clock, Http, Request } from 'parley-forum';
import type { Account } from 'parley-forum/plugins/accounts';
import { digest } from '../identifiers.ts';
import { expiryOf, IDLE_TIMEOUT, type Login, type StoredSession } from './session-store.ts';

/** Milliseconds for which a confirmation with the password counts. */
const CONFIRMATION_LIFETIME = 900_000;

export interface SessionSettings {
  readonly 'security.bind_ip': boolean;
  readonly 'security.bind_fingerprint': boolean;
}

/**
 * Why a session is over, by its cause, in words for its user. Other causes, such as a logout elsewhere, need no notice.
 */
const LOGOUT_REASONS: Readonly<Record<string, string>> = {
  fingerprint: 'because your browser or its languages changed, for your safety',
  address: 'because your network address changed, for your safety',
  idle: 'because you were away for a while, for your safety',
  lifetime: 'because your login was old, for your safety',
  'permissions changed': 'because your password or group was changed or your sessions were ended, for your safety',
  'account disabled': 'because your account is not active',
};

/** The notice for the user of a session that ended; undefined where none is needed. */
export const logoutReason = (cause: string): string | undefined =>
  LOGOUT_REASONS[cause] && `You were logged out ${LOGOUT_REASONS[cause]}.`;

/** The login of the request's session; undefined for guests, and before the sessions' middleware has run. */
export const loginOf = (req: Request): Login | undefined =>
  (req.session as unknown as StoredSession | undefined)?.login;

/** What stays the same of a browser from request to request. */
export const fingerprintOf = (req: Request): string =>
  digest(`${req.headers['user-agent'] ?? ''}\n${req.headers['accept-language'] ?? ''}`);

/** The rules of a session. Each result is the cause of its end, in words that logs and the audit log show. */
export class SessionRules {
  readonly #clock: Clock;
  readonly #http: Http;
  readonly #settings: SessionSettings;

  constructor({
    clock,
    http,
    settings,
  }: {
    readonly clock: Clock;
    readonly http: Http;
    readonly settings: SessionSettings;
  }) {
    this.#clock = clock;
    this.#http = http;
    this.#settings = settings;
  }

  /** Why this request may not use the session; undefined if it may. */
  violation(login: Login, account: Account | undefined, req: Request): string | undefined {
    // First what the thief of a cookie breaks: they learn nothing of the account.
    if (this.#settings['security.bind_fingerprint'] && login.fingerprint !== fingerprintOf(req)) return 'fingerprint';
    if (this.#settings['security.bind_ip'] && login.address !== this.#http.ip(req)) return 'address';
    return this.endCause(login, account);
  }

  /** Why the session is over for any request; undefined while it is not. */
  endCause(login: Login, account: Account | undefined): string | undefined {
    const now = this.#clock.now();
    if (!account) return 'account gone';
    if (account.status !== 'active') return 'account disabled';
    // A session of a later version goes on beyond a change that whoever read the account has not heard of.
    if (account.permissionsVersion > login.version) return 'permissions changed';
    if (now >= expiryOf(login)) return 'lifetime';
    if (now >= this.endOf(login)) return 'idle';
    return undefined;
  }

  /** When the session ends where its member does nothing, in epoch milliseconds. */
  endOf(login: Login): number {
    const end = expiryOf(login);
    return login.remember ? end : Math.min(end, login.seenAt + IDLE_TIMEOUT * 1000);
  }

  /** Whether the member confirmed lately that it is them. */
  confirmed({ confirmedAt }: Login): boolean {
    return this.#clock.now() - confirmedAt < CONFIRMATION_LIFETIME;
  }

  confirmedUntil({ confirmedAt }: Login): Date {
    return new Date(confirmedAt + CONFIRMATION_LIFETIME);
  }
}
