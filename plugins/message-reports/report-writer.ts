import {
  createId,
  HttpError,
  notFound,
  sql,
  type Clock,
  type Data,
  type PluginHandle,
  type RawBuilder,
} from 'parley-forum';
import { limitFor, memberKey, type Member, type Viewer } from 'parley-forum/plugins/access';
import type { Author } from 'parley-forum/plugins/accounts';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { messageReportCreated } from 'parley-forum/plugins/message-reports';
import type { MessageRecord, Messages } from 'parley-forum/plugins/messages';
import type { Outcome, Reason } from 'parley-forum/plugins/reports';
import { messageReportHandled } from 'parley-forum/ports/moderation';
import { fullColumns, lockOpen, type FullReportRow, type ReportRow } from './rows.ts';

/** Settings of this plugin. */
export interface MessageReportSettings {
  /** The maximum number of reports per member and hour. */
  readonly 'message-reports.rate_limit': number;
  /** Days for which a report is kept after it was handled. */
  readonly 'message-reports.days': number;
}
export interface ReportableMessage extends MessageRecord {
  readonly author: Author;
}
interface ReportWriterDeps {
  readonly plugin: PluginHandle<MessageReportSettings>;
  readonly data: Data;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly markdown: Pick<Markdown, 'permitted'>;
  readonly messages: Messages;
}

const REPORTS: Bucket = { name: 'message-reports', window: 3_600 };
const DAY = 86_400_000;

/** Creates, handles and removes reports. The caller checks the permission. */
export class ReportWriter {
  readonly #deps: ReportWriterDeps;

  constructor(deps: ReportWriterDeps) {
    this.#deps = deps;
  }

  /** A message that can be reported. Undefined if the viewer is not in its conversation, or the message was erased. */
  async find(messageId: string, viewer: Viewer): Promise<ReportableMessage | undefined> {
    const message = await this.#deps.messages.find(messageId, viewer);
    return message?.author && !message.is_deleted ? { ...message, author: message.author } : undefined;
  }

  /**
   * Reports a message. While the member has an open report of it, that one is returned. Throws 404 if the message does
   * not exist for the viewer, 403 if it is their own, and 429 above the rate limit.
   */
  async report(
    viewer: Member,
    { messageId, reason, note = '' }: { messageId: string; reason: Reason; note?: string | undefined },
  ): Promise<FullReportRow> {
    const { data, clock, markdown, plugin } = this.#deps;
    // The rule for images that applies when the message is read.
    const { rule } = markdown.permitted;
    const message = await this.find(messageId, viewer);
    if (!message) throw notFound('There is no such message');
    if (message.author.id === viewer.id) throw new HttpError(403, 'You wrote this message yourself');
    const open = sql`message_id = ${message.id} and reporter_id = ${viewer.id} and status = 'open'`;
    const before = await this.#one(open);
    if (before) return before;
    await this.#countReport(viewer);
    const now = new Date(clock.now());
    const id = createId(now.getTime());
    const made = await data.transaction(async () => {
      const row = await data.one(sql<FullReportRow>`
        insert into message_report (id, message_id, author_id, content, html, image_rule, sent_at, reporter_id, reason,
          note, created_at)
        values (${id}, ${message.id}, ${message.author.id}, ${message.content}, ${message.html}, ${rule},
          ${message.created_at}, ${viewer.id}, ${reason}, ${note.trim()}, ${now})
        on conflict (message_id, reporter_id) where status = 'open' do nothing returning ${fullColumns}`);
      if (row) await plugin.emit(messageReportCreated, { report: { id } });
      return row;
    });
    const row = made ?? (await this.#one(open));
    if (!row)
      throw new HttpError(409, 'Your report of this message has just been handled; report it again if necessary');
    return row;
  }

  /** Closes all open reports of the message and resolves to this one. Throws 409 if it was handled already. */
  async handle(
    { id, message_id: messageId }: ReportRow,
    { outcome, note = '' }: { outcome: Outcome; note?: string | undefined },
    viewer: Member,
  ): Promise<FullReportRow> {
    const { data, clock, plugin } = this.#deps;
    const now = new Date(clock.now());
    const handled = await data.transaction(async () => {
      const open = await lockOpen(data, messageId);
      if (!open.includes(id)) return undefined;
      const rows = await data.all(sql<FullReportRow>`
        update message_report set status = ${outcome}, handled_by = ${viewer.id}, handled_at = ${now},
          handled_note = ${note.trim()}
        where id = any(${open}::uuid[]) returning ${fullColumns}`);
      for (const { id: ended, reporter_id, author_id } of rows)
        await plugin.emit(messageReportHandled, {
          report: {
            id: ended,
            lead_id: id,
            reporter_id,
            author_id,
            outcome,
            handler_id: viewer.id ?? '',
            handled_at: now.toISOString(),
          },
        });
      return rows.find((one) => one.id === id);
    });
    const row = handled ?? (await this.#one(sql`id = ${id}`));
    if (!row) throw notFound('There is no such report');
    if (row.status !== outcome) throw new HttpError(409, `This report was already ${row.status}`);
    return row;
  }

  /**
   * Deletes up to `limit` reports that were handled that many days ago, with their copies. Resolves to the number
   * deleted.
   */
  async removeOld(limit: number): Promise<number> {
    const { data, clock, plugin } = this.#deps;
    const before = new Date(clock.now() - plugin.settings['message-reports.days'] * DAY);
    const rows = await data.all(sql`delete from message_report where id in (
      select id from message_report where handled_at < ${before} order by handled_at, id limit ${limit}) returning id`);
    return rows.length;
  }

  #one(condition: RawBuilder<unknown>): Promise<FullReportRow | undefined> {
    return this.#deps.data.one(sql<FullReportRow>`select ${fullColumns} from message_report where ${condition}`);
  }

  /** Counts a report against the viewer's rate limit; throws 429 when it is exceeded. */
  async #countReport(viewer: Member): Promise<void> {
    const { limits, plugin } = this.#deps;
    const rate = plugin.settings['message-reports.rate_limit'];
    const allowance = await limits.consume(REPORTS, memberKey(viewer.id), limitFor(viewer, rate));
    assertAllowed(allowance, (seconds) => `You have reported many messages; wait ${seconds} s before the next`);
  }
}
