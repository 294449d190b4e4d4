import { slugOf } from 'parley-forum/plugins/api';
import {
  createId,
  HttpError,
  InvalidInput,
  notFound,
  sql,
  type Cache,
  type Clock,
  type Data,
  type Environment,
  type PluginHandle,
  type RawBuilder,
} from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  discussionCreated,
  postCreated,
  postSent,
  discussionCacheTags,
  type Category,
  type DiscussionHead,
  type HeldPost,
  type NewDiscussion,
  type NewReply,
  type CreatedReply,
  type CreatedDiscussion,
  type PublishedPost,
  type SentPost,
} from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';
import type { AcceptedDraft, Drafts, SaveField } from './drafts.ts';
import { discussionEvent, postEvent } from '../events/event-payloads.ts';
import { discussionPath, postPath } from '../identifiers.ts';
import type { Projections } from '../projections/projections.ts';
import { countTag, headTag, type AnswerablePost, type DiscussionReader } from '../reading/reader.ts';
import type { Rights } from '../rights.ts';
import { postColumns, type PostRow } from '../rows.ts';
import { categoryRemovedMeanwhile, changedMeanwhile } from './conflicts.ts';

export interface WriterDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly environment: Environment;
  readonly plugin: PluginHandle;
  readonly categories: CategoryService;
  readonly drafts: Drafts;
  readonly projections: Projections;
  readonly reader: DiscussionReader;
  readonly rights: Rights;
}
/** A reply with the inserted row. */
export interface WrittenReply extends CreatedReply {
  readonly row: PostRow;
}
/** The outcome of a post that a member sent: it was held by a plugin, or written. */
export type SentOutcome<Written> =
  | { readonly held: HeldPost; readonly written?: never }
  | { readonly written: Written; readonly held?: never };
/** Number of rows over which a category's counters are spread. */
const COUNTER_PARTS = 8;

interface NewPost {
  readonly id: string;
  readonly author: string;
  readonly content: string;
  readonly html: string;
  readonly now: Date;
  readonly replyTo: number | null;
}
/** A discussion that has been accepted. */
interface AcceptedDiscussion extends AcceptedDraft {
  readonly category: Category;
  readonly fields: readonly SaveField[];
}
/** A reply that has been accepted. */
interface AcceptedReply {
  readonly discussion: DiscussionHead;
  readonly content: string;
  readonly html: string;
  readonly answered: AnswerablePost | undefined;
  /** The reply was held before and is now published. */
  readonly held?: boolean;
}
/** A random counter row of the category: any will do, because their sum counts. */
const randomPart = (): number => Math.floor(Math.random() * COUNTER_PARTS);

/**
 * Writes new discussions and replies with one statement each, so that a busy discussion is locked as briefly as
 * possible.
 */
export class DiscussionWriter {
  readonly #deps: WriterDeps;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
  }

  async start(viewer: Viewer, draft: NewDiscussion): Promise<CreatedDiscussion> {
    const accepted = await this.#acceptDiscussion(viewer, draft);
    await this.#deps.rights.consumeRateLimit('discussion', viewer);
    return this.#writeDiscussion(viewer, accepted);
  }

  async reply(viewer: Viewer, draft: NewReply): Promise<WrittenReply> {
    const accepted = await this.#acceptReply(viewer, draft);
    await this.#deps.rights.consumeRateLimit('post', viewer);
    return this.#writeReply(viewer, accepted);
  }

  /** Like `start`, but for what a member sends: a plugin may hold it. */
  async sendDiscussion(viewer: Viewer, draft: NewDiscussion): Promise<SentOutcome<CreatedDiscussion>> {
    const { drafts, rights } = this.#deps;
    const accepted = await this.#acceptDiscussion(viewer, draft);
    await rights.consumeRateLimit('discussion', viewer);
    const { title, content, html, category } = accepted;
    const held = await this.#hold({
      author: viewer,
      title,
      content,
      html,
      categoryId: category.id,
      draft: async () => ({
        title: draft.title,
        content: draft.content,
        categoryId: category.id,
        fields: await drafts.keptFields(draft.fields ?? {}, viewer),
      }),
    });
    return held ? { held } : { written: await this.#writeDiscussion(viewer, accepted) };
  }

  /** Like `reply`, but for what a member sends. */
  async sendReply(viewer: Viewer, draft: NewReply): Promise<SentOutcome<WrittenReply>> {
    const { rights } = this.#deps;
    const accepted = await this.#acceptReply(viewer, draft);
    await rights.consumeRateLimit('post', viewer);
    const { content, html, discussion, answered } = accepted;
    const held = await this.#hold({
      author: viewer,
      title: '',
      content,
      html,
      categoryId: discussion.categoryId,
      discussion,
      draft: () => Promise.resolve({ discussionId: discussion.id, content: draft.content, replyTo: answered?.id }),
    });
    return held ? { held } : { written: await this.#writeReply(viewer, accepted) };
  }

  /** Writes a held post. The rate limit was applied when it was sent. */
  async publish(author: Viewer, draft: NewDiscussion | NewReply): Promise<PublishedPost> {
    if ('title' in draft) {
      const accepted = await this.#acceptDiscussion(author, draft);
      const { discussionId, number, postId, path } = await this.#writeDiscussion(author, accepted);
      return { discussionId, discussionNumber: number, title: accepted.title, postId, number: 1, path };
    }
    const accepted = await this.#acceptReply(author, draft, { mayBeGone: true });
    const { id: discussionId, number: discussionNumber, title } = accepted.discussion;
    const { id: postId, number, path } = await this.#writeReply(author, { ...accepted, held: true });
    return { discussionId, discussionNumber, title, postId, number, path };
  }

  #hold(post: SentPost): Promise<HeldPost | null> {
    return this.#deps.plugin.filter(postSent, null, post);
  }

  async #acceptDiscussion(viewer: Viewer, draft: NewDiscussion): Promise<AcceptedDiscussion> {
    const { drafts, categories } = this.#deps;
    await categories.refresh();
    const category = categories.find(draft.categoryId, viewer);
    if (!category) throw new InvalidInput([{ field: 'category_id', message: 'is not a category you can see' }]);
    if (viewer.id === undefined || !categories.rights(category, viewer).create)
      throw new HttpError(403, 'You may not start discussions in this category');
    const accepted = await drafts.accept(draft, viewer, category.id);
    return { ...accepted, category, fields: drafts.fields(draft.fields ?? {}, viewer) };
  }

  async #writeDiscussion(
    viewer: Viewer,
    { title, content, html, category, fields }: AcceptedDiscussion,
  ): Promise<CreatedDiscussion> {
    const { data, clock, plugin, environment, cache, projections } = this.#deps;
    const now = new Date(clock.now());
    const [id, postId, slug] = [createId(now.getTime()), createId(now.getTime()), slugOf(title, 'discussion')];
    const author = { id: viewer.id!, username: viewer.username ?? '' };
    const number = await data.transaction(async (em) => {
      const written = await data.one(sql<{ number: number }>`
        with k as (
          select id from category where id = ${category.id} for key share
        ), d as (
          insert into discussion (id, title, slug, category_id, author_id, first_post_id, last_post_at, last_post_id,
              last_author_id, created_at, updated_at)
          select ${id}::uuid, ${title}, ${slug}, k.id, ${author.id}::uuid, ${postId}::uuid, ${now}::timestamptz,
            ${postId}::uuid, ${author.id}::uuid, ${now}::timestamptz,
            ${now}::timestamptz from k returning id, number
        ), p as (
          insert into post (id, discussion_id, number, author_id, content, html, created_at, updated_at)
          select ${postId}, d.id, 1, ${author.id}, ${content}, ${html}, ${now}, ${now} from d
        ), m as (
          insert into discussion_participant (discussion_id, user_id, posts) select d.id, ${author.id}, 1 from d
        ), c as (
          insert into category_count (category_id, part, discussions, posts)
          select ${category.id}, ${randomPart()}, 1, 1 from d
          on conflict (category_id, part) do update set discussions = category_count.discussions + 1,
            posts = category_count.posts + 1
          returning category_id
        ), a as (
          insert into discussion_author (user_id, category_id, discussions, posts)
          select ${author.id}, c.category_id, 1, 1 from c
          on conflict (user_id, category_id) do update set discussions = discussion_author.discussions + 1,
            posts = discussion_author.posts + 1
        ) select number from d`);
      if (!written) throw categoryRemovedMeanwhile();
      for (const save of fields) await save(em, id);
      const post = { id: postId, number: 1, authorId: author.id, content, html, createdAt: now };
      await projections.posts(em, { id, title, categoryId: category.id }, [post]);
      const event = discussionEvent(
        environment.baseUrl,
        { id, number: written.number, title, slug, categoryId: category.id, createdAt: now },
        author,
      );
      await plugin.emit(discussionCreated, { discussion: event, content });
      return written.number;
    });
    await cache.purge(discussionCacheTags.lists, headTag(number), countTag(category.id));
    return { discussionId: id, number, postId, path: discussionPath({ number, slug }) };
  }

  async #acceptReply(viewer: Viewer, draft: NewReply, { mayBeGone = false } = {}): Promise<AcceptedReply> {
    const { drafts, rights, reader } = this.#deps;
    const discussion = await reader.find(draft.discussionId, viewer);
    if (!discussion) throw notFound('There is no such discussion');
    rights.requireReply(discussion, viewer);
    const answered = await this.#answered(discussion, draft.replyTo, mayBeGone);
    const { content, html } = await drafts.accept({ content: draft.content }, viewer, discussion.categoryId);
    return { discussion, content, html, answered };
  }

  async #writeReply(viewer: Viewer, accepted: AcceptedReply): Promise<WrittenReply> {
    const { discussion } = accepted;
    const row = await this.#write(viewer, accepted);
    await this.#deps.cache.purge(
      discussionCacheTags.lists,
      discussionCacheTags.discussion(discussion.id),
      countTag(discussion.categoryId),
    );
    return { id: row.id, number: row.number, path: postPath(discussion.number, row.number), row };
  }

  /**
   * Undefined for the first post, as for none. A post that the viewer cannot see is rejected like one that does not
   * exist.
   */
  async #answered(
    discussion: DiscussionHead,
    replyTo: string | undefined,
    mayBeGone: boolean,
  ): Promise<AnswerablePost | undefined> {
    if (replyTo === undefined) return undefined;
    const found = await this.#deps.reader.answerable(discussion, replyTo);
    if (!found && mayBeGone) return undefined;
    if (!found)
      throw new InvalidInput([
        { field: 'reply_to_id', message: 'is not a post of this discussion, or no longer exists' },
      ]);
    return found.number === 1 ? undefined : found;
  }

  async #write(viewer: Viewer, { discussion, content, html, answered, held }: AcceptedReply): Promise<PostRow> {
    const { data, clock, plugin, environment, projections } = this.#deps;
    const now = new Date(clock.now());
    const [id, author] = [createId(now.getTime()), { id: viewer.id!, username: viewer.username ?? '' }];
    const replyTo = answered?.number ?? null;
    return data.transaction(async (em) => {
      const row = await data.one(replyStatement({ id, author: author.id, content, html, now, replyTo }, discussion));
      if (!row) throw changedMeanwhile();
      const deletedAt = discussion.deleted ? now : null;
      await projections.posts(em, { ...discussion, deletedAt }, [
        { id, number: row.number, authorId: author.id, content, html, createdAt: now },
      ]);
      await plugin.emit(postCreated, {
        post: postEvent(
          environment.baseUrl,
          { ...row, html, createdAt: now, replyToNumber: replyTo },
          discussion,
          author,
        ),
        category_id: discussion.categoryId,
        ...(answered && { reply_to_author_id: answered.authorId }),
        ...(held && { was_held: true }),
      });
      return row;
    });
  }
}

/**
 * Each part reads from the previous one, because PostgreSQL guarantees no order of execution otherwise; this way, locks
 * are taken in the order documented in counters.ts. Posts that a moderator writes in a deleted discussion are counted
 * once it is restored. The transaction that locks the discussion's row gets the next number, so numbers have no gaps.
 */
function replyStatement(
  { id, author, content, html, now, replyTo }: NewPost,
  discussion: DiscussionHead,
): RawBuilder<PostRow> {
  return sql<PostRow>`
    with l as (
      select id from discussion
      where id = ${discussion.id} and category_id = ${discussion.categoryId} and is_locked = ${discussion.locked} and (deleted_at is not null) = ${discussion.deleted}
      for no key update
    ), m as (
      insert into discussion_participant (discussion_id, user_id, posts) select l.id, ${author}, 1 from l
      on conflict (discussion_id, user_id) do update set posts = discussion_participant.posts + 1
      returning discussion_id, (posts = 1)::int as fresh
    ), d as (
      update discussion u
      set last_number = u.last_number + 1, reply_count = u.reply_count + 1,
        participant_count = u.participant_count + m.fresh,
        last_post_at = ${now}, last_post_id = ${id}, last_author_id = ${author}, updated_at = ${now}
      from m where u.id = m.discussion_id returning u.id, u.last_number, u.category_id
    ), p as (
      insert into post (id, discussion_id, number, author_id, content, html, reply_to_number, created_at, updated_at)
      select ${id}, d.id, d.last_number, ${author}, ${content}, ${html}, ${replyTo}::integer, ${now}, ${now} from d
      returning *
    ), c as (
      insert into category_count (category_id, part, discussions, posts) select d.category_id, ${randomPart()}, 0, 1
      from d where not ${discussion.deleted}::boolean
      on conflict (category_id, part) do update set posts = category_count.posts + 1
      returning category_id
    ), a as (
      insert into discussion_author (user_id, category_id, discussions, posts) select ${author}, c.category_id, 0, 1
      from c
      on conflict (user_id, category_id) do update set posts = discussion_author.posts + 1
    ) select ${postColumns(1)} from p`;
}
