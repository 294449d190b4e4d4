import { sql, type Data } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { decodePosition, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import type { AuditRecord } from 'parley-forum/plugins/audit';

/** The type of those subjects that have names. */
const ACCOUNT = 'account';

/** Absent filters match everything. */
export interface Filters {
  readonly action?: string | undefined;
  /** A username or an account's id. */
  readonly actor?: string | undefined;
  /** `type:id`, or an id alone. */
  readonly subject?: string | undefined;
  readonly from?: Date | undefined;
  /** The end of the period, exclusive. */
  readonly to?: Date | undefined;
}
export interface Search extends Filters {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

interface Row {
  readonly position: number;
  readonly id: string;
  readonly action: string;
  readonly actor: string | null;
  readonly subject_type: string | null;
  readonly subject_id: string | null;
  readonly address: string | null;
  readonly details: AuditRecord['details'];
  readonly created_at: Date;
}

/** Reads the log for administrators. */
export class LogReader {
  readonly #data: Data;
  readonly #accounts: Pick<Accounts, 'authors' | 'findByIdentifier'>;

  constructor({
    data,
    accounts,
  }: {
    readonly data: Data;
    readonly accounts: Pick<Accounts, 'authors' | 'findByIdentifier'>;
  }) {
    this.#data = data;
    this.#accounts = accounts;
  }

  /** Lists entries, newest first. */
  async list({ limit, offset = 0, cursor, ...filters }: Search): Promise<Page<AuditRecord>> {
    const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : decodePosition(cursor);
    const actor = filters.actor === undefined ? undefined : await this.#accountId(filters.actor);
    if (actor === null) return { items: [], hasMore: false, nextCursor: undefined };
    const rows = await this.#rows({ ...filters, actor }, before, limit + 1, offset);
    const page = pageOfRows(rows, limit, ({ position }) => [position]);
    return { ...page, items: await this.#records(page.items) };
  }

  /** All actions that have entries, in alphabetical order. One index lookup per action. */
  async actions(): Promise<readonly string[]> {
    const rows = await this.#data.all(sql<{ action: string }>`
      with recursive found as (
        (select action from audit_entry order by action limit 1)
        union all
        select (select e.action from audit_entry e where e.action > found.action order by e.action limit 1) from found
        where found.action is not null
      ) select action from found where action is not null order by action`);
    return rows.map(({ action }) => action);
  }

  #rows(
    { action, actor, subject, from, to }: Filters,
    before: number,
    limit: number,
    offset: number,
  ): Promise<readonly Row[]> {
    const [, type, id] = /^(?:([a-z-]+):)?(.*)$/s.exec(subject ?? '') ?? [];
    return this.#data
      .all(sql<Row>`select position, id, action, actor, subject_type, subject_id, address, details, created_at
        from audit_entry
      where position < ${before} ${action === undefined ? sql`` : sql`and action = ${action}`} ${actor === undefined ? sql`` : sql`and actor = ${actor}`}
        ${subject === undefined ? sql`` : sql`and subject_id = ${id ?? ''}`} ${type === undefined ? sql`` : sql`and subject_type = ${type}`}
        ${from === undefined ? sql`` : sql`and created_at >= ${from}`} ${to === undefined ? sql`` : sql`and created_at < ${to}`}
      order by position desc limit ${limit} offset ${offset}`);
  }

  /** The id of an account; null if the name is unknown. */
  async #accountId(nameOrId: string): Promise<string | null> {
    return isId(nameOrId) ? nameOrId : ((await this.#accounts.findByIdentifier(nameOrId))?.id ?? null);
  }

  async #records(rows: readonly Row[]): Promise<readonly AuditRecord[]> {
    const people = rows.flatMap(({ actor, subject_type: type, subject_id: id }) => [
      actor,
      type === ACCOUNT ? id : null,
    ]);
    const names = await this.#accounts.authors([...new Set(people.filter((id) => id !== null))]);
    const subjectOf = (type: string, id: string): AuditRecord['subject'] => {
      const username = type === ACCOUNT ? names.get(id)?.username : undefined;
      return { type, id, ...(username !== undefined && { username }) };
    };
    return rows.map(({ position: _position, actor, subject_type: type, subject_id: id, created_at: at, ...row }) => ({
      ...row,
      actor: actor === null ? null : { id: actor, username: names.get(actor)?.username ?? null },
      subject: type === null || id === null ? null : subjectOf(type, id),
      created_at: at.toISOString(),
    }));
  }
}
