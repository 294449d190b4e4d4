import { HttpError, InvalidInput, type Cache, type Data, type PluginHandle } from 'parley-forum';
import type { Access, Member, Viewer } from 'parley-forum/plugins/access';
import { acceptAnswers, answerAccepted, answersTag, answerWithdrawn } from 'parley-forum/plugins/answers';
import {
  discussionCacheTags,
  postLooksChanged,
  type Categories,
  type DiscussionHead,
  type Discussions,
  type PostHead,
} from 'parley-forum/plugins/discussions';
import type { Live } from 'parley-forum/ports/live';
import type { AnswerStore } from './answer-store.ts';

export interface AnswerDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly cache: Cache;
  readonly access: Access;
  readonly categories: Categories;
  readonly discussions: Pick<Discussions, 'posts'>;
  readonly live: Pick<Live, 'send'> | undefined;
  readonly store: AnswerStore;
}

/** Accepts answers, replaces them and withdraws the acceptance. */
export class AnswerService {
  readonly #deps: AnswerDeps;

  constructor(deps: AnswerDeps) {
    this.#deps = deps;
  }

  /** Whether the viewer may accept an answer in a discussion they can see: its author and moderators may. */
  mayDecide(discussion: DiscussionHead, viewer: Viewer): boolean {
    const { access, categories } = this.#deps;
    if (viewer.id === undefined || !access.allows(viewer, acceptAnswers)) return false;
    const category = categories.find(discussion.categoryId, viewer);
    return (
      viewer.id === discussion.authorId || (category !== undefined && categories.rights(category, viewer).moderate)
    );
  }

  /**
   * Accepts the post as the answer, replacing a previous one. The caller checks the permission. Throws 400 if the post
   * cannot be an answer, and 409 if the category does not ask for answers.
   */
  async accept(post: PostHead, viewer: Member): Promise<void> {
    const { store } = this.#deps;
    const wrong = (message: string): InvalidInput => new InvalidInput([{ field: 'post_id', message }]);
    if (post.number === 1) throw wrong('is the question itself');
    if (post.deleted) throw wrong('is a deleted post');
    if (!(await store.categories()).has(post.discussion.categoryId))
      throw new HttpError(409, 'The category of this discussion is not a question category');
    const [former] = await store.ofDiscussions([post.discussion.id]);
    await this.#write(
      post,
      viewer,
      async () => {
        await store.forgetElsewhere(post.discussion.id, post.id);
        return store.accept(post.discussion.id, post.id, viewer.id);
      },
      answerAccepted,
      former?.postId,
    );
  }

  /** Does nothing if the post is not the accepted answer. The caller checks the permission. */
  withdraw(post: PostHead, viewer: Member): Promise<void> {
    return this.#write(post, viewer, () => this.#deps.store.withdraw(post.discussion.id, post.id), answerWithdrawn);
  }

  async #write(
    { id, number, authorId, discussion }: PostHead,
    viewer: Member,
    work: () => Promise<boolean>,
    action: typeof answerAccepted,
    formerId?: string,
  ): Promise<void> {
    const { data, cache, plugin } = this.#deps;
    const changed = await data.transaction(async () => {
      if (!(await work())) return false;
      await plugin.emit(action, {
        discussion_id: discussion.id,
        post_id: id,
        author_id: authorId,
        by: viewer.id,
        moderated: discussion.authorId !== viewer.id,
      });
      return true;
    });
    if (!changed) return;
    await cache.purge(answersTag, discussionCacheTags.lists, discussionCacheTags.discussion(discussion.id));
    await this.#notifyPages(discussion.id, number, formerId);
  }

  /** Tells open pages that the mark of the answer and what is shown with the question changed. */
  async #notifyPages(discussionId: string, answer: number, formerId: string | undefined): Promise<void> {
    const { access, discussions, live } = this.#deps;
    if (!live) return;
    const former = formerId === undefined ? [] : await discussions.posts([formerId], access.unrestricted);
    for (const number of new Set([1, answer, ...former.map((post) => post.number)]))
      live.send(postLooksChanged, { discussion_id: discussionId, number });
  }
}
