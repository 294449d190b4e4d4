import { sql, type Data } from 'parley-forum';
import { countByPeriod, type Figure } from 'parley-forum/plugins/admin';

/** Sign-ups by day and month, including members who were disabled or deleted since. */
export const signUps = (data: Data): Figure => ({
  name: 'sign_ups',
  label: 'accounts:statistics.sign-ups',
  kind: 'sum',
  count: (periods) =>
    countByPeriod(
      data,
      periods,
      sql<{
        count: number;
      }>`select count(*)::int as count from account where joined_at >= p.first and joined_at < p.beyond`,
    ),
});
