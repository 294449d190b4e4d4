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
import { limitFor, memberKey, type Viewer } from 'parley-forum/plugins/access';

import type { Discussions } from 'parley-forum/plugins/discussions';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { reportHandled } from 'parley-forum/ports/moderation';
import { reportCreated, type Outcome, type Reason } from 'parley-forum/plugins/reports';
import { columns, lockOpen, type ReportRow } from './rows.ts';

/** Settings of this plugin. */
interface ReportSettings {
  /** The maximum number of reports per member and hour. */
  readonly 'reports.rate_limit': number;
}
const REPORTS: Bucket = { name: 'reports', window: 3_600 };

export interface ReportWriterDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly discussions: Pick<Discussions, 'findPost'>;
  readonly plugin: PluginHandle<ReportSettings>;
}

/** Creates and handles reports. The caller checks the permission. */
export class ReportWriter {
  readonly #deps: ReportWriterDeps;

  constructor(deps: ReportWriterDeps) {
    this.#deps = deps;
  }

  /**
   * Reports a post. While the member has an open report of it, that one is returned. Throws 404 if the viewer cannot
   * see the post, and 429 above the rate limit.
   */
  async report(
    viewer: Viewer,
    { postId, reason, note = '' }: { postId: string; reason: Reason; note?: string | undefined },
  ): Promise<ReportRow> {
    const { data, clock, discussions, plugin } = this.#deps;
    const post = await discussions.findPost(postId, viewer);
    if (!post) throw notFound('There is no such post');
    const open = sql`post_id = ${post.id} and reporter_id = ${viewer.id} and status = 'open'`;
    const before = await this.#one(open);
    if (before) return before;
    await this.#countReport(viewer);
    const now = new Date(clock.now());
    const id = createId(now.getTime());
    const made = await data.transaction(async () => {
      const row = await data.one(sql<ReportRow>`
        insert into report (id, post_id, discussion_id, reporter_id, author_id, reason, note, created_at, claimed_by,
            claimed_at)
        select ${id}::uuid, ${post.id}::uuid, ${post.discussion.id}::uuid, ${viewer.id}::uuid, ${post.authorId}::uuid,
          ${reason}, ${note.trim()},
          ${now}::timestamptz, other.claimed_by, other.claimed_at
        from (select 1) as one left join lateral (
          select claimed_by, claimed_at from report where post_id = ${post.id} and status = 'open'
            and claimed_by is not null order by id limit 1) other on true
        on conflict (post_id, reporter_id) where status = 'open' do nothing returning ${columns}`);
      if (row)
        await plugin.emit(reportCreated, { report: { id, post_id: post.id, reason, created_at: now.toISOString() } });
      return row;
    });
    const row = made ?? (await this.#one(open));
    if (!row) throw new HttpError(409, 'Your report of this post has just been handled; report it again if necessary');
    return row;
  }

  /** Closes all open reports of the post and resolves to this one. Throws 409 if it was handled already. */
  async handle(
    { id, post_id: postId }: ReportRow,
    { outcome, note = '' }: { outcome: Outcome; note?: string | undefined },
    viewer: Viewer,
  ): Promise<ReportRow> {
    const { data, clock, plugin } = this.#deps;
    const now = new Date(clock.now());
    const by = { handler_id: viewer.id ?? '', note: note.trim(), handled_at: now.toISOString() };
    const handled = await data.transaction(async () => {
      const open = (await lockOpen(data, postId)).map((one) => one.id);
      if (!open.includes(id)) return undefined;
      const rows = await data.all(sql<ReportRow>`
        update report set status = ${outcome}, handled_by = ${viewer.id}, handled_at = ${now}, handled_note = ${by.note}
        where id = any(${open}::uuid[]) returning ${columns}`);
      for (const { id: ended, post_id, discussion_id, reporter_id, author_id } of rows) {
        await plugin.emit(reportHandled, {
          report: { id: ended, lead_id: id, post_id, discussion_id, reporter_id, author_id, outcome, ...by },
        });
      }
      return rows.find((one) => one.id === id);
    });
    const row = handled ?? (await this.#one(sql`id = ${id}`));
    if (!row) throw notFound('There is no such report');
    if (row.status !== outcome) throw new HttpError(409, `This report was already ${row.status}`);
    return row;
  }

  #one(condition: RawBuilder<unknown>): Promise<ReportRow | undefined> {
    return this.#deps.data.one(sql<ReportRow>`select ${columns} from report where ${condition}`);
  }

  /** Counts a report against the viewer's rate limit; throws 429 when it is exceeded. */
  async #countReport(viewer: Viewer): Promise<void> {
    const { limits, plugin } = this.#deps;
    const rate = plugin.settings['reports.rate_limit'];
    const allowance = await limits.consume(REPORTS, memberKey(viewer.id!), limitFor(viewer, rate));
    assertAllowed(allowance, (seconds) => `You have reported many posts; wait ${seconds} s before the next`);
  }
}
