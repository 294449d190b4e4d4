import { sql, type Data } from '#core';

/** Adds to what a category counts; negative numbers take away. Any of its rows will do, so the lowest is used. */
async function addToCategory(data: Data, categoryId: string, discussions: number, posts: number): Promise<void> {
  await data.all(sql`insert into category_count (category_id, part, discussions, posts) values (${categoryId}, 0, ${discussions}, ${posts})
    on conflict (category_id, part) do update set discussions = category_count.discussions + excluded.discussions, posts = category_count.posts + excluded.posts`);
}

/** A whole discussion leaves a category (`-1`) or comes to it (`1`): for the category, for its author, and for everybody with posts in it. */
export async function addWhole(
  data: Data, { id, authorId, replyCount }: { readonly id: string; readonly authorId: string; readonly replyCount: number }, categoryId: string, by: 1 | -1,
): Promise<void> {
  // In the order of their ids: two discussions with the same people in them may be deleted at once.
  await data.all(sql`insert into discussion_author (user_id, category_id, discussions, posts)
    select user_id, ${categoryId}, case when user_id = ${authorId}::uuid then ${by}::int else 0 end, ${by}::int * posts
    from discussion_participant where discussion_id = ${id} order by user_id
    on conflict (user_id, category_id) do update
      set discussions = discussion_author.discussions + excluded.discussions, posts = discussion_author.posts + excluded.posts`);
  await addToCategory(data, categoryId, by, by * (replyCount + 1));
}

/** Replies more or (negative) less, for their author and the category. */
export async function addReply(data: Data, authorId: string, categoryId: string, by: number): Promise<void> {
  await data.all(sql`update discussion_author set posts = posts + ${by} where user_id = ${authorId} and category_id = ${categoryId}`);
  await addToCategory(data, categoryId, 0, by);
}

/** Replies of one author were deleted: the discussion's numbers and its last post follow. */
export async function leave(data: Data, discussionId: string, authorId: string, replies = 1): Promise<void> {
  const left = await data.one(sql<{ posts: number }>`update discussion_participant set posts = posts - ${replies}
    where discussion_id = ${discussionId} and user_id = ${authorId} returning posts`);
  if (left?.posts === 0) await data.all(sql`delete from discussion_participant where discussion_id = ${discussionId} and user_id = ${authorId}`);
  await recount(data, discussionId, { replies: -replies, participants: left?.posts === 0 ? -1 : 0 });
}

/** A reply was restored. */
export async function rejoin(data: Data, discussionId: string, authorId: string): Promise<void> {
  const joined = await data.one(sql<{ posts: number }>`insert into discussion_participant (discussion_id, user_id, posts) values (${discussionId}, ${authorId}, 1)
    on conflict (discussion_id, user_id) do update set posts = discussion_participant.posts + 1 returning posts`);
  await recount(data, discussionId, { replies: 1, participants: joined?.posts === 1 ? 1 : 0 });
}

async function recount(data: Data, discussionId: string, { replies, participants }: { replies: number; participants: number }): Promise<void> {
  await data.all(sql`update discussion d set reply_count = d.reply_count + ${replies}, participant_count = d.participant_count + ${participants},
      last_post_at = l.created_at, last_post_id = l.id, last_author_id = l.author_id
    from (select id, author_id, created_at from post where discussion_id = ${discussionId} and deleted_at is null order by number desc limit 1) l
    where d.id = ${discussionId}`);
}
