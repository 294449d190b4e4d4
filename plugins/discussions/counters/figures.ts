import { sql, type Data } from 'parley-forum';
import { countByPeriod, type Figure } from 'parley-forum/plugins/admin';

/**
 * What members write, by day and month. Ids say when something was created, also if it was imported. Everything that
 * was written counts, in all categories, even if it was deleted later; a post that was moved counts once.
 */
export const discussionFigures = (data: Data): readonly Figure[] => [
  {
    name: 'discussions',
    label: 'discussions:statistics.discussions',
    kind: 'sum',
    count: (periods) =>
      countByPeriod(
        data,
        periods,
        sql<{ count: number }>`select count(*)::int as count from discussion where id >= p.first and id < p.beyond`,
        {
          ids: true,
        },
      ),
  },
  {
    name: 'posts',
    label: 'discussions:statistics.posts',
    kind: 'sum',
    count: (periods) =>
      countByPeriod(
        data,
        periods,
        sql<{
          count: number;
        }>`select count(*)::int as count from post where id >= p.first and id < p.beyond and moved_post_id is null`,
        { ids: true },
      ),
  },
  {
    name: 'active_members',
    label: 'discussions:statistics.active',
    kind: 'people',
    count: (periods) =>
      countByPeriod(
        data,
        periods,
        sql<{ count: number }>`select count(distinct author_id)::int as count from post
          where id >= p.first and id < p.beyond and moved_post_id is null`,
        { ids: true },
      ),
  },
];
