import type { Cache, Data } from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';
import { accountTag, type Account } from 'parley-forum/plugins/accounts';

interface AccountLoaderDeps {
  readonly cache: Cache;
  readonly data: Pick<Data, 'inTransaction'>;
  /** From the database; those that there are. */
  load(ids: readonly string[]): Promise<readonly Account[]>;
}
interface Loading {
  /** Of the cache, when it began. */
  readonly since: number;
  readonly accounts: Promise<readonly Account[]>;
}

/** Accounts by id, many at once, from the cache where they are. What is being loaded for one is not asked for again by another. */
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
      // What was purged meanwhile may be old.
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
    // What a transaction reads may be undone.
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
