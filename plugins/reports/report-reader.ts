import { sql, type Data, type RawBuilder } from 'parley-forum';
import { isAdmin, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { decodeId, isId, pageOfRows, type Page } from 'parley-forum/plugins/api';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { ReportRecord, Reports, Status } from 'parley-forum/plugins/reports';
import { columns, type ReportRow } from './rows.ts';

export interface ReportList {
  /** Only reports of this member's posts. */
  readonly authorId?: string | undefined;
  readonly status?: Status | undefined;
  /** Only the newest open report of each post. */
  readonly grouped?: boolean | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

interface ReportReaderDeps {
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly discussions: Pick<Discussions, 'visible'>;
}

/** The maximum number of reports read to find those of the same posts. */
const MAX_RELATED = 1_000;
/** Whether a report is the newest open one of its post. */
const IS_NEWEST = sql`not exists (select 1 from report as newer where newer.post_id = report.post_id
  and newer.status = 'open' and newer.id > report.id)`;

/**
 * Reports as a moderator may see them: only of posts they can see, and not of their own posts, which other moderators
 * judge.
 */
export class ReportReader implements Reports {
  readonly #deps: ReportReaderDeps;

  constructor(deps: ReportReaderDeps) {
    this.#deps = deps;
  }

  /** Newest first. */
  async list(
    { status, authorId, grouped = false, limit, offset = 0, cursor }: ReportList,
    viewer: Viewer,
  ): Promise<Page<ReportRecord>> {
    const before = cursor === undefined ? undefined : decodeId(cursor);
    const conditions = [await this.#visibleTo(status, viewer)];
    if (authorId !== undefined) conditions.push(sql`author_id = ${authorId}`);
    if (grouped) conditions.push(IS_NEWEST);
    if (before !== undefined) conditions.push(sql`id < ${before}::uuid`);
    const rows = await this.#deps.data.all(sql<ReportRow>`
      select ${columns} from report where ${sql.join(conditions, sql` and `)}
      order by id desc limit ${limit + 1} offset ${offset}`);
    const page = pageOfRows(rows, limit, ({ id }) => [id]);
    return { ...page, items: await this.records(page.items) };
  }

  async about(authorId: string, viewer: Viewer, limit: number): Promise<readonly ReportRecord[]> {
    return (await this.list({ authorId, limit }, viewer)).items;
  }

  /** `grouped` works as in `list`. */
  async count(status: Status, viewer: Viewer, grouped = false): Promise<number> {
    const visibleTo = await this.#visibleTo(status, viewer);
    const row = await this.#deps.data.one(
      sql<{
        count: number;
      }>`select count(*)::int as count from report where ${visibleTo}${grouped ? sql` and ${IS_NEWEST}` : sql``}`,
    );
    return row?.count ?? 0;
  }

  /**
   * For each report, the other reports of its post that are open as well or were handled together with it, oldest
   * first.
   */
  async related(reports: readonly ReportRecord[]): Promise<(report: ReportRecord) => readonly ReportRecord[]> {
    const rows = await this.#deps.data.all(sql<ReportRow>`select ${columns} from report
      where post_id = any(${[...new Set(reports.map(({ post_id }) => post_id))]}::uuid[])
      order by id limit ${MAX_RELATED}`);
    const others = await this.records(rows);
    return ({ id, post_id, status, handled_at }) =>
      others.filter(
        (other) =>
          other.id !== id && other.post_id === post_id && other.status === status && other.handled_at === handled_at,
      );
  }

  /** Those of the ids whose reports the viewer may see. */
  async visible(ids: readonly string[], viewer: Viewer): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.data.all(sql<{ id: string }>`
      select id from report where id = any(${ids.filter(isId)}::uuid[])
        and ${await this.#visibleTo(undefined, viewer)} order by id`);
    return new Set(rows.map(({ id }) => id));
  }

  /** Undefined if the viewer may not see the reported post. */
  async find(id: string, viewer: Viewer): Promise<ReportRow | undefined> {
    if (!isId(id)) return undefined;
    return this.#deps.data.one(
      sql<ReportRow>`select ${columns} from report where id = ${id} and ${await this.#visibleTo(undefined, viewer)}`,
    );
  }

  async reporterOf(id: string): Promise<string | undefined> {
    return (
      await this.#deps.data.one(sql<{ reporter: string }>`select reporter_id as reporter from report where id = ${id}`)
    )?.reporter;
  }

  async records(rows: readonly ReportRow[]): Promise<readonly ReportRecord[]> {
    const people = rows
      .flatMap(({ reporter_id, claimed_by, handled_by }) => [reporter_id, claimed_by, handled_by])
      .filter((id) => id !== null);
    const authors = await this.#deps.accounts.authors(people);
    return rows.map(
      ({ reporter_id, author_id: _author, claimed_by, claimed_at, handled_by, created_at, handled_at, ...row }) => ({
        ...row,
        reporter: authors.get(reporter_id) ?? null,
        created_at: created_at.toISOString(),
        claimed_by: authors.get(claimed_by ?? '') ?? null,
        claimed_at: claimed_at?.toISOString() ?? null,
        handled_by: authors.get(handled_by ?? '') ?? null,
        handled_at: handled_at?.toISOString() ?? null,
      }),
    );
  }

  async #visibleTo(status: Status | undefined, viewer: Viewer): Promise<RawBuilder<unknown>> {
    const own = isAdmin(viewer) ? sql`` : sql` and author_id <> ${viewer.id ?? null}::uuid`;
    const visible = sql`discussion_id in (${await this.#deps.discussions.visible(viewer)})${own}`;
    return status === undefined ? visible : sql`${visible} and status = ${status}`;
  }
}
