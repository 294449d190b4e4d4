import { sql, ZERO_ID, type Data } from 'parley-forum';
import { jsonList, readInBatches, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly discussion_id: string;
  readonly post_id: string;
  readonly accepted_at: Date;
}

/**
 * Exports which answers a member accepted. Accepted answers are kept when the member leaves, because others look for
 * them.
 */
export const answersPersonalData = (data: Data): PersonalData => ({
  name: 'answers',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select discussion_id, post_id, accepted_at from answer
      where accepted_by = ${accountId} and discussion_id > ${after?.discussion_id ?? ZERO_ID} order by discussion_id
        limit ${limit}`),
    );
    yield { path: 'accepted-answers.json', content: jsonList(rows) };
  },
  async erase(accountId) {
    await data.all(sql`update answer set accepted_by = null where accepted_by = ${accountId}`);
  },
});
