import { Batcher, commandLine, sql, timeOf, type Data, type Logger } from 'parley-forum';
import type { AuditEntry } from 'parley-forum/ports/audit';
import { BEGINNING, type Seals, type Unsealed } from './seals.ts';

const MAX_TEXT_LENGTH = 200;

const truncated = <V>(value: V): V | string =>
  typeof value === 'string' && value.length > MAX_TEXT_LENGTH ? `${value.slice(0, MAX_TEXT_LENGTH - 1)}…` : value;

function unsealed(id: string, { action, actor, subject, address, details = {} }: AuditEntry): Unsealed {
  // The command line is not an account.
  const who = actor === commandLine ? { actor: null, facts: { by: commandLine } } : { actor: actor ?? null, facts: {} };
  const facts = Object.fromEntries(
    Object.entries({ ...details, ...who.facts })
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, truncated(value)]),
  );
  const to = { subjectType: subject?.type ?? null, subjectId: subject?.id ?? null };
  return { id, action, actor: who.actor, ...to, address: address ?? null, details: facts, createdAt: timeOf(id) };
}

export interface LogWriterDeps {
  readonly data: Data;
  readonly seals: Seals;
  readonly log: Logger;
}

/**
 * Appends entries to the log: all waiting ones in one short transaction, each sealed together with the one before it.
 */
export class LogWriter {
  readonly #deps: LogWriterDeps;
  readonly #batcher = new Batcher<Unsealed>((entries) => this.#write(entries));

  constructor(deps: LogWriterDeps) {
    this.#deps = deps;
  }

  /** Resolves when the entry is in the log. An entry whose id exists already is ignored. */
  add(id: string, entry: AuditEntry): Promise<void> {
    return this.#batcher.add(unsealed(id, entry));
  }

  /**
   * Appends entries in the current transaction, which locks the end of the log until it ends. Resolves to those that
   * were not in the log yet.
   */
  async append(entries: readonly Unsealed[]): Promise<readonly Unsealed[]> {
    const { data, seals } = this.#deps;
    await this.lock();
    const seal = await seals.open();
    const known = await data.all(
      sql<{ id: string }>`select id from audit_entry where id = any(${entries.map(({ id }) => id)}::uuid[])`,
    );
    const fresh = entries.filter(({ id }) => !known.some((other) => other.id === id));
    let previous =
      (await data.one(sql<{ seal: string }>`select seal from audit_entry order by position desc limit 1`))?.seal ??
      BEGINNING;
    const rows = fresh.map((entry) => {
      const row = { ...entry, previous, seal: seal(entry, previous) };
      previous = row.seal;
      return row;
    });
    await data.all(sql`insert into audit_entry (id, action, actor, subject_type, subject_id, address, details,
      created_at, previous, seal)
      select e.id, e.action, e.actor, e."subjectType", e."subjectId", e.address, e.details, e."createdAt", e.previous,
        e.seal
      from rows from (json_to_recordset(${JSON.stringify(rows)}::json) as (id uuid, action text, actor uuid, "subjectType" text, "subjectId" text, address text,
        details jsonb, "createdAt" timestamptz, previous text, seal text)) with ordinality as e order by e.ordinality`);
    return fresh;
  }

  /** Locks the end of the log until the commit, so that seals and positions have the same order. */
  lock(): Promise<void> {
    return this.#deps.data.lock('audit:log');
  }

  async #write(entries: readonly Unsealed[]): Promise<void> {
    const ordered = entries.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const added = await this.#deps.data.transaction(() => this.append(ordered));
    for (const { details, createdAt, ...entry } of added)
      this.#deps.log.info({ audit: true, ...entry, details, at: createdAt.toISOString() }, entry.action);
  }
}
