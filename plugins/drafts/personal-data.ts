import { sql, type Data } from 'parley-forum';
import { jsonList, readInBatches, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly key: string;
  readonly fields: object;
  readonly updated_at: Date;
}

/** The drafts of a member. */
export const draftsPersonalData = (data: Data): PersonalData => ({
  name: 'drafts',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select key, fields, updated_at from draft
      where user_id = ${accountId} and key > ${after?.key ?? ''} order by key limit ${limit}`),
    );
    yield { path: 'drafts.json', content: jsonList(rows) };
  },
  async erase(accountId) {
    await data.all(sql`delete from draft where user_id = ${accountId}`);
  },
});
