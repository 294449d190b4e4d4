import type { Cache } from 'parley-forum';
import { accountTag, type Account } from 'parley-forum/plugins/accounts';
import { digest } from '../identifiers.ts';
import type { SessionRules } from './session-rules.ts';
import type { Login, SessionStore } from './session-store.ts';

/** What the list of a member's sessions shows. */
export interface SessionSummary {
  /** Stands for the login over all its session ids, and reveals none of them. */
  readonly id: string;
  readonly device: string;
  readonly address: string;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly current: boolean;
}

/** Sessions that a member may have at a time. */
const MAX_SESSIONS = 50;

const publicId = ({ csrf }: Login): string => digest(csrf);

/** The sessions of a member: listed for them, ended, and limited in number. */
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

  /** Those that could be used now, the one seen last first. An id that was replaced does not make another session. */
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

  /** Ends one of the account's sessions by its `SessionSummary.id`; false when there is none (any more). */
  async revoke(account: string, id: string): Promise<boolean> {
    const ended = await this.end(account, (login) => publicId(login) === id);
    // Responses that go on, such as live streams, reauthenticate then.
    if (ended) await this.#cache.purge(accountTag(account));
    return ended;
  }

  /**
   * Ends all but the newest sessions of an account. Called after a new session is stored, so that of several at
   * once the last sees them all.
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

  /** Ends those of an account's sessions that fit; false when there were none. */
  async end(account: string, fits: (login: Login, key: string) => boolean): Promise<boolean> {
    const stored = await this.#store.byAccount(account);
    const keys = stored.filter(({ login, key }) => fits(login, key)).map(({ key }) => key);
    await this.#store.removeKeys(keys);
    return keys.length > 0;
  }
}
