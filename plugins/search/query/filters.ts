import { QUERY_PARTS, QUERY_FILTER } from './query.ts';

/** The filters of a query for which the search page has fields. */
export const FILTERS = ['author', 'category', 'tag', 'after', 'before'] as const;
type FilterName = (typeof FILTERS)[number];
export type FilterValues = Readonly<Partial<Record<FilterName, string>>>;

const partsOf = (q: string) =>
  [...q.matchAll(QUERY_PARTS)].map(([part]) => {
    const [, name = '', value = ''] = QUERY_FILTER.exec(part) ?? [];
    return { part, name: name.toLowerCase(), value: value.replaceAll('"', '') };
  });

const isDate = (name: string): boolean => name === 'after' || name === 'before';
/** The format that date fields can display. */
const DATE = /^\d{4}-\d\d-\d\d$/;

/** The values of the fields: the first value of each filter. */
export function filtersOf(q: string): FilterValues {
  const parts = partsOf(q);
  return Object.fromEntries(
    FILTERS.flatMap((filter) => {
      const found = parts.find(({ name, value }) => name === filter && (!isDate(name) || DATE.test(value)));
      return found ? [[filter, found.value]] : [];
    }),
  );
}

/**
 * The query with the fields that the user changed. `shown` is the query from which they were filled: a field that still
 * has its value from then does not affect the query, where that filter may have been edited in the meantime.
 */
export function withFilters(q: string, shown: string, fields: FilterValues): string {
  const before = filtersOf(shown);
  const changed = FILTERS.filter((name) => fields[name] !== undefined && fields[name].trim() !== (before[name] ?? ''));
  const rest = partsOf(q).filter(({ name }) => !changed.some((filter) => filter === name));
  // Words of the query are separated by spaces, so a value must not contain any.
  const added = changed.flatMap((name) => {
    const value = fields[name]!.trim().replace(/^[@#]/, '').replaceAll('"', '').replace(/\s+/g, '-');
    return value === '' ? [] : [`${name}:${value}`];
  });
  return [...rest.map(({ part }) => part), ...added].join(' ');
}
