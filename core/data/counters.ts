import { defineExtensionPoint } from '../ref.ts';
import { sql, type Data } from './database.ts';

/**
 * Counts that are stored so that a page need not compute them. The plugin that stores them declares here how they are
 * compared with the counted rows and corrected; used by the command `recount` and the doctor.
 */
export interface Counter {
  /** The name of what is counted, as shown by the command: `lines of orders`. */
  readonly name: string;
  /** At most `limit` keys that have counts, in order: those after `after`, or the last ones first if `descending`. */
  keys(part: {
    readonly after?: string | undefined;
    readonly limit: number;
    readonly descending?: boolean;
  }): Promise<readonly string[]>;
  /**
   * The differences for these keys, one line each. Uses a single statement, so that concurrent writes are seen
   * completely or not at all.
   */
  check(keys: readonly string[]): Promise<readonly string[]>;
  /** Corrects the counts of these keys, in a transaction that locks rows in the same order as every other write. */
  repair(keys: readonly string[]): Promise<void>;
}

/** Extension point for plugins that store counts. */
export const counters = defineExtensionPoint<Counter>(
  'kernel.counters',
  'Stored numbers that `recount` and the doctor compare with what they count, and repair.',
  { order: 'The order in which they are compared and repaired.' },
);

/** The `keys` of a counter whose keys are the ids in any of these columns, which an index has in order. */
export const counterKeys =
  (data: Data, ...columns: readonly { readonly table: string; readonly column: string }[]): Counter['keys'] =>
  async ({ after, limit, descending = false }) => {
    const order = descending ? sql`desc` : sql`asc`;
    const parts = columns.map(
      ({ table, column }) => sql`(select distinct ${sql.ref(column)} as id from ${sql.table(table)}
        where ${after === undefined ? sql`true` : sql`${sql.ref(column)} > ${after}::uuid`}
        order by id ${order} limit ${limit})`,
    );
    const rows = await data.all(sql<{ id: string }>`
      select id from (${sql.join(parts, sql` union `)}) k order by id ${order} limit ${limit}`);
    return rows.map(({ id }) => id);
  };

/** Number of keys compared per statement. */
const TOGETHER = 500;

/** Yields the differences of a counter batch by batch, each with its keys. */
export async function* differences(
  counter: Counter,
): AsyncGenerator<{ readonly keys: readonly string[]; readonly lines: readonly string[] }, void> {
  for (let after: string | undefined, full = true; full;) {
    const keys = await counter.keys({ after, limit: TOGETHER });
    if (keys.length > 0) yield { keys, lines: await counter.check(keys) };
    after = keys.at(-1);
    full = keys.length === TOGETHER;
  }
}
