import { sql, type Cache, type Clock, type Data, type PluginHandle } from 'parley-forum';
import {
  accountTag,
  tokenIssued,
  tokenRevoked,
  userChanged,
  type Account,
  type TokenStore,
} from 'parley-forum/plugins/accounts';
import { digest, randomToken } from './identifiers.ts';
import type { AccountsService } from './accounts/service.ts';

/** Milliseconds between updates of the time a token was last used. */
const USE_INTERVAL = 60_000;

export interface ApiTokensDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly accounts: AccountsService;
  readonly emit: PluginHandle['emit'];
}

/** The state of a token, as shown to its owner. */
export interface TokenState {
  /** With a precision of one minute. */
  readonly usedAt: Date | undefined;
}

/** Bearer tokens: one per account, of which only a digest is stored. */
export class ApiTokens implements TokenStore {
  readonly #deps: ApiTokensDeps;
  /** When the use of a token was last recorded, by account. */
  readonly #lastNoted = new Map<string, number>();

  constructor(deps: ApiTokensDeps) {
    this.#deps = deps;
  }

  /** Replaces the token by a new one, which can only be read now. */
  async issue(id: string): Promise<string> {
    const token = `parley_${randomToken()}`;
    await this.#replace(id, digest(token), id);
    return token;
  }

  async revokeAll(id: string, by: string | undefined): Promise<void> {
    await this.#replace(id, null, by);
  }

  /** `undefined` if there is no token. */
  async state(id: string): Promise<TokenState | undefined> {
    const row = await this.#deps.data.one(sql<{ usedAt: Date | null }>`
      select api_token_used_at as "usedAt" from account where id = ${id} and api_token is not null`);
    return row && { usedAt: row.usedAt ?? undefined };
  }

  /**
   * The account whose token is used in a request. Known tokens are cached under the account's tag; unknown ones are not
   * cached.
   */
  async authenticate(token: string): Promise<Account | undefined> {
    if (!/^parley_[A-Za-z0-9_-]{43}$/.test(token)) return undefined;
    const { cache, data, accounts } = this.#deps;
    const hash = digest(token);
    const key = `account-token:${hash}`;
    const cached = cache.peek<string>(key);
    const since = cache.version();
    const id = cached ?? (await data.one(sql<{ id: string }>`select id from account where api_token = ${hash}`))?.id;
    if (id === undefined) return undefined;
    if (cached === undefined) cache.set(key, [accountTag(id)], id, since);
    await this.#recordUse(id);
    return accounts.find(id);
  }

  async #replace(id: string, hash: string | null, by: string | undefined): Promise<void> {
    const { data, emit } = this.#deps;
    await data.transaction(async () => {
      const [changed] = await data.all(sql`update account set api_token = ${hash}, api_token_used_at = null
        where id = ${id} and (api_token is not null or ${hash}::text is not null) returning id`);
      if (!changed) return;
      await emit(hash === null ? tokenRevoked : tokenIssued, { id, by });
      await emit(userChanged, { id });
    });
    this.#lastNoted.delete(id);
  }

  /** At most once a minute in each process. Emits no event, because no cached response shows it. */
  async #recordUse(id: string): Promise<void> {
    const { data, clock } = this.#deps;
    const now = clock.now();
    if (now - (this.#lastNoted.get(id) ?? -USE_INTERVAL) < USE_INTERVAL) return;
    for (const [other, time] of this.#lastNoted) if (now - time >= USE_INTERVAL) this.#lastNoted.delete(other);
    this.#lastNoted.set(id, now);
    await data.transaction(() =>
      data.all(sql`update account set api_token_used_at = ${new Date(now)} where id = ${id}`),
    );
  }
}
