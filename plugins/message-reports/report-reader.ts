import { sql, type Data, type RawBuilder } from 'parley-forum';
import { isAdmin, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Author } from 'parley-forum/plugins/accounts';
import { decodeId, encodeCursor, isId, type Page } from 'parley-forum/plugins/api';
import type { Markdown } from 'parley-forum/plugins/markdown';
import type { MessageReportRecord } from 'parley-forum/plugins/message-reports';
import type { Status } from 'parley-forum/plugins/reports';
import { columns, fullColumns, type FullReportRow, type ReportRow } from './rows.ts';

export interface ReportList {
  readonly status?: Status | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}
/** Another report of the same message, as shown beside a report. */
export interface OtherReport extends Pick<ReportRow, 'id' | 'reason' | 'note'> {
  /** The message was edited between the two reports. */
  readonly has_other_text: boolean;
  readonly reporter: Author | null;
  readonly created_at: string;
}
interface ReportReaderDeps {
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly markdown: Pick<Markdown, 'permitted'>;
}

/** The maximum number of reports read to find those of the same messages. */
const MAX_RELATED = 1_000;
/** The maximum number of bytes of messages in a response; the first message may exceed it. */
const MAX_BYTES = 512 * 1024;
/**
 * Limits for a message in a list: bytes of HTML up to which it is included whole, and characters read of a longer one.
 */
const [MOST_HTML, BEGINNING] = [20_000, 2_500];
/** Whether a report is the newest open one of its message. */
const IS_NEWEST = sql`not exists (select from message_report as newer
  where newer.message_id = message_report.message_id and newer.status = 'open' and newer.id > message_report.id)`;

/**
 * Reports as a moderator may see them: not those of their own messages, which other moderators judge. Admins see all.
 */
export class ReportReader {
  readonly #deps: ReportReaderDeps;

  constructor(deps: ReportReaderDeps) {
    this.#deps = deps;
  }

  /** Newest first, up to the response size limit. */
  async list({ status, limit, offset = 0, cursor }: ReportList, viewer: Viewer): Promise<Page<MessageReportRecord>> {
    const before = cursor === undefined ? undefined : decodeId(cursor);
    const beyond = before === undefined ? sql`` : sql` and id < ${before}::uuid`;
    const rows = await this.#deps.data.all(sql<FullReportRow & { readonly found: number }>`
      select ${fullColumns}, found::integer from (
        select *, row_number() over w as place, sum(octet_length(html) + octet_length(content)) over w as reached,
          count(*) over () as found from (
          select ${fullColumns} from message_report where ${visibleTo(viewer, status)}${beyond}
          order by id desc limit ${limit + 1} offset ${offset}
        ) asked window w as (order by id desc)
      ) weighed where place <= ${limit} and (place = 1 or reached <= ${MAX_BYTES}) order by place`);
    const last = rows.at(-1);
    const hasMore = last !== undefined && rows.length < rows[0]!.found;
    return { items: await this.records(rows), hasMore, nextCursor: hasMore ? encodeCursor([last.id]) : undefined };
  }

  /**
   * A page of the queue: only the newest open report of each message, and only the beginning of long messages, without
   * HTML.
   */
  async queue(
    { status, limit, offset }: { readonly status: Status; readonly limit: number; readonly offset: number },
    viewer: Viewer,
  ): Promise<readonly MessageReportRecord[]> {
    const rows = await this.#deps.data.all(sql<FullReportRow>`
      select ${columns}, left(content, ${BEGINNING}) as content, image_rule, sent_at,
        case when octet_length(html) <= ${MOST_HTML} then html else '' end as html
      from message_report where ${inQueue(viewer, status)} order by id desc limit ${limit} offset ${offset}`);
    return this.records(rows);
  }

  /** The newest reports of the queue, without their messages. */
  async newest(
    limit: number,
    viewer: Viewer,
  ): Promise<readonly Pick<MessageReportRecord, 'id' | 'reason' | 'reporter' | 'created_at'>[]> {
    const rows = await this.#deps.data.all(sql<ReportRow>`
      select ${columns} from message_report where ${inQueue(viewer, 'open')} order by id desc limit ${limit}`);
    const reporters = await this.#people(rows.map(({ reporter_id }) => reporter_id));
    return rows.map(({ id, reason, reporter_id, created_at }) => ({
      id,
      reason,
      reporter: reporters(reporter_id),
      created_at: created_at.toISOString(),
    }));
  }

  /** The number of reports on all pages of the queue. */
  queueLength(status: Status, viewer: Viewer): Promise<number> {
    return this.#count(inQueue(viewer, status));
  }

  open(viewer: Viewer): Promise<number> {
    return this.#count(visibleTo(viewer, 'open'));
  }

  async find(id: string, viewer: Viewer): Promise<FullReportRow | undefined> {
    if (!isId(id)) return undefined;
    return this.#deps.data.one(
      sql<FullReportRow>`select ${fullColumns} from message_report where id = ${id} and ${visibleTo(viewer)}`,
    );
  }

  /** The members a report concerns; undefined if it no longer exists. */
  concerned(id: string): Promise<Pick<ReportRow, 'author_id' | 'reporter_id'> | undefined> {
    return this.#deps.data.one(
      sql<Pick<ReportRow, 'author_id' | 'reporter_id'>>`
        select author_id, reporter_id from message_report where id = ${id}`,
    );
  }

  /**
   * For each report, the other reports of its message that are open as well or were handled together with it, oldest
   * first.
   */
  async related(
    reports: readonly MessageReportRecord[],
  ): Promise<(report: MessageReportRecord) => readonly OtherReport[]> {
    const messageIds = [...new Set(reports.map(({ message_id }) => message_id))];
    const rows = await this.#deps.data.all(sql<
      ReportRow & { readonly digest: string }
    >`select ${columns}, md5(content) as digest
      from message_report where message_id = any(${messageIds}::uuid[]) order by id limit ${MAX_RELATED}`);
    const reporters = await this.#people(rows.map(({ reporter_id }) => reporter_id));
    const digests = new Map(rows.map(({ id, digest }) => [id, digest]));
    return ({ id, message_id, status, handled_at }) =>
      rows
        .filter(
          (row) =>
            row.id !== id &&
            row.message_id === message_id &&
            row.status === status &&
            (row.handled_at?.toISOString() ?? null) === handled_at,
        )
        .map((row) => ({
          id: row.id,
          reason: row.reason,
          note: row.note,
          has_other_text: digests.get(id) !== row.digest,
          reporter: reporters(row.reporter_id),
          created_at: row.created_at.toISOString(),
        }));
  }

  /** The records of the rows, in order, with only those images that are currently permitted. At most one statement. */
  async records(rows: readonly FullReportRow[]): Promise<readonly MessageReportRecord[]> {
    const { permitted } = this.#deps.markdown;
    const people = await this.#people(rows.flatMap((row) => [row.author_id, row.reporter_id, row.handled_by]));
    return rows.map((row) => ({
      id: row.id,
      message_id: row.message_id,
      message: {
        author: people(row.author_id),
        content: row.content,
        html: row.image_rule === permitted.rule ? row.html : permitted.images(row.html),
        // No message is sent without a text, so an empty one was erased.
        is_deleted: row.content === '',
        created_at: row.sent_at.toISOString(),
      },
      reason: row.reason,
      note: row.note,
      status: row.status,
      reporter: people(row.reporter_id),
      created_at: row.created_at.toISOString(),
      handled_by: people(row.handled_by),
      handled_at: row.handled_at?.toISOString() ?? null,
      handled_note: row.handled_note,
    }));
  }

  async #people(ids: readonly (string | null)[]): Promise<(id: string | null) => Author | null> {
    const authors = await this.#deps.accounts.authors([...new Set(ids.filter((id) => id !== null))]);
    return (id) => authors.get(id ?? '') ?? null;
  }

  async #count(condition: RawBuilder<unknown>): Promise<number> {
    const row = await this.#deps.data.one(
      sql<{ count: number }>`select count(*)::int as count from message_report where ${condition}`,
    );
    return row?.count ?? 0;
  }
}

const inQueue = (viewer: Viewer, status: Status): RawBuilder<unknown> =>
  status === 'open' ? sql`${visibleTo(viewer, status)} and ${IS_NEWEST}` : visibleTo(viewer, status);

function visibleTo(viewer: Viewer, status?: Status): RawBuilder<unknown> {
  // A viewer without an id sees nothing.
  const visible = isAdmin(viewer) ? sql`true` : sql`author_id <> ${viewer.id ?? null}::uuid`;
  return status === undefined ? visible : sql`${visible} and status = ${status}`;
}
