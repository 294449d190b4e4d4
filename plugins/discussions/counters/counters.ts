import { sql, type Data, type RawBuilder } from 'parley-forum';

/*
 * The global lock order of rows, followed by every write of this plugin and of plugins with a projection or a counter.
 * A transaction locks tables from left to right, and several rows of one table in the order of their keys, so that
 * there are no deadlocks:
 *
 *  category → discussion → discussion_participant → category_count (category, part)
 *  → discussion_author (category, user) → discussion_author_total (user) → tag → discussion_tag (discussion, tag)
 *  → tag_count (tag, category) → search_post → upload → notification (user, id)
 *  → notification_count (user, category)
 *
 * The totals are updated at the end of the statement that changes the rows they sum up.
 *
 * Only a transaction that has locked a discussion writes its posts. Reactions are separate: reaction_count (post, type)
 * → reaction.
 */

/** A change of one category's counters. */
export interface CounterChange {
  readonly categoryId: string;
  readonly discussions: number;
  readonly posts: number;
}

const columns = (
  changes: readonly CounterChange[],
) => sql`unnest(${changes.map(({ categoryId }) => categoryId)}::uuid[], ${changes.map(({ discussions }) => discussions)}::int[],
  ${changes.map(({ posts }) => posts)}::int[]) as t (category_id, discussions, posts)`;

/** The end of an insert of counts, which are added to the existing ones. */
export const ADDED_TO_CATEGORIES = sql`on conflict (category_id, part) do update
    set discussions = category_count.discussions + excluded.discussions, posts = category_count.posts + excluded.posts`;
export const ADDED_TO_AUTHORS = sql`on conflict (user_id, category_id) do update
    set discussions = discussion_author.discussions + excluded.discussions,
      posts = discussion_author.posts + excluded.posts`;

/** Any row of a category will do, so the lowest one is used. */
const categoryCounts = (
  changes: RawBuilder<unknown>,
) => sql`insert into category_count (category_id, part, discussions, posts)
    select t.category_id, 0, t.discussions, t.posts from ${changes} order by t.category_id ${ADDED_TO_CATEGORIES}`;

export async function addToCategoryCounts(data: Data, changes: readonly CounterChange[]): Promise<void> {
  await data.all(categoryCounts(columns(changes)));
}

/**
 * Adds a whole discussion to categories (`1`) or subtracts it (`-1`), in the counters of the categories, of its author
 * and of every participant.
 */
export async function addDiscussionCounts(
  data: Data,
  id: string,
  moves: ReadonlyArray<{ readonly categoryId: string; readonly by: 1 | -1 }>,
): Promise<void> {
  await data.all(sql`with change as (
      select * from unnest(${moves.map(({ categoryId }) => categoryId)}::uuid[], ${moves.map(({ by }) => by)}::int[]) as t (category_id, by)
    ), stood as (
      select p.user_id, t.category_id,
        case when p.user_id = d.author_id and f.deleted_at is null then t.by else 0 end as discussions,
        t.by * p.posts as posts
      from discussion d join post f on f.id = d.first_post_id join discussion_participant p on p.discussion_id = d.id
      cross join change t where d.id = ${id}
    ), counted as (
      ${categoryCounts(sql`(
        select c.category_id, c.by as discussions, coalesce(sum(s.posts), 0) as posts from change c left join stood s using (category_id) group by 1, 2
      ) t`)} returning 1
    ) insert into discussion_author (user_id, category_id, discussions, posts) select stood.*
      from stood, (select count(*) from counted) c
      order by category_id, user_id ${ADDED_TO_AUTHORS}`);
}

/**
 * Adds or removes posts of one author. `discussions` also changes the number of discussions they started; that of the
 * category is left alone, because it does not lose a discussion when only the first post goes.
 */
export async function addPostCounts(data: Data, authorId: string, changes: readonly CounterChange[]): Promise<void> {
  await data.all(sql`with counted as (
      ${categoryCounts(columns(changes.map((change) => ({ ...change, discussions: 0 }))))} returning 1
    ) insert into discussion_author (user_id, category_id, discussions, posts)
      select ${authorId}::uuid, t.category_id, t.discussions, t.posts
      from ${columns(changes)}, (select count(*) from counted) c
      order by t.category_id ${ADDED_TO_AUTHORS}`);
}

/**
 * Called when posts of one author were deleted, possibly including the first post; updates the numbers and the last
 * post of the discussion.
 */
export async function removeParticipantPosts(
  data: Data,
  discussionId: string,
  authorId: string,
  { posts, replies }: { readonly posts: number; readonly replies: number },
): Promise<void> {
  const left = await data.one(sql<{ posts: number }>`update discussion_participant set posts = posts - ${posts}
    where discussion_id = ${discussionId} and user_id = ${authorId} returning posts`);
  if (left?.posts === 0)
    await data.all(
      sql`delete from discussion_participant where discussion_id = ${discussionId} and user_id = ${authorId}`,
    );
  await updateDiscussionCounts(data, discussionId, { replies: -replies, participants: left?.posts === 0 ? -1 : 0 });
}

/** Called when a reply was restored. */
export async function restoreParticipantPost(data: Data, discussionId: string, authorId: string): Promise<void> {
  const joined = await data.one(sql<{
    posts: number;
  }>`insert into discussion_participant (discussion_id, user_id, posts) values (${discussionId}, ${authorId}, 1)
    on conflict (discussion_id, user_id) do update set posts = discussion_participant.posts + 1 returning posts`);
  await updateDiscussionCounts(data, discussionId, { replies: 1, participants: joined?.posts === 1 ? 1 : 0 });
}

/**
 * Selects the last post of a discussion, whose id is given by `discussion`. Among its own last post and later posts
 * moved in from elsewhere, the newest one counts, so that moving in an old post does not make the discussion look
 * inactive. If no post is left, the first one is the last.
 */
export const lastPostOf = (discussion: RawBuilder<unknown>): RawBuilder<unknown> => sql`(
  select o.id, o.author_id, o.created_at from post o
  where o.discussion_id = ${discussion} and (o.deleted_at is null or o.number = 1)
    and o.number >= coalesce((select max(w.number) from post w
        where w.discussion_id = ${discussion} and w.deleted_at is null and w.moved_at is null), 1)
  order by (o.deleted_at is null) desc, o.created_at desc, o.number desc limit 1)`;

async function updateDiscussionCounts(
  data: Data,
  discussionId: string,
  { replies, participants }: { replies: number; participants: number },
): Promise<void> {
  await data.all(sql`update discussion d
    set reply_count = d.reply_count + ${replies}, participant_count = d.participant_count + ${participants},
      last_post_at = l.created_at, last_post_id = l.id, last_author_id = l.author_id
    from ${lastPostOf(sql`${discussionId}`)} l
    where d.id = ${discussionId}`);
}
