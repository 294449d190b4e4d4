import { sql, type Data, type RawBuilder } from 'parley-forum';

/** What a member hides from others. */
export interface VisibilityChoices {
  /** Among the visitors who are here, the member counts as a guest. */
  readonly presence: boolean;
  readonly lastSeen: boolean;
}

/** Stores the visibility choices of members. */
export class VisibilityChoiceStore {
  readonly #data: Data;

  constructor(data: Data) {
    this.#data = data;
  }

  async of(accountId: string): Promise<VisibilityChoices> {
    const row = await this.#data.one(sql<VisibilityChoices>`
      select hide_presence as presence, hide_last_seen as "lastSeen" from privacy_choice
      where account_id = ${accountId}`);
    return row ?? { presence: false, lastSeen: false };
  }

  async save(accountId: string, { presence, lastSeen }: VisibilityChoices): Promise<void> {
    await this.#data.transaction(() =>
      this.#data.all(sql`insert into privacy_choice (account_id, hide_presence, hide_last_seen)
      values (${accountId}, ${presence}, ${lastSeen})
      on conflict (account_id) do update set hide_presence = excluded.hide_presence,
        hide_last_seen = excluded.hide_last_seen`),
    );
  }

  /** Those of the members who hide it, with a single statement. */
  async hiddenAmong(what: keyof VisibilityChoices, accountIds: readonly string[]): Promise<ReadonlySet<string>> {
    if (accountIds.length === 0) return new Set();
    const column = sql.ref(what === 'presence' ? 'hide_presence' : 'hide_last_seen');
    const rows = await this.#data.all(sql<{ id: string }>`
      select account_id as id from privacy_choice where account_id = any(${accountIds}::uuid[]) and ${column}`);
    return new Set(rows.map(({ id }) => id));
  }

  /** A condition on an account's id. */
  hidesLastSeen(account: RawBuilder<string>): RawBuilder<boolean> {
    return sql<boolean>`exists (select from privacy_choice where account_id = ${account} and hide_last_seen)`;
  }

  async delete(accountId: string): Promise<void> {
    await this.#data.all(sql`delete from privacy_choice where account_id = ${accountId}`);
  }
}
