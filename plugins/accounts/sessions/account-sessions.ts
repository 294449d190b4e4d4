import type { Cache } from 'parley-forum';
import { accountTag, type Account } from 'parley-forum/plugins/accounts';
import { digest } from '../identifiers.ts';
import type { SessionRules } from './session-rules.ts';
import type { Login, SessionStore } from './session-store.ts';

/** What the list of a member's sessions shows. */
export interface OwnSession {
  /** Stands for the login over all its ids, and gives none of them away. */
  readonly id: string;
  readonly device: string;
  readonly address: string;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly current: boolean;
}

/** Sessions that a member may have at a time. */
const MOST = 50;

const handleOf = ({ csrf }: Login): string => digest(csrf);

/** The sessions of one member, for their eyes. */
export class OwnSessions {
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
  async list(account: Account, current: Login | undefined): Promise<readonly OwnSession[]> {
    const logins = new Map<string, Login>();
    for (const { login } of await this.#store.of(account.id)) {
      const known = logins.get(login.csrf);
      if (this.#rules.over(login, account) === undefined && (known === undefined || known.issuedAt < login.issuedAt))
        logins.set(login.csrf, login);
    }
    return [...logins.values()]
      .map((login) => ({
        id: handleOf(login),
        device: login.device,
        address: login.address,
        startedAt: login.startedAt,
        seenAt: login.seenAt,
        current: login.csrf === current?.csrf,
      }))
      .sort((a, b) => b.seenAt - a.seenAt || (a.id < b.id ? -1 : 1));
  }

  /** Ends one of the account's sessions by its `OwnSession.id`; false when there is none (any more). */
  async revoke(account: string, id: string): Promise<boolean> {
    const ended = await this.end(account, (login) => handleOf(login) === id);
    // Answers that are still going on, such as live streams, ask again who their reader is.
    if (ended) await this.#cache.purge(accountTag(account));
    return ended;
  }

  /**
   * Ends all but the newest sessions of an account. Whoever begins one calls this after it is stored, so that of
   * several at once the last sees them all.
   */
  async keepNewest(account: string): Promise<void> {
    const begun = new Map<string, number>();
    for (const { login } of await this.#store.of(account)) begun.set(login.csrf, login.startedAt);
    if (begun.size <= MOST) return;
    const order = [...begun].sort(([a, from], [b, to]) => to - from || (a < b ? -1 : 1)).map(([csrf]) => csrf);
    const over = new Set(order.slice(MOST));
    await this.end(account, ({ csrf }) => over.has(csrf));
    await this.#cache.purge(accountTag(account));
  }

  /** Ends those of an account's sessions that fit; false when there were none. */
  async end(account: string, fits: (login: Login) => boolean): Promise<boolean> {
    const keys = (await this.#store.of(account)).filter(({ login }) => fits(login)).map(({ key }) => key);
    await this.#store.removeKeys(keys);
    return keys.length > 0;
  }
}
