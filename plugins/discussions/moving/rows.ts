import { HttpError, InvalidInput, sql, type Data, type RawBuilder } from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';

/** A discussion that posts leave or enter. */
export interface Place {
  readonly id: string;
  readonly number: number;
  readonly title: string;
  readonly slug: string;
  readonly categoryId: string;
  readonly authorId: string;
  readonly firstPostId: string;
  readonly lastNumber: number;
  readonly createdAt: Date;
  readonly deletedAt: Date | null;
}
/** A post before the move. */
export interface PostToMove {
  readonly id: string;
  readonly number: number;
  readonly authorId: string;
  readonly createdAt: Date;
  readonly deletedAt: Date | null;
}
/** A post with its old and new number, and the id of the stub that takes its place. */
export interface MovingPost extends PostToMove {
  readonly from: number;
  readonly stubId: string;
}
export interface Move {
  readonly source: Place;
  readonly place: Place;
  readonly posts: readonly MovingPost[];
  /** Whether all posts leave the discussion. */
  readonly merged: boolean;
  /** Whether the target discussion was created for this move. */
  readonly fresh: boolean;
  readonly by: string | null;
  readonly now: Date;
}

/** Maximum number of posts, including deleted ones, in a discussion to be merged. */
const MAX_MERGED = 1_000;
const PLACE = sql<Place>`id, number, title, slug, category_id as "categoryId", author_id as "authorId",
  first_post_id as "firstPostId",
  last_number as "lastNumber", created_at as "createdAt", deleted_at as "deletedAt"`;
const POST = sql<PostToMove>`id, number, author_id as "authorId", created_at as "createdAt", deleted_at as "deletedAt"`;

/** Locks discussions until the transaction ends, in order of id, so that two opposite moves cannot deadlock. */
export const lockDiscussions = (data: Data, ids: readonly string[]): Promise<readonly Place[]> =>
  data.all(sql<Place>`select ${PLACE} from discussion where id = any(${ids}::uuid[]) order by id for no key update`);

/** The selected posts of a locked discussion, in order. Throws 400 if one of them cannot be moved by itself. */
export async function chosenPosts(
  data: Data,
  { id }: Place,
  postIds: readonly string[],
): Promise<readonly PostToMove[]> {
  const wanted = [...new Set(postIds.map((one) => one.toLowerCase()))];
  const posts = await data.all(sql<PostToMove>`select ${POST} from post
    where id = any(${wanted.filter(isId)}::uuid[]) and discussion_id = ${id} and deleted_at is null order by number`);
  const wrong = (message: string): InvalidInput => new InvalidInput([{ field: 'post_ids', message }]);
  if (posts.length < wanted.length) throw wrong('must be posts of this discussion that are not deleted');
  if (posts[0]?.number === 1)
    throw wrong('includes the first post, which can only be moved with all others: merge the discussion instead');
  return posts;
}

/** All posts of a locked discussion, except the stubs of posts that have already moved. Throws 409 for too many. */
export async function postsToMerge(data: Data, { id }: Place): Promise<readonly PostToMove[]> {
  const posts = await data.all(sql<PostToMove>`select ${POST} from post
    where discussion_id = ${id} and moved_post_id is null order by number limit ${MAX_MERGED + 1}`);
  if (posts.length > MAX_MERGED)
    throw new HttpError(
      409,
      `This discussion has more than ${MAX_MERGED} posts; move posts to the other one in batches until ${MAX_MERGED} are left, then merge`,
    );
  return posts;
}

/**
 * Inserts a discussion; the author and time of its first post become its own. Its counters are updated once it has its
 * posts.
 */
export async function insertDiscussion(
  data: Data,
  { id, title, slug, categoryId, now }: Pick<Place, 'id' | 'title' | 'slug' | 'categoryId'> & { readonly now: Date },
  first: PostToMove,
): Promise<Place> {
  const row = await data.one(sql<Place>`
    insert into discussion (id, title, slug, category_id, author_id, first_post_id, last_number, participant_count,
        last_post_at, last_post_id, last_author_id,
      created_at, updated_at)
    values (${id}, ${title}, ${slug}, ${categoryId}, ${first.authorId}, ${first.id}, 0, 0, ${first.createdAt}, ${first.id}, ${first.authorId},
      ${first.createdAt}, ${now}) returning ${PLACE}`);
  return row!;
}

/**
 * Gives the posts their new discussion and numbers, and inserts a stub in each place they leave. One statement, because
 * replies that stay refer to these places. A reply keeps referring to a post that moves along with it; a reply to a
 * first post refers to none.
 */
export async function moveRows(data: Data, { source, place, posts, by, now }: Move): Promise<void> {
  await data.all(sql`
    with t as (
      select * from unnest(${posts.map(({ id }) => id)}::uuid[], ${posts.map(({ from }) => from)}::int[], ${posts.map(({ number }) => number)}::int[],
        ${posts.map(({ stubId }) => stubId)}::uuid[]) as t (id, former, number, stub_id)
    ), moved as (
      update post p set discussion_id = ${place.id}, number = t.number, moved_at = ${now},
        reply_to_number = (select a.number from t a where a.former = p.reply_to_number and a.number > 1)
      from t where p.id = t.id returning p.id, p.author_id, p.created_at, t.former, t.stub_id
    )
    insert into post (id, discussion_id, number, author_id, content, html, created_at, updated_at, deleted_at,
        deleted_by, moved_post_id)
    select stub_id, ${source.id}::uuid, former, author_id, '', '', created_at, ${now}::timestamptz, ${now}::timestamptz,
      ${by}::uuid, id from moved`);
}

/** Discussions in which one of the posts used to be, whose pages show where it is now. */
export const formerPlaces = (data: Data, postIds: readonly string[]): Promise<readonly string[]> =>
  idsOf(
    data,
    sql<Id>`select distinct discussion_id as id from post where moved_post_id = any(${postIds}::uuid[]) order by id`,
  );
/** The same for all posts of a discussion. */
export const formerPlacesIn = (data: Data, discussionId: string): Promise<readonly string[]> =>
  idsOf(
    data,
    sql<Id>`select distinct s.discussion_id as id from post s join post p on p.id = s.moved_post_id
      where p.discussion_id = ${discussionId} order by id`,
  );

interface Id {
  readonly id: string;
}
const idsOf = async (data: Data, query: RawBuilder<Id>): Promise<readonly string[]> =>
  (await data.all(query)).map(({ id }) => id);
