import { sql, ZERO_ID, type Data } from 'parley-forum';
import { jsonList, readInBatches, type PersonalData } from 'parley-forum/ports/personal-data';
import type { HeldPosts } from './held-posts.ts';

interface Row {
  readonly id: string;
  readonly status: string;
  readonly discussion_id: string | null;
  readonly category_id: string;
  readonly draft: object;
  readonly created_at: Date;
  readonly reviewed_at: Date | null;
  readonly review_reason: string;
}

/** Exports a member's held and rejected posts. Approved ones are ordinary posts. */
export const approvalData = (data: Data, posts: HeldPosts): PersonalData => ({
  name: 'held posts',
  async *entries(accountId) {
    const rows = readInBatches<Row>((after, limit) =>
      data.all(sql<Row>`select id, status, discussion_id, category_id, draft, created_at, reviewed_at, review_reason
        from held_post
      where author_id = ${accountId} and status <> 'approved'
        and id > ${after?.id ?? ZERO_ID} order by id limit ${limit}`),
    );
    yield { path: 'held-posts.json', content: jsonList(rows) };
  },
  erase: (accountId) => posts.erase(accountId),
});
