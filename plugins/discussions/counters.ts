import { sql, type Data } from '#core';

/** Adds to what a category counts; negative numbers take away. Any of its rows will do, so the lowest is used. */
export async function addToCategory(data: Data, categoryId: string, discussions: number, posts: number): Promise<void> {
  await data.all(sql`insert into category_count (category_id, part, discussions, posts) values (${categoryId}, 0, ${discussions}, ${posts})
    on conflict (category_id, part) do update set discussions = category_count.discussions + excluded.discussions, posts = category_count.posts + excluded.posts`);
}

/** A whole discussion leaves (`-1`) or comes back (`1`): for its author, and for everybody with posts in it. */
export async function addToAuthors(data: Data, { id, authorId }: { readonly id: string; readonly authorId: string }, by: 1 | -1): Promise<void> {
  // Locked in the order of their ids: two discussions with the same people in them may be deleted at once.
  await data.all(sql`select user_id from discussion_author where user_id in (select user_id from discussion_participant where discussion_id = ${id}) order by user_id for update`);
  await data.all(sql`update discussion_author a set posts = a.posts + ${by} * m.posts from discussion_participant m where m.discussion_id = ${id} and m.user_id = a.user_id`);
  await data.all(sql`update discussion_author set discussions = discussions + ${by} where user_id = ${authorId}`);
}

/** A reply was deleted: the discussion's numbers and its last post follow. */
export async function leave(data: Data, discussionId: string, authorId: string): Promise<void> {
  const left = await data.one(sql<{ posts: number }>`update discussion_participant set posts = posts - 1
    where discussion_id = ${discussionId} and user_id = ${authorId} returning posts`);
  if (left?.posts === 0) await data.all(sql`delete from discussion_participant where discussion_id = ${discussionId} and user_id = ${authorId}`);
  await recount(data, discussionId, { replies: -1, participants: left?.posts === 0 ? -1 : 0 });
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
