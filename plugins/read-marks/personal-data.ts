import { sql, ZERO_ID, type Data } from 'parley-forum';
import { jsonList, readInBatches, repeatInBatches, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly discussion_id: string;
  readonly last_read_number: number;
  readonly read_at: Date;
}

/** How far a member has read. */
export const readMarksPersonalData = (data: Data): PersonalData => ({
  name: 'read marks',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select discussion_id, last_read_number, read_at from read_mark
      where user_id = ${accountId} and discussion_id > ${after?.discussion_id ?? ZERO_ID} order by discussion_id
        limit ${limit}`),
    );
    yield { path: 'read-marks.json', content: jsonList(rows) };
  },
  async erase(accountId, _mode, signal) {
    await repeatInBatches(signal, async (limit) => {
      const gone = await data.all(sql`delete from read_mark where user_id = ${accountId} and discussion_id in (
        select discussion_id from read_mark where user_id = ${accountId} limit ${limit}) returning 1`);
      return gone.length;
    });
    await data.all(sql`delete from read_start where user_id = ${accountId}`);
  },
});
