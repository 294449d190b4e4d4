import { sql, type Data, type RawBuilder } from '#core';
import type { Viewer } from '#plugins/access';
import type { Accounts } from '#plugins/accounts';
import { badCursor, decodeCursor, encodeCursor, isId, type Page } from '#plugins/api';
import type { Discussions } from '#plugins/discussions';
import type { ReportRecord, Status } from '#plugins/reports';
import { columns, type ReportRow } from './rows.ts';

export interface ReportList {
  readonly status?: Status | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

interface ReadingServices {
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly discussions: Pick<Discussions, 'visible'>;
}

/** Reports for moderators' eyes: only of what they may see themselves. */
export class Reading {
  readonly #services: ReadingServices;

  constructor(services: ReadingServices) {
    this.#services = services;
  }

  /** The newest first. */
  async list({ status, limit, offset = 0, cursor }: ReportList, viewer: Viewer): Promise<Page<ReportRecord>> {
    const before = cursor === undefined ? undefined : String(decodeCursor(cursor, 1)[0]);
    if (before !== undefined && !isId(before)) throw badCursor();
    const rows = await this.#services.data.all(sql<ReportRow>`
      select ${columns} from report where ${await this.#seen(status, viewer)}${before === undefined ? sql`` : sql` and id < ${before}::uuid`}
      order by id desc limit ${limit + 1} offset ${offset}`);
    const hasMore = rows.length > limit;
    const items = await this.records(rows.slice(0, limit));
    return { items, hasMore, nextCursor: hasMore ? encodeCursor([items.at(-1)!.id]) : undefined };
  }

  async count(status: Status, viewer: Viewer): Promise<number> {
    const row = await this.#services.data.one(sql<{ count: number }>`select count(*)::int as count from report where ${await this.#seen(status, viewer)}`);
    return row?.count ?? 0;
  }

  /** Those of the ids whose report the viewer may see. */
  async visible(ids: readonly string[], viewer: Viewer): Promise<ReadonlySet<string>> {
    const rows = await this.#services.data.all(sql<{ id: string }>`
      select id from report where id = any(${ids.filter(isId)}::uuid[]) and ${await this.#seen(undefined, viewer)} order by id`);
    return new Set(rows.map(({ id }) => id));
  }

  async records(rows: readonly ReportRow[]): Promise<readonly ReportRecord[]> {
    const authors = await this.#services.accounts.authors(rows.flatMap(({ reporter_id, handled_by }) => [reporter_id, handled_by ?? []].flat()));
    return rows.map(({ reporter_id, handled_by, created_at, handled_at, ...row }) => ({
      ...row, reporter: authors.get(reporter_id) ?? null, created_at: created_at.toISOString(),
      handled_by: authors.get(handled_by ?? '') ?? null, handled_at: handled_at?.toISOString() ?? null,
    }));
  }

  async #seen(status: Status | undefined, viewer: Viewer): Promise<RawBuilder<unknown>> {
    const visible = sql`discussion_id in (${await this.#services.discussions.visible(viewer)})`;
    return status === undefined ? visible : sql`${visible} and status = ${status}`;
  }
}
