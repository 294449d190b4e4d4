import { defineExtensionPoint, firstIdAt, sql, type Data, type RawBuilder } from 'parley-forum';

/** A day or a month in UTC: what happened at `from` or later, and before `until`. */
export interface Period {
  readonly from: Date;
  readonly until: Date;
}
/** What a plugin counts of what happens in the community. */
export interface Figure {
  /** Its name for API clients, such as `posts`. */
  readonly name: string;
  /** Text key, such as `discussions:statistics.posts`. */
  readonly label: string;
  /**
   * `sum`: the number of a longer time is the sum of its parts. `people`: it counts different people, so that longer
   * times are compared by their average.
   */
  readonly kind: 'sum' | 'people';
  /**
   * The numbers of these periods, in order; one statement. Must be able to use an index, and count the same for a period
   * that is over whenever it is asked.
   */
  count(periods: readonly Period[]): Promise<readonly number[]>;
}
export const figures = defineExtensionPoint<Figure>(
  'statistics.figures',
  'What is counted for each day and month and shown to administrators, such as new posts.',
  { order: 'The position among the numbers.' },
);

/**
 * Counts rows by period through an index. `rows` is what follows `select` for one period, with `p.first` and `p.beyond`
 * as its bounds: times, or with `ids` the ids of rows created then.
 */
export async function countByPeriod(
  data: Data,
  periods: readonly Period[],
  rows: RawBuilder<unknown>,
  { ids = false }: { readonly ids?: boolean } = {},
): Promise<readonly number[]> {
  const bound = (moment: Date): string => (ids ? firstIdAt(moment.getTime()) : moment.toISOString());
  const type = ids ? sql`uuid[]` : sql`timestamptz[]`;
  const found = await data.all(sql<{ count: number }>`
    select c.count from unnest(${periods.map(({ from }) => bound(from))}::${type},
        ${periods.map(({ until }) => bound(until))}::${type}) with ordinality p(first, beyond, place)
      cross join lateral (select ${rows}) c(count) order by p.place`);
  return found.map(({ count }) => count);
}
