import { sql, ZERO_ID, type Data } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { readInBatches, jsonList, type PersonalData } from 'parley-forum/ports/personal-data';

interface Row {
  readonly id: string;
  readonly action: string;
  readonly discussion_number: number | null;
  readonly post_number: number | null;
  readonly reason: string;
  readonly until: Date | null;
  readonly created_at: Date;
}
/** Reports and notes stay among the moderators. */
const DISCLOSED = sql`action not in ('report.resolved', 'report.dismissed', 'message-report.resolved',
  'message-report.dismissed', 'post.noted', 'post.note-removed')`;

/**
 * What moderators did to a member and their posts, without who did it. On erasure, the log and the notes remain with
 * the moderators, about a member without a name.
 */
export const moderationData = (data: Data, access: Access): PersonalData => ({
  name: 'moderation',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`
      select id, action, discussion_number, post_number, reason, until, created_at from moderation_entry
      where user_id = ${accountId} and actor_id <> ${accountId} and ${DISCLOSED} and id > ${after?.id ?? ZERO_ID} order by id limit ${limit}`),
    );
    yield { path: 'moderation.json', content: jsonList(rows) };
  },
  async erase(accountId, mode) {
    await access.release(accountId);
    await data.transaction(async () => {
      await data.all(sql`delete from moderation_ban where user_id = ${accountId}`);
      if (mode === 'remove')
        await data.all(sql`update moderation_entry set title = '' where user_id = ${accountId} and title <> ''`);
    });
  },
});
