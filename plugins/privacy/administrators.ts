import { sql, type Data } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';

/** The number of accounts per query. */
const BATCH_SIZE = 100;

export interface AdministratorsDeps {
  readonly data: Data;
  readonly access: Access;
  readonly accounts: Accounts;
}

/** Tells whether the forum would be left without an administrator. */
export class Administrators {
  readonly #deps: AdministratorsDeps;

  constructor(deps: AdministratorsDeps) {
    this.#deps = deps;
  }

  /** True for an administrator if there is no other one who can log in and act, and has not asked to be deleted. */
  async isLast({ id, groupId }: Account): Promise<boolean> {
    const groups = this.#deps.access
      .groups()
      .filter(({ level }) => level === 'admin')
      .map((group) => group.id);
    if (!groups.includes(groupId)) return false;
    for (const group of groups) if (await this.#someoneStays(group, id)) return false;
    return true;
  }

  async #someoneStays(groupId: string, besides: string): Promise<boolean> {
    for (let offset = 0; ; offset += BATCH_SIZE) {
      const { accounts, total } = await this.#deps.accounts.search({ text: '', groupId, limit: BATCH_SIZE, offset });
      const others = accounts.map(({ id }) => id).filter((id) => id !== besides);
      if ((await this.#staying(await this.#ableToAct(others))) > 0) return true;
      if (offset + BATCH_SIZE >= total) return false;
    }
  }

  /** Those who can log in and are not suspended, so that they have an administrator's rights then. */
  async #ableToAct(ids: readonly string[]): Promise<readonly string[]> {
    const { access, accounts } = this.#deps;
    const loginEnabled = await accounts.ableToLogIn(ids);
    return ids.filter((id) => loginEnabled.has(id) && !access.suspension(id));
  }

  /** The number of those who have not asked to be deleted. */
  async #staying(ids: readonly string[]): Promise<number> {
    const leaving = await this.#deps.data.all(
      sql`select 1 from privacy_deletion where account_id = any(${ids}::uuid[])`,
    );
    return ids.length - leaving.length;
  }
}
