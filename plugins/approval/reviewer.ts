import { HttpError, InvalidInput, notFound, sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import type { Accounts } from 'parley-forum/plugins/accounts';
import { type Discussions, type PostReview, postReviewed, type PublishedPost } from 'parley-forum/plugins/discussions';
import type { HeldPosts } from './held-posts.ts';
import type { HeldRow } from './rows.ts';

interface ReviewerDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly clock: Clock;
  readonly access: Access;
  readonly accounts: Pick<Accounts, 'viewers'>;
  readonly discussions: Pick<Discussions, 'find' | 'publish'>;
  readonly posts: HeldPosts;
}

type Verdict = Pick<PostReview, 'outcome' | 'reason' | 'discussion' | 'post'>;

/**
 * Approves and rejects held posts. If two moderators decide at the same time, the second gets 409. The caller checks
 * the permission.
 */
export class Reviewer {
  readonly #deps: ReviewerDeps;

  constructor(deps: ReviewerDeps) {
    this.#deps = deps;
  }

  /** Publishes the post as its author, now. Throws 409 if that is no longer possible; the post then stays held. */
  async approve(id: string, reviewer: Viewer): Promise<PublishedPost> {
    const { data } = this.#deps;
    return data.transaction(async () => {
      const row = await this.#take(id, reviewer);
      const post = await this.#publish(row);
      // The text is now stored in the published post.
      await data.all(sql`update held_post set status = 'approved', draft = '{}', title = '', html = '',
        reviewed_at = ${this.#now()} where id = ${row.id}`);
      await this.#emit(row, reviewer, {
        outcome: 'approved',
        reason: '',
        discussion: { id: post.discussionId, number: post.discussionNumber, title: post.title },
        post: { id: post.postId, number: post.number },
      });
      return post;
    });
  }

  /** The author keeps the text for a while and is told the reason. */
  async reject(id: string, reason: string, reviewer: Viewer): Promise<void> {
    const { data, access, discussions } = this.#deps;
    await data.transaction(async () => {
      const row = await this.#take(id, reviewer);
      const said = reason.trim();
      await data.all(sql`update held_post set status = 'rejected', reviewed_at = ${this.#now()}, review_reason = ${said}
        where id = ${row.id}`);
      const head =
        row.discussion_id === null ? undefined : await discussions.find(row.discussion_id, access.unrestricted);
      await this.#emit(row, reviewer, {
        outcome: 'rejected',
        reason: said,
        discussion: head && { id: head.id, number: head.number, title: head.title },
      });
    });
  }

  /** Locks the post until the transaction ends. */
  async #take(id: string, reviewer: Viewer): Promise<HeldRow> {
    const { data, posts } = this.#deps;
    const found = await posts.find(id, reviewer);
    if (!found) throw notFound('There is no such held post');
    const row = await data.one(
      sql<Pick<HeldRow, 'status'>>`select status from held_post where id = ${found.id} for update`,
    );
    if (!row) throw new HttpError(409, 'This post was withdrawn by its author');
    if (row.status === 'approved') throw new HttpError(409, 'This post was already approved');
    if (row.status === 'rejected') throw new HttpError(409, 'This post was already rejected');
    return found;
  }

  async #publish({ author_id: authorId, category_id: categoryId, draft }: HeldRow): Promise<PublishedPost> {
    const { accounts, discussions } = this.#deps;
    const author = (await accounts.viewers([authorId])).get(authorId);
    if (!author) throw unpublishable('Its author’s account is closed');
    try {
      return await discussions.publish(author, 'title' in draft ? { ...draft, categoryId } : draft);
    } catch (error) {
      throw await this.#obstacle(error, draft);
    }
  }

  /** Translates the author's error into one that tells the moderator what is in the way. */
  async #obstacle(error: unknown, draft: HeldRow['draft']): Promise<unknown> {
    const { access, discussions } = this.#deps;
    if (error instanceof InvalidInput)
      return error.details.some(({ field }) => field === 'category_id')
        ? unpublishable('The category no longer exists, or the author can no longer see it')
        : unpublishable('The content is no longer accepted', error.details);
    if (!(error instanceof HttpError)) return error;
    if (error.status === 404) return unpublishable('The discussion is deleted, or the author can no longer see it');
    if (error.status !== 403) return error;
    const head = 'title' in draft ? undefined : await discussions.find(draft.discussionId, access.unrestricted);
    return unpublishable(head?.locked ? 'The discussion is locked' : 'The author may not currently write there');
  }

  #emit(row: HeldRow, reviewer: Viewer, said: Verdict): Promise<void> {
    const review = {
      id: row.id,
      author_id: row.author_id,
      reviewer_id: reviewer.id ?? '',
      reviewed_at: this.#now().toISOString(),
      ...said,
    };
    return this.#deps.plugin.emit(postReviewed, { review });
  }

  #now(): Date {
    return new Date(this.#deps.clock.now());
  }
}

const unpublishable = (why: string, details: HttpError['details'] = []): HttpError =>
  new HttpError(409, why, { code: 'not_publishable', details });
