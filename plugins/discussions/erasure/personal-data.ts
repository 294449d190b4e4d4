import { sql, ZERO_ID, type Data, type RawBuilder } from 'parley-forum';
import { readInBatches, jsonList, type PersonalData, type PersonalFile } from 'parley-forum/ports/personal-data';
import type { Erasure } from './erasure.ts';

interface OwnDiscussion {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly category_id: string;
  readonly created_at: Date;
  readonly deleted_at: Date | null;
}
interface OwnPost {
  readonly id: string;
  readonly discussion_id: string;
  readonly discussion: number;
  readonly number: number;
  readonly content: string;
  readonly reply_to_number: number | null;
  readonly created_at: Date;
  readonly edited_at: Date | null;
  readonly deleted_at: Date | null;
}
interface OwnRevision {
  readonly id: string;
  readonly post_id: string;
  readonly title: string | null;
  readonly content: string | null;
  readonly replaced_at: Date;
}

/** Number of posts in one Markdown file. */
const IN_A_FILE = 1_000;
/** Deleted posts come after the others, which have an index of their own. */
const STATES = [sql`is null`, sql`is not null`];

const markdownOf = ({ discussion, number, content, created_at: at }: OwnPost): string =>
  `## /d/${discussion}/${number} – ${at.toISOString()}\n\n${content}\n\n`;

/**
 * Everything a member wrote, as JSON and, unless deleted, as Markdown. Discussions of others are only referred to by
 * number.
 */
class WrittenContent {
  readonly #data: Data;
  readonly #accountId: string;

  constructor(data: Data, accountId: string) {
    this.#data = data;
    this.#accountId = accountId;
  }

  async *files(): AsyncGenerator<PersonalFile, void> {
    yield { path: 'discussions.json', content: jsonList(this.#discussions()) };
    yield { path: 'posts.json', content: jsonList(this.#posts(STATES)) };
    yield { path: 'revisions.json', content: jsonList(this.#revisions()) };
    yield* this.#markdown();
  }

  async *#discussions(): AsyncGenerator<OwnDiscussion, void> {
    for (const state of STATES) {
      yield* readInBatches((after, limit) =>
        this.#data.all(sql<OwnDiscussion>`select id, number, title, category_id, created_at, deleted_at from discussion
        where author_id = ${this.#accountId} and deleted_at ${state} and id > ${after?.id ?? ZERO_ID} order by id
          limit ${limit}`),
      );
    }
  }

  async *#posts(states: readonly RawBuilder<unknown>[]): AsyncGenerator<OwnPost, void> {
    for (const state of states) {
      yield* readInBatches((after, limit) =>
        this.#data.all(sql<OwnPost>`
        select p.id, p.discussion_id, d.number as discussion, p.number, p.content, p.reply_to_number, p.created_at,
          p.edited_at, p.deleted_at
        from post p join discussion d on d.id = p.discussion_id
        where p.author_id = ${this.#accountId} and p.deleted_at ${state} and p.moved_post_id is null
          and p.id > ${after?.id ?? ZERO_ID} order by p.id limit ${limit}`),
      );
    }
  }

  #revisions(): AsyncIterable<OwnRevision> {
    return readInBatches((after, limit) =>
      this.#data.all(sql<OwnRevision>`
      select r.id, r.post_id, r.title, r.content, r.created_at as replaced_at from post_revision r
      join post p on p.id = r.post_id
      where p.author_id = ${this.#accountId} and r.id > ${after?.id ?? ZERO_ID} order by r.id limit ${limit}`),
    );
  }

  /** Each file continues where the previous one ended. */
  async *#markdown(): AsyncGenerator<PersonalFile, void> {
    const posts = this.#posts(STATES.slice(0, 1));
    let next = await posts.next();
    const part = async function* (): AsyncGenerator<string, void> {
      for (let count = 0; count < IN_A_FILE && !next.done; count++) {
        yield markdownOf(next.value);
        next = await posts.next();
      }
    };
    for (let file = 1; !next.done; file++) yield { path: `posts/${String(file).padStart(3, '0')}.md`, content: part() };
  }
}

export const discussionsData = (data: Data, erasure: Erasure): PersonalData => ({
  name: 'discussions and posts',
  entries: (accountId) => new WrittenContent(data, accountId).files(),
  // Anonymising needs no changes here, because it changes the account only.
  erase: async (accountId, mode, signal) => (mode === 'remove' ? erasure.erase(accountId, signal) : undefined),
});
