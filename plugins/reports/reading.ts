import { sql, type Data, type RawBuilder } from 'parley-forum';
import { isAdmin, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { badCursor, decodeCursor, encodeCursor, isId, type Page } from 'parley-forum/plugins/api';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { ReportRecord, Reports, Status } from 'parley-forum/plugins/reports';
import { columns, type ReportRow } from './rows.ts';

export interface ReportList {
  /** Of posts of this member. */
  readonly authorId?: string | undefined;
  readonly status?: Status | undefined;
  /** Of the open reports of one post only the newest. */
  readonly together?: boolean | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

interface ReadingServices {
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly discussions: Pick<Discussions, 'visible'>;
}

/** Reports that are looked through for those of the same posts. */
const BESIDE = 1_000;
/** Of the open ones of its post. */
const NEWEST = sql`not exists (select 1 from report as newer where newer.post_id = report.post_id and newer.status = 'open' and newer.id > report.id)`;

/**
 * Reports for moderators' eyes: only of what they may see themselves, and not of what they wrote, since that is for
 * others to judge.
 */
export class Reading implements Reports {
  readonly #services: ReadingServices;

  constructor(services: ReadingServices) {
    this.#services = services;
  }

  /** The newest first. */
  async list(
    { status, authorId, together = false, limit, offset = 0, cursor }: ReportList,
    viewer: Viewer,
  ): Promise<Page<ReportRecord>> {
    const before = cursor === undefined ? undefined : String(decodeCursor(cursor, 1)[0]);
    if (before !== undefined && !isId(before)) throw badCursor();
    const conditions = [await this.#seen(status, viewer)];
    if (authorId !== undefined) conditions.push(sql`author_id = ${authorId}`);
    if (together) conditions.push(NEWEST);
    if (before !== undefined) conditions.push(sql`id < ${before}::uuid`);
    const rows = await this.#services.data.all(sql<ReportRow>`
      select ${columns} from report where ${sql.join(conditions, sql` and `)}
      order by id desc limit ${limit + 1} offset ${offset}`);
    const hasMore = rows.length > limit;
    const items = await this.records(rows.slice(0, limit));
    return { items, hasMore, nextCursor: hasMore ? encodeCursor([items.at(-1)!.id]) : undefined };
  }

  open(viewer: Viewer): Promise<number> {
    return this.count('open', viewer);
  }

  async about(authorId: string, viewer: Viewer, limit: number): Promise<readonly ReportRecord[]> {
    return (await this.list({ authorId, limit }, viewer)).items;
  }

  /** `together`: as for `list`. */
  async count(status: Status, viewer: Viewer, together = false): Promise<number> {
    const seen = await this.#seen(status, viewer);
    const row = await this.#services.data.one(
      sql<{
        count: number;
      }>`select count(*)::int as count from report where ${seen}${together ? sql` and ${NEWEST}` : sql``}`,
    );
    return row?.count ?? 0;
  }

  /** The other reports of these posts that are open with them, or that ended with them; the oldest first. */
  async beside(reports: readonly ReportRecord[]): Promise<(report: ReportRecord) => readonly ReportRecord[]> {
    const rows = await this.#services.data.all(sql<ReportRow>`select ${columns} from report
      where post_id = any(${[...new Set(reports.map(({ post_id }) => post_id))]}::uuid[]) order by id limit ${BESIDE}`);
    const others = await this.records(rows);
    return ({ id, post_id, status, handled_at }) =>
      others.filter(
        (other) =>
          other.id !== id && other.post_id === post_id && other.status === status && other.handled_at === handled_at,
      );
  }

  /** Those of the ids whose report the viewer may see. */
  async visible(ids: readonly string[], viewer: Viewer): Promise<ReadonlySet<string>> {
    const rows = await this.#services.data.all(sql<{ id: string }>`
      select id from report where id = any(${ids.filter(isId)}::uuid[]) and ${await this.#seen(undefined, viewer)} order by id`);
    return new Set(rows.map(({ id }) => id));
  }

  /** If the viewer may see what was reported. */
  async find(id: string, viewer: Viewer): Promise<ReportRow | undefined> {
    if (!isId(id)) return undefined;
    return this.#services.data.one(
      sql<ReportRow>`select ${columns} from report where id = ${id} and ${await this.#seen(undefined, viewer)}`,
    );
  }

  async reporterOf(id: string): Promise<string | undefined> {
    return (
      await this.#services.data.one(
        sql<{ reporter: string }>`select reporter_id as reporter from report where id = ${id}`,
      )
    )?.reporter;
  }

  async records(rows: readonly ReportRow[]): Promise<readonly ReportRecord[]> {
    const people = rows
      .flatMap(({ reporter_id, claimed_by, handled_by }) => [reporter_id, claimed_by, handled_by])
      .filter((id) => id !== null);
    const authors = await this.#services.accounts.authors(people);
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

  async #seen(status: Status | undefined, viewer: Viewer): Promise<RawBuilder<unknown>> {
    const own = isAdmin(viewer) ? sql`` : sql` and author_id <> ${viewer.id ?? null}::uuid`;
    const visible = sql`discussion_id in (${await this.#services.discussions.visible(viewer)})${own}`;
    return status === undefined ? visible : sql`${visible} and status = ${status}`;
  }
}
