import { sql, type Data } from 'parley-forum';
import { readInBatches, jsonList, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly discussion_id: string;
  readonly level: string;
  readonly created_at: Date;
}
const ZERO_ID = '00000000-0000-0000-0000-000000000000';

/** What a member follows and has muted. */
export const subscriptionsPersonalData = (data: Data): PersonalData => ({
  name: 'subscriptions',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select discussion_id, level, created_at from subscription
      where user_id = ${accountId} and discussion_id > ${after?.discussion_id ?? ZERO_ID} order by discussion_id limit ${limit}`),
    );
    yield { path: 'subscriptions.json', content: jsonList(rows) };
  },
  async erase(accountId) {
    await data.all(sql`delete from subscription where user_id = ${accountId}`);
  },
});
