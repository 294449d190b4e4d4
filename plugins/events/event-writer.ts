import { Batcher, sql, timeOf, type Data } from 'parley-forum';

/** An entry to add: an action as integrators may see it, under the id under which it was raised. */
export interface Entry {
  readonly id: string;
  readonly event: string;
  readonly data: object;
}

/** Appends entries to the log, all pending ones in one short transaction. */
export class EventWriter {
  readonly #data: Data;
  readonly #added: () => void;
  readonly #batcher = new Batcher<Entry>((entries) => this.#write(entries));

  /** `added` is called after each commit. */
  constructor(data: Data, added: () => void) {
    this.#data = data;
    this.#added = added;
  }

  /** Resolves when the entry is in the log. An existing entry with the same id is left unchanged. */
  add(entry: Entry): Promise<void> {
    return this.#batcher.add(entry);
  }

  async #write(entries: readonly Entry[]): Promise<void> {
    const rows = entries.map((entry) => ({ ...entry, at: timeOf(entry.id) }));
    await this.#data.transaction(async () => {
      // Held until the commit, so that entries become visible in the order of their positions.
      await this.#data.lock('events:log');
      await this.#data.all(sql`insert into event_log (id, event, created_at, data)
        select e.id, e.event, e.at, e.data
        from json_to_recordset(${JSON.stringify(rows)}::json) as e(id uuid, event text, at timestamptz, data jsonb)
        order by e.id on conflict (id) do nothing`);
    });
    this.#added();
  }
}
