import type { Cache } from 'parley-forum';
import { accountTag, type Account } from 'parley-forum/plugins/accounts';
import { digest } from '../identifiers.ts';
import type { SessionRules } from './session-rules.ts';
import type { Login, SessionStore } from './session-store.ts';

/** A session in the list that its member sees. */
export interface SessionSummary {
  /** Identifies the login across all its session ids without revealing any of them. */
  readonly id: string;
  readonly device: string;
  readonly address: string;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly current: boolean;
}

/** Maximum number of concurrent sessions of a member. */
const MAX_SESSIONS = 50;

/** See `SessionSummary.id`. */
export const publicId = ({ csrf }: Login): string => digest(csrf);

/** Lists, ends and limits the sessions of a member. */
export class AccountSessions {
  readonly #store: SessionStore;
  readonly #rules: SessionRules;
  readonly #cache: Cache;

  constructor({
    store,
    rules,
    cache,
  }: {
    readonly store: SessionStore;
    readonly rules: SessionRules;
    readonly cache: Cache;
  }) {
    this.#store = store;
    this.#rules = rules;
    this.#cache = cache;
  }

  /** Sessions that can be used now, most recently seen first. A session whose id was replaced is listed once. */
  async list(account: Account, current: Login | undefined): Promise<readonly SessionSummary[]> {
    const newest = new Map<string, Login>();
    for (const { login } of await this.#store.byAccount(account.id)) {
      const known = newest.get(login.csrf);
      if (
        this.#rules.endCause(login, account) === undefined &&
        (known === undefined || known.issuedAt < login.issuedAt)
      )
        newest.set(login.csrf, login);
    }
    return [...newest.values()]
      .map((login) => ({
        id: publicId(login),
        device: login.device,
        address: login.address,
        startedAt: login.startedAt,
        seenAt: login.seenAt,
        current: login.csrf === current?.csrf,
      }))
      .sort((a, b) => b.seenAt - a.seenAt || (a.id < b.id ? -1 : 1));
  }

  /** Ends one of the account's sessions by its `SessionSummary.id`; false if it does not exist (any more). */
  async revoke(account: string, id: string): Promise<boolean> {
    const ended = await this.end(account, (login) => publicId(login) === id);
    // Makes continuing responses, such as live streams, reauthenticate.
    if (ended) await this.#cache.purge(accountTag(account));
    return ended;
  }

  /**
   * Ends all but the newest sessions of an account. Called after a new session is stored, so that of several concurrent
   * calls the last one sees all sessions.
   */
  async keepNewest(account: string): Promise<void> {
    const begun = new Map<string, number>();
    for (const { login } of await this.#store.byAccount(account)) begun.set(login.csrf, login.startedAt);
    if (begun.size <= MAX_SESSIONS) return;
    const order = [...begun].sort(([a, from], [b, to]) => to - from || (a < b ? -1 : 1)).map(([csrf]) => csrf);
    const over = new Set(order.slice(MAX_SESSIONS));
    await this.end(account, ({ csrf }) => over.has(csrf));
    await this.#cache.purge(accountTag(account));
  }

  /** Ends those of an account's sessions for which `fits` returns true; false if there were none. */
  async end(account: string, fits: (login: Login, key: string) => boolean): Promise<boolean> {
    const stored = await this.#store.byAccount(account);
    const keys = stored.filter(({ login, key }) => fits(login, key)).map(({ key }) => key);
    await this.#store.removeKeys(keys);
    return keys.length > 0;
  }
}
