import { createId, sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Author } from 'parley-forum/plugins/accounts';

import { memberNoted } from 'parley-forum/plugins/moderation';

/** A moderator's note about a member, for other moderators. */
export interface MemberNote {
  readonly id: string;
  readonly author: Author | undefined;
  readonly content: string;
  readonly created_at: string;
}
interface MemberNotesDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'authors'>;
}
/** The maximum number of notes shown for a member. */
const MAX_NOTES = 100;

/** Moderators' notes about members. The caller checks who may read and write them. */
export class MemberNotes {
  readonly #deps: MemberNotesDeps;

  constructor(deps: MemberNotesDeps) {
    this.#deps = deps;
  }

  async add(userId: string, content: string, viewer: Viewer): Promise<void> {
    const { plugin, data, clock } = this.#deps;
    const now = clock.now();
    await data.transaction(async () => {
      await data.all(sql`insert into moderation_note (id, user_id, author_id, content, created_at)
        values (${createId(now)}, ${userId}, ${viewer.id}, ${content.trim()}, ${new Date(now)})`);
      await plugin.emit(memberNoted, { userId, by: viewer.id ?? '' });
    });
  }

  /** The member's notes, newest first. */
  async about(userId: string): Promise<readonly MemberNote[]> {
    const { data, accounts } = this.#deps;
    const rows = await data.all(sql<{ id: string; author_id: string; content: string; created_at: Date }>`
      select id, author_id, content, created_at from moderation_note
      where user_id = ${userId} order by id desc limit ${MAX_NOTES}`);
    const authors = await accounts.authors(rows.map((row) => row.author_id));
    return rows.map((row) => ({
      id: row.id,
      author: authors.get(row.author_id),
      content: row.content,
      created_at: row.created_at.toISOString(),
    }));
  }
}
