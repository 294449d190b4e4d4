import type { Clock, Http, Request } from 'parley-forum';
import type { Account } from 'parley-forum/plugins/accounts';
import { digest } from '../identifiers.ts';
import { endOf, IDLE_TIMEOUT, type Login, type Stored } from './session-store.ts';

/** Milliseconds for which a password that was given counts. */
const CONFIRMED = 900_000;

export interface SessionSettings {
  readonly 'security.bind_ip': boolean;
  readonly 'security.bind_fingerprint': boolean;
}

/**
 * Why a session is over, by its cause, in words for whoever used it. Other causes, such as a logout elsewhere, go
 * without a word.
 */
const WHY: Readonly<Record<string, string>> = {
  fingerprint: 'because your browser or its languages changed, for your safety',
  address: 'because your network address changed, for your safety',
  idle: 'because you were away for a while, for your safety',
  lifetime: 'because your login was old, for your safety',
  'permissions changed': 'because your password or group was changed or your sessions were ended, for your safety',
  'account disabled': 'because your account is not active',
};

/** The sentence for whoever's session ended; undefined where nothing need be said. */
export const farewellOf = (cause: string): string | undefined => WHY[cause] && `You were logged out ${WHY[cause]}.`;

/** The login of the request's session; undefined for guests, and before the sessions' middleware has run. */
export const loginOf = (req: Request): Login | undefined => (req.session as unknown as Stored | undefined)?.login;

/** What stays the same of a browser from request to request. */
export const fingerprintOf = (req: Request): string =>
  digest(`${req.headers['user-agent'] ?? ''}\n${req.headers['accept-language'] ?? ''}`);

/** What a session must keep to. Each answer is the cause of its end, in words that logs and the audit show. */
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

  /** Whether this request may use the session. */
  broken(login: Login, account: Account | undefined, req: Request): string | undefined {
    // First what a stranger breaks who has the cookie: they are told nothing of the account.
    if (this.#settings['security.bind_fingerprint'] && login.fingerprint !== fingerprintOf(req)) return 'fingerprint';
    if (this.#settings['security.bind_ip'] && login.address !== this.#http.addressOf(req)) return 'address';
    return this.over(login, account);
  }

  /** Whether it is over for any request. */
  over(login: Login, account: Account | undefined): string | undefined {
    const now = this.#clock.now();
    if (!account) return 'account gone';
    if (account.status !== 'active') return 'account disabled';
    if (account.permissionsVersion !== login.version) return 'permissions changed';
    if (now >= endOf(login)) return 'lifetime';
    if (!login.remember && now - login.seenAt >= IDLE_TIMEOUT * 1000) return 'idle';
    return undefined;
  }

  /** Whether the member confirmed lately that it is them. */
  confirmed({ confirmedAt }: Login): boolean {
    return this.#clock.now() - confirmedAt < CONFIRMED;
  }

  confirmedUntil({ confirmedAt }: Login): Date {
    return new Date(confirmedAt + CONFIRMED);
  }
}
