import { sql, ZERO_ID, type Data } from 'parley-forum';
import { readInBatches, jsonList, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly id: string;
  readonly post_id: string;
  readonly reason: string;
  readonly note: string;
  readonly status: string;
  readonly created_at: Date;
}

/**
 * Exports the reports that a member made; those about the member belong to the moderators. On erasure the reports are
 * kept without their notes, so that decisions remain traceable.
 */
export const reportsData = (data: Data): PersonalData => ({
  name: 'reports',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select id, post_id, reason, note, status, created_at from report
      where reporter_id = ${accountId} and id > ${after?.id ?? ZERO_ID} order by id limit ${limit}`),
    );
    yield { path: 'reports.json', content: jsonList(rows) };
  },
  async erase(accountId) {
    await data.all(sql`update report set note = '' where reporter_id = ${accountId} and note <> ''`);
  },
});
