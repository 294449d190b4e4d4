import type { Cache, Data } from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';
import { accountTag, type Account } from 'parley-forum/plugins/accounts';

interface AccountLoaderDeps {
  readonly cache: Cache;
  readonly data: Pick<Data, 'inTransaction'>;
  /** Loads accounts from the database; unknown ids are missing from the result. */
  load(ids: readonly string[]): Promise<readonly Account[]>;
}
interface Loading {
  /** State of the cache when the load started. */
  readonly since: number;
  readonly accounts: Promise<readonly Account[]>;
}

/**
 * Loads accounts by id in batches, from the cache if possible. Concurrent requests for the same account share one load.
 */
export class AccountLoader {
  readonly #deps: AccountLoaderDeps;
  readonly #loading = new Map<string, Loading>();

  constructor(deps: AccountLoaderDeps) {
    this.#deps = deps;
  }

  async many(ids: readonly string[]): Promise<ReadonlyMap<string, Account>> {
    const { cache, data } = this.#deps;
    const found = new Map<string, Account>();
    const missing: string[] = [];
    const loads = new Set<Loading>();
    const since = cache.version();
    for (const id of new Set(ids)) {
      const cached = cache.peek<Account>(accountTag(id));
      const other = data.inTransaction ? undefined : this.#loading.get(id);
      if (cached) found.set(id, cached);
      // A load that started before a purge may return outdated accounts, so it is not shared.
      else if (other?.since === since) loads.add(other);
      else if (isId(id)) missing.push(id);
    }
    if (missing.length > 0) loads.add(this.#load(missing, since));
    const wanted = new Set(ids);
    for (const { accounts } of loads)
      for (const account of await accounts) if (wanted.has(account.id)) found.set(account.id, account);
    return found;
  }

  #load(ids: readonly string[], since: number): Loading {
    const { cache, data, load } = this.#deps;
    const loading: Loading = { since, accounts: load(ids) };
    // Reads in a transaction are not shared, because the transaction may be rolled back.
    if (data.inTransaction) return loading;
    for (const id of ids) this.#loading.set(id, loading);
    const done = (): void => ids.forEach((id) => this.#loading.get(id) === loading && this.#loading.delete(id));
    loading.accounts.then((accounts) => {
      done();
      for (const account of accounts) cache.set(accountTag(account.id), [accountTag(account.id)], account, since);
    }, done);
    return loading;
  }
}
