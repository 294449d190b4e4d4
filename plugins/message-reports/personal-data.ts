import { sql, ZERO_ID, type Data } from 'parley-forum';
import { jsonList, readInBatches, repeatInBatches, type PersonalData } from 'parley-forum/ports/personal-data';
import type { ReportRow } from './rows.ts';

type Row = Pick<ReportRow, 'id' | 'message_id' | 'reason' | 'note' | 'status' | 'created_at'>;

/**
 * Exports the reports that a member made, without the messages, which belong to others. On erasure, the copies of the
 * member's own messages are emptied, and their reports lose the name and the note.
 */
export const messageReportsData = (data: Data): PersonalData => ({
  name: 'reports of private messages',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select id, message_id, reason, note, status, created_at from message_report
        where reporter_id = ${accountId} and id > ${after?.id ?? ZERO_ID} order by id limit ${limit}`),
    );
    yield { path: 'message-reports.json', content: jsonList(rows) };
  },
  async erase(accountId, _mode, signal) {
    await repeatInBatches(signal, async (limit) => {
      const rows = await data.all(sql`update message_report set content = '', html = '' where id in (
        select id from message_report where author_id = ${accountId} and content <> '' order by id limit ${limit})
        returning id`);
      return rows.length;
    });
    await repeatInBatches(signal, async (limit) => {
      const rows = await data.all(sql`update message_report set reporter_id = null, note = '' where id in (
        select id from message_report where reporter_id = ${accountId} order by id limit ${limit}) returning id`);
      return rows.length;
    });
  },
});
