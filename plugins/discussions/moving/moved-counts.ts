import { sql, type Data } from 'parley-forum';
import { ADDED_TO_AUTHORS, addToCategoryCounts, lastPostOf, type CounterChange } from '../counters/counters.ts';
import type { Move } from './rows.ts';

/** A change of one member's counters in a category. */
interface AuthorChange extends CounterChange {
  readonly userId: string;
}

/** Updates all counters after posts have moved, taking locks in the order documented in counters.ts. */
export async function countMoved(data: Data, move: Move): Promise<void> {
  await countParticipants(data, move);
  await countPlaces(data, move);
  const posts = visibleOf(move).length;
  await addToCategoryCounts(
    data,
    combined(
      [
        { categoryId: move.source.categoryId, discussions: move.merged ? -1 : 0, posts: -posts },
        { categoryId: move.place.categoryId, discussions: move.fresh ? 1 : 0, posts },
      ],
      ({ categoryId }) => categoryId,
    ),
  );
  await countAuthors(data, authorChanges(move));
}

const visibleOf = ({ posts }: Move) => posts.filter(({ deletedAt }) => !deletedAt);

async function countParticipants(data: Data, move: Move): Promise<void> {
  const { source, place } = move;
  const authors = [...Map.groupBy(visibleOf(move), ({ authorId }) => authorId)].map(([id, own]) => ({
    id,
    posts: own.length,
  }));
  await data.all(sql`insert into discussion_participant (discussion_id, user_id, posts)
    select p.id, a.id, p.by * a.posts from (values (${source.id}::uuid, -1), (${place.id}::uuid, 1)) as p (id, by)
      cross join unnest(${authors.map(({ id }) => id)}::uuid[], ${authors.map(({ posts }) => posts)}::int[]) as a (id, posts) order by p.id, a.id
    on conflict (discussion_id, user_id) do update set posts = discussion_participant.posts + excluded.posts`);
  await data.all(sql`delete from discussion_participant where discussion_id = ${source.id} and posts = 0`);
}

/** Updates both discussions. A merged discussion is deleted: its first post is the stub of the one that was moved. */
async function countPlaces(data: Data, move: Move): Promise<void> {
  const { source, place, posts, merged, fresh, by, now } = move;
  const visible = visibleOf(move);
  const replies = visible.filter(({ from }) => from > 1).length;
  const left = { id: source.id, last: source.lastNumber, replies: -replies, first: merged ? posts[0]!.stubId : null };
  const reached = { id: place.id, last: posts.at(-1)!.number, replies: visible.length - (fresh ? 1 : 0), first: null };
  const both = [left, reached];
  await data.all(sql`update discussion d
    set last_number = t.last_number, reply_count = d.reply_count + t.replies, updated_at = ${now},
      participant_count = (select count(*)::int from discussion_participant m where m.discussion_id = d.id),
      last_post_at = t.last_post_at, last_post_id = t.last_post_id, last_author_id = t.last_author_id,
      first_post_id = coalesce(t.first_post_id, d.first_post_id),
      deleted_at = case when t.first_post_id is null then d.deleted_at else ${now}::timestamptz end,
      deleted_by = case when t.first_post_id is null then d.deleted_by else ${by}::uuid end
    from (
      select c.*, l.id as last_post_id, l.author_id as last_author_id, l.created_at as last_post_at
      from unnest(${both.map(({ id }) => id)}::uuid[], ${both.map(({ last }) => last)}::int[], ${both.map((one) => one.replies)}::int[],
        ${both.map(({ first }) => first)}::uuid[]) as c (id, last_number, replies, first_post_id)
          cross join lateral ${lastPostOf(sql`c.id`)} l
    ) t where d.id = t.id`);
}

/**
 * The started discussion is added to and removed from its author's counters with the first post, unless that is
 * deleted.
 */
function authorChanges(move: Move): readonly AuthorChange[] {
  const { source, place, posts, merged, fresh } = move;
  const changes: AuthorChange[] = visibleOf(move).flatMap(({ authorId: userId }) => [
    { userId, categoryId: source.categoryId, discussions: 0, posts: -1 },
    { userId, categoryId: place.categoryId, discussions: 0, posts: 1 },
  ]);
  const [first] = posts;
  if (merged && first?.from === 1 && !first.deletedAt)
    changes.push({ userId: source.authorId, categoryId: source.categoryId, discussions: -1, posts: 0 });
  if (fresh) changes.push({ userId: place.authorId, categoryId: place.categoryId, discussions: 1, posts: 0 });
  return combined(changes, ({ categoryId, userId }) => `${categoryId} ${userId}`);
}

async function countAuthors(data: Data, changes: readonly AuthorChange[]): Promise<void> {
  await data.all(sql`insert into discussion_author (user_id, category_id, discussions, posts)
    select * from unnest(${changes.map(({ userId }) => userId)}::uuid[], ${changes.map(({ categoryId }) => categoryId)}::uuid[],
      ${changes.map(({ discussions }) => discussions)}::int[],
        ${changes.map(({ posts }) => posts)}::int[]) as t (user_id, category_id, discussions, posts)
    order by category_id, user_id ${ADDED_TO_AUTHORS}`);
}

/** Combines the changes with the same key, and drops those that cancel out. */
function combined<T extends CounterChange>(changes: readonly T[], keyOf: (change: T) => string): readonly T[] {
  const sums = new Map<string, T>();
  for (const change of changes) {
    const { discussions = 0, posts = 0 } = sums.get(keyOf(change)) ?? {};
    sums.set(keyOf(change), {
      ...change,
      discussions: discussions + change.discussions,
      posts: posts + change.posts,
    });
  }
  return [...sums.values()].filter(({ discussions, posts }) => discussions !== 0 || posts !== 0);
}
