import { createId, HttpError, sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Author } from 'parley-forum/plugins/accounts';

import { reportWorkedOn } from 'parley-forum/plugins/reports';
import { lockOpen, type ReportRow } from './rows.ts';

/** A moderator's note on a report. */
export interface ReportNote {
  readonly id: string;
  readonly author: Author | undefined;
  readonly content: string;
  readonly created_at: string;
}
interface ClaimsDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'authors'>;
}
/** The maximum number of notes shown on a page. */
const MAX_NOTES = 100;

/** Claims of reports, and moderators' notes on them. The caller checks the permission. */
export class Claims {
  readonly #deps: ClaimsDeps;

  constructor(deps: ClaimsDeps) {
    this.#deps = deps;
  }

  /**
   * Claims all open reports of the post that nobody else works on. If two moderators claim at the same time, the second
   * gets 409.
   */
  async claim({ id, post_id: postId }: ReportRow, viewer: Viewer): Promise<void> {
    const { data, clock } = this.#deps;
    await data.transaction(async () => {
      const claimable = (await lockOpen(data, postId))
        .filter((row) => row.claimed_by === null || row.claimed_by === viewer.id)
        .map((row) => row.id);
      if (!claimable.includes(id))
        throw new HttpError(409, 'Someone else is already working on this report, or has handled it');
      await data.all(
        sql`update report set claimed_by = ${viewer.id}, claimed_at = ${new Date(clock.now())}
          where id = any(${claimable}::uuid[])`,
      );
      await this.#emitWorkedOn(id, 'claimed', viewer);
    });
  }

  /** Releases all reports of the post. Any moderator may release what a colleague claimed. */
  async release({ id, post_id: postId }: ReportRow, viewer: Viewer): Promise<void> {
    const { data } = this.#deps;
    await data.transaction(async () => {
      const claimed = (await lockOpen(data, postId)).filter((row) => row.claimed_by !== null).map((row) => row.id);
      if (claimed.length === 0) return;
      await data.all(sql`update report set claimed_by = null, claimed_at = null where id = any(${claimed}::uuid[])`);
      await this.#emitWorkedOn(id, 'released', viewer);
    });
  }

  async note({ id }: ReportRow, content: string, viewer: Viewer): Promise<void> {
    const { data, clock } = this.#deps;
    const now = clock.now();
    await data.transaction(async () => {
      await data.all(sql`insert into report_note (id, report_id, author_id, content, created_at)
        values (${createId(now)}, ${id}, ${viewer.id}, ${content.trim()}, ${new Date(now)})`);
      await this.#emitWorkedOn(id, 'noted', viewer);
    });
  }

  /** Notes on any of these reports, oldest first. */
  async notes(reportIds: readonly string[]): Promise<readonly ReportNote[]> {
    const { data, accounts } = this.#deps;
    const rows = await data.all(sql<{ id: string; author_id: string; content: string; created_at: Date }>`
      select id, author_id, content, created_at from report_note where report_id = any(${reportIds}::uuid[])
      order by id limit ${MAX_NOTES}`);
    const authors = await accounts.authors(rows.map((row) => row.author_id));
    return rows.map((row) => ({
      id: row.id,
      author: authors.get(row.author_id),
      content: row.content,
      created_at: row.created_at.toISOString(),
    }));
  }

  #emitWorkedOn(report: string, what: 'claimed' | 'released' | 'noted', { id = '' }: Viewer): Promise<void> {
    return this.#deps.plugin.emit(reportWorkedOn, { report, by: id, what });
  }
}
