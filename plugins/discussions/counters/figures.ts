import { sql, type Data, type RawBuilder } from 'parley-forum';
import { countByPeriod, type Figure } from 'parley-forum/plugins/admin';

/**
 * What members write, by day and month. Ids say when something was created, also if it was imported. Everything that
 * was written counts, in all categories, even if it was deleted later; a post that was moved counts once.
 */
export function discussionFigures(data: Data): readonly Figure[] {
  const created = sql`id >= p.first and id < p.beyond`;
  const figure = (name: string, kind: Figure['kind'], label: string, rows: RawBuilder<{ count: number }>): Figure => ({
    name,
    kind,
    label: `discussions:statistics.${label}`,
    count: (periods) => countByPeriod(data, periods, rows, { ids: true }),
  });
  return [
    figure('discussions', 'sum', 'discussions', sql`select count(*)::int as count from discussion where ${created}`),
    figure(
      'posts',
      'sum',
      'posts',
      sql`select count(*)::int as count from post where ${created} and moved_post_id is null`,
    ),
    figure(
      'active_members',
      'people',
      'active',
      sql`select count(distinct author_id)::int as count from post where ${created} and moved_post_id is null`,
    ),
  ];
}
