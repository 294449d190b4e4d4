import { createId, HttpError, notFound, sql, type Clock, type Data } from 'parley-forum';
import { isAdmin, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { isId } from 'parley-forum/plugins/api';
import type { PostHead } from 'parley-forum/plugins/discussions';
import type { ActionName, PostNote } from 'parley-forum/plugins/moderation';
import type { ModerationLog } from './moderation-log.ts';

interface PostNotesDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly accounts: Pick<Accounts, 'authors'>;
  readonly log: ModerationLog;
}
interface NoteRow {
  readonly id: string;
  readonly post_id: string;
  readonly author_id: string;
  readonly content: string;
  readonly created_at: Date;
}
/** The maximum number of notes on a post. */
const MAX_NOTES = 20;

/** Moderators' notes on posts, for each other. The caller checks who may read and write them. */
export class PostNotes {
  readonly #deps: PostNotesDeps;

  constructor(deps: PostNotesDeps) {
    this.#deps = deps;
  }

  /** Throws 409 if the post has as many notes as it can have. */
  async add(post: PostHead, content: string, viewer: Viewer): Promise<PostNote> {
    const { data, clock } = this.#deps;
    const now = clock.now();
    const id = createId(now);
    await data.transaction(async () => {
      await data.lock(`moderation:notes:${post.id}`);
      const [added] = await data.all(sql<{ id: string }>`
        insert into moderation_post_note (id, post_id, author_id, content, created_at)
        select ${id}::uuid, ${post.id}::uuid, ${viewer.id}::uuid, ${content.trim()}, ${new Date(now)}::timestamptz
        where (select count(*) from moderation_post_note where post_id = ${post.id}) < ${MAX_NOTES} returning id`);
      if (!added) throw new HttpError(409, `A post can have at most ${MAX_NOTES} notes; remove one first`);
      await this.#record('post.noted', post, viewer);
    });
    const notes = (await this.of([post.id], viewer)).get(post.id) ?? [];
    return notes.find((note) => note.id === id)!;
  }

  /** Moderators remove their own notes, administrators any. */
  async remove(post: PostHead, id: string, viewer: Viewer): Promise<void> {
    const { data } = this.#deps;
    await data.transaction(async () => {
      const row = isId(id)
        ? await data.one(sql<NoteRow>`select id, author_id from moderation_post_note
            where id = ${id} and post_id = ${post.id} for update`)
        : undefined;
      if (!row) throw notFound('There is no such note');
      if (!mayRemove(row, viewer)) throw new HttpError(403, 'Only its author and administrators may remove a note');
      await data.all(sql`delete from moderation_post_note where id = ${id}`);
      await this.#record('post.note-removed', post, viewer);
    });
  }

  /** The notes on each post, oldest first; posts without notes are missing. */
  async of(postIds: readonly string[], viewer: Viewer): Promise<ReadonlyMap<string, readonly PostNote[]>> {
    const { data, accounts } = this.#deps;
    const rows = await data.all(sql<NoteRow>`
      select id, post_id, author_id, content, created_at from moderation_post_note
      where post_id = any(${postIds.filter(isId)}::uuid[]) order by id`);
    if (rows.length === 0) return new Map();
    const authors = await accounts.authors(rows.map((row) => row.author_id));
    const notes = Map.groupBy(rows, (row) => row.post_id);
    return new Map(
      [...notes].map(([postId, all]) => [
        postId,
        all.map((row) => ({
          id: row.id,
          content: row.content,
          author: authors.get(row.author_id) ?? null,
          created_at: row.created_at.toISOString(),
          can_remove: mayRemove(row, viewer),
        })),
      ]),
    );
  }

  /** Never with the text of the note, since entries are never removed from the log. */
  #record(action: ActionName, { id, number, authorId, discussion }: PostHead, viewer: Viewer): Promise<void> {
    const now = this.#deps.clock.now();
    return this.#deps.log.add({
      id: createId(now),
      action,
      actor_id: viewer.id ?? '',
      user_id: authorId,
      discussion: { id: discussion.id, number: discussion.number, title: discussion.title },
      post: { id, number },
      reason: '',
      created_at: new Date(now).toISOString(),
    });
  }
}

const mayRemove = ({ author_id: authorId }: Pick<NoteRow, 'author_id'>, viewer: Viewer): boolean =>
  authorId === viewer.id || isAdmin(viewer);
