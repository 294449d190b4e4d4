import { sql, type Data } from 'parley-forum';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { pageOfRows, type Page } from 'parley-forum/plugins/api';
import type { ParticipantRecord } from 'parley-forum/plugins/discussions';
import { readCursor } from '../counters/author-statistics.ts';

interface ParticipantsDeps {
  readonly data: Data;
  readonly accounts: Pick<Accounts, 'authors'>;
}
interface Row {
  readonly id: string;
  readonly posts: number;
}
export interface ParticipantList {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

/** The participants of a discussion. The caller checks who may read it. */
export class Participants {
  readonly #deps: ParticipantsDeps;

  constructor(deps: ParticipantsDeps) {
    this.#deps = deps;
  }

  /** Those with the most posts first; ties are broken by the greater id. Two statements. */
  async list(discussionId: string, { limit, offset = 0, cursor }: ParticipantList): Promise<Page<ParticipantRecord>> {
    const { accounts, data } = this.#deps;
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const beyond = after ? sql` and (posts, user_id) < (${after[0]}::bigint, ${after[1]}::uuid)` : sql``;
    const rows = await data.all(sql<Row>`select user_id as id, posts from discussion_participant
      where discussion_id = ${discussionId}${beyond}
      order by posts desc, user_id desc limit ${limit + 1} offset ${offset}`);
    const page = pageOfRows(rows, limit, ({ posts, id }) => [posts, id]);
    const authors = await accounts.authors(page.items.map(({ id }) => id));
    const items = page.items.flatMap(({ id, posts }) => {
      const user = authors.get(id);
      return user ? [{ user, post_count: posts }] : [];
    });
    return { ...page, items };
  }
}
