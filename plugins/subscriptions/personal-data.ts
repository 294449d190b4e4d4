import { sql, ZERO_ID, type Data } from 'parley-forum';
import { readInBatches, jsonList, type PersonalData } from 'parley-forum/ports/personal-data';
import type { FollowService } from './follow-service.ts';

interface Row {
  readonly discussion_id: string;
  readonly level: string;
  readonly created_at: Date;
}

/** What a member follows and has muted. */
export const subscriptionsPersonalData = (data: Data, follows: FollowService): PersonalData => ({
  name: 'subscriptions',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select discussion_id, level, created_at from subscription
      where user_id = ${accountId} and discussion_id > ${after?.discussion_id ?? ZERO_ID} order by discussion_id
        limit ${limit}`),
    );
    yield { path: 'subscriptions.json', content: jsonList(rows) };
    const followed = await data.all(sql<object>`select kind, subject_id, is_muted, is_watched, created_at from follow
      where user_id = ${accountId} order by created_at desc, kind, subject_id`);
    yield { path: 'follows.json', content: jsonList(followed) };
  },
  async erase(accountId) {
    await data.all(sql`delete from subscription where user_id = ${accountId}`);
    await data.all(sql`delete from follow where user_id = ${accountId}`);
    await follows.forget({ kind: 'member', id: accountId });
  },
});
