import { sql, type Data } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';

/** Accounts in one question. */
const TOGETHER = 100;

export interface AdministratorParts {
  readonly data: Data;
  readonly access: Access;
  readonly accounts: Accounts;
}

/** Whether a forum would have nobody left who could run it. */
export class Administrators {
  readonly #parts: AdministratorParts;

  constructor(parts: AdministratorParts) {
    this.#parts = parts;
  }

  /** True for an administrator beside whom there is none that can log in, act and stays. */
  async isLast({ id, groupId }: Account): Promise<boolean> {
    const groups = this.#parts.access
      .groups()
      .filter(({ level }) => level === 'admin')
      .map((group) => group.id);
    if (!groups.includes(groupId)) return false;
    for (const group of groups) if (await this.#someoneStays(group, id)) return false;
    return true;
  }

  async #someoneStays(groupId: string, besides: string): Promise<boolean> {
    for (let offset = 0; ; offset += TOGETHER) {
      const { accounts, total } = await this.#parts.accounts.search({ text: '', groupId, limit: TOGETHER, offset });
      const others = accounts.map(({ id }) => id).filter((id) => id !== besides);
      if ((await this.#staying(await this.#able(others))) > 0) return true;
      if (offset + TOGETHER >= total) return false;
    }
  }

  /** Those of them who can log in, and may do what administrators do then. */
  async #able(ids: readonly string[]): Promise<readonly string[]> {
    const { access, accounts } = this.#parts;
    const enterable = await accounts.ableToLogIn(ids);
    return ids.filter((id) => enterable.has(id) && !access.suspension(id));
  }

  /** How many of them have not asked to be deleted. */
  async #staying(ids: readonly string[]): Promise<number> {
    const leaving = await this.#parts.data.all(
      sql`select 1 from privacy_deletion where account_id = any(${ids}::uuid[])`,
    );
    return ids.length - leaving.length;
  }
}
