import type { Clock, Http, Request } from 'parley-forum';
import type { Account } from 'parley-forum/plugins/accounts';
import { digest } from '../identifiers.ts';
import { expiryOf, IDLE_TIMEOUT, type Login, type StoredSession } from './session-store.ts';

/** Milliseconds for which a confirmation of identity is valid. */
const CONFIRMATION_LIFETIME = 900_000;

export interface SessionSettings {
  readonly 'security.bind_ip': boolean;
  readonly 'security.bind_fingerprint': boolean;
}

/**
 * Explanations for the user of why a session ended, by cause. Other causes, such as a logout elsewhere, need no notice.
 */
const LOGOUT_REASONS: Readonly<Record<string, string>> = {
  fingerprint: 'because your browser or its languages changed, for your safety',
  address: 'because your network address changed, for your safety',
  idle: 'because you were away for a while, for your safety',
  lifetime: 'because your login was old, for your safety',
  'permissions changed': 'because your password or group was changed or your sessions were ended, for your safety',
  'account disabled': 'because your account is not active',
};

/** The notice for the user whose session ended; undefined if none is needed. */
export const logoutReason = (cause: string): string | undefined =>
  LOGOUT_REASONS[cause] && `You were logged out ${LOGOUT_REASONS[cause]}.`;

/** The login of the request's session; undefined for guests, and before the session middleware has run. */
export const loginOf = (req: Request): Login | undefined =>
  (req.session as unknown as StoredSession | undefined)?.login;

/** Identifies a browser by headers that stay the same between requests. */
export const fingerprintOf = (req: Request): string =>
  digest(`${req.headers['user-agent'] ?? ''}\n${req.headers['accept-language'] ?? ''}`);

/** The rules for sessions. Results are the cause of their end, as shown in the log and the audit log. */
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
    // Checked first because a stolen cookie usually violates these: the thief then learns nothing about the account.
    if (this.#settings['security.bind_fingerprint'] && login.fingerprint !== fingerprintOf(req)) return 'fingerprint';
    if (this.#settings['security.bind_ip'] && login.address !== this.#http.ip(req)) return 'address';
    return this.endCause(login, account);
  }

  /** Why the session is over for any request; undefined if it is not. */
  endCause(login: Login, account: Account | undefined): string | undefined {
    const now = this.#clock.now();
    if (!account) return 'account gone';
    if (account.status !== 'active') return 'account disabled';
    // A session with a newer version remains valid: the account may have been read before that change.
    if (account.permissionsVersion > login.version) return 'permissions changed';
    if (now >= expiryOf(login)) return 'lifetime';
    if (now >= this.endOf(login)) return 'idle';
    return undefined;
  }

  /** When the session ends without further activity, in epoch milliseconds. */
  endOf(login: Login): number {
    const end = expiryOf(login);
    return login.remember ? end : Math.min(end, login.seenAt + IDLE_TIMEOUT * 1000);
  }

  /** Whether the member has recently confirmed their identity. */
  confirmed({ confirmedAt }: Login): boolean {
    return this.#clock.now() - confirmedAt < CONFIRMATION_LIFETIME;
  }

  confirmedUntil({ confirmedAt }: Login): Date {
    return new Date(confirmedAt + CONFIRMATION_LIFETIME);
  }
}
