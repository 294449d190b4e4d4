import { HttpError, notFound, sql, type Clock, type Data, type PluginHandle, type RawBuilder } from '#core';
import { isStaff, type Viewer } from '#plugins/access';
import { createId, isId } from '#plugins/api';
import type { Discussions } from '#plugins/discussions';
import { retryAfter, type Bucket, type Limits } from '#plugins/limits';
import { reportCreated, reportHandled, type Outcome, type Reason } from '#plugins/reports';
import { columns, type ReportRow } from './rows.ts';

/** Settings of this plugin. */
export interface ReportSettings {
  /** Reports of one member in an hour. */
  readonly 'reports.rate_limit': number;
}
const REPORTS: Bucket = { name: 'reports', window: 3_600 };
/** Moderators may report this many times as much. */
const STAFF = 5;

export interface ReportingServices {
  readonly data: Data;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly discussions: Pick<Discussions, 'findPost' | 'visible'>;
  readonly plugin: PluginHandle<ReportSettings>;
}

/** Making and handling reports. Who may is checked by whoever calls. */
export class Reporting {
  readonly #services: ReportingServices;

  constructor(services: ReportingServices) {
    this.#services = services;
  }

  /** The same report again while one of the member's on the post is open. 404 for a post the viewer cannot see, 429 above the rate. */
  async report(viewer: Viewer, { postId, reason, note = '' }: { postId: string; reason: Reason; note?: string | undefined }): Promise<ReportRow> {
    const { data, clock, discussions, plugin } = this.#services;
    const post = await discussions.findPost(postId, viewer);
    if (!post) throw notFound('There is no such post');
    const open = sql`post_id = ${post.id} and reporter_id = ${viewer.id} and status = 'open'`;
    const before = await this.#one(open);
    if (before) return before;
    await this.#spend(viewer);
    const now = new Date(clock.now());
    const id = createId(now.getTime());
    const made = await data.transaction(async () => {
      const row = await data.one(sql<ReportRow>`
        insert into report (id, post_id, discussion_id, reporter_id, reason, note, created_at)
        values (${id}, ${post.id}, ${post.discussion.id}, ${viewer.id}, ${reason}, ${note.trim()}, ${now})
        on conflict (post_id, reporter_id) where status = 'open' do nothing returning ${columns}`);
      if (row) await plugin.emit(reportCreated, { report: { id, post_id: post.id, reason, created_at: now.toISOString() } });
      return row;
    });
    const row = made ?? (await this.#one(open));
    if (!row) throw new HttpError(409, 'Your report of this post has just been handled; report it again if you must');
    return row;
  }

  /** If the viewer may see what was reported. */
  async find(id: string, viewer: Viewer): Promise<ReportRow | undefined> {
    return isId(id) ? this.#one(sql`id = ${id} and discussion_id in (${await this.#services.discussions.visible(viewer)})`) : undefined;
  }

  /** 409 when it was handled otherwise. */
  async handle({ id }: ReportRow, { outcome, note = '' }: { outcome: Outcome; note?: string | undefined }, viewer: Viewer): Promise<ReportRow> {
    const { data, clock, plugin } = this.#services;
    const handled = await data.transaction(async () => {
      const row = await data.one(sql<ReportRow>`
        update report set status = ${outcome}, handled_by = ${viewer.id}, handled_at = ${new Date(clock.now())}, handled_note = ${note.trim()}
        where id = ${id} and status = 'open' returning ${columns}`);
      if (row) await plugin.emit(reportHandled, { report: { id, post_id: row.post_id, discussion_id: row.discussion_id, reporter_id: row.reporter_id, outcome } });
      return row;
    });
    const row = handled ?? (await this.#one(sql`id = ${id}`));
    if (!row) throw notFound('There is no such report');
    if (row.status !== outcome) throw new HttpError(409, `This report was ${row.status} already`);
    return row;
  }

  #one(condition: RawBuilder<unknown>): Promise<ReportRow | undefined> {
    return this.#services.data.one(sql<ReportRow>`select ${columns} from report where ${condition}`);
  }

  /** Takes one from the viewer's share; throws 429 when there is none left. */
  async #spend(viewer: Viewer): Promise<void> {
    const { limits, plugin } = this.#services;
    const rate = plugin.settings['reports.rate_limit'];
    const allowance = await limits.consume(REPORTS, viewer.id ?? '', isStaff(viewer) ? rate * STAFF : rate);
    if (allowance.allowed) return;
    const seconds = retryAfter(allowance);
    throw new HttpError(429, `You have reported many posts; wait ${seconds} s before the next`, { headers: { 'Retry-After': String(seconds) } });
  }
}
