import { sql, type Data } from 'parley-forum';

/** Discussions that were imported already, by their keys in the file. */
export class ImportStore {
  readonly #data: Data;

  constructor(data: Data) {
    this.#data = data;
  }

  async known(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#data.all(
      sql<{ key: string }>`select source_key as key from imported_discussion where source_key = any(${keys}::text[])`,
    );
    return new Set(rows.map(({ key }) => key));
  }

  async add(discussions: readonly { readonly key: string; readonly id: string }[]): Promise<void> {
    await this.#data.all(sql`insert into imported_discussion (source_key, discussion_id)
      select * from unnest(${discussions.map(({ key }) => key)}::text[], ${discussions.map(({ id }) => id)}::uuid[])`);
  }
}
