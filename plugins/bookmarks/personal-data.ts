import { sql, ZERO_ID, type Data } from 'parley-forum';
import { jsonList, readInBatches, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly id: string;
  readonly post_id: string;
  readonly note: string;
  readonly remind_at: Date | null;
  readonly reminded_at: Date | null;
  readonly created_at: Date;
}

/** A member's bookmarks and notes. A reminder job whose bookmark was erased finds nothing and does nothing. */
export const bookmarksPersonalData = (data: Data): PersonalData => ({
  name: 'bookmarks',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select id, post_id, note, remind_at, reminded_at, created_at from bookmark
      where user_id = ${accountId} and id > ${after?.id ?? ZERO_ID} order by id limit ${limit}`),
    );
    yield { path: 'bookmarks.json', content: jsonList(rows) };
  },
  async erase(accountId) {
    await data.all(sql`delete from bookmark where user_id = ${accountId}`);
  },
});
