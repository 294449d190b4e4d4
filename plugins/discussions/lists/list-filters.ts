import { InvalidInput, type PluginHandle } from 'parley-forum';
import { listFilters, type Category, type ListFilter, type ListRequest } from 'parley-forum/plugins/discussions';

/** The filters that the list of a category offers, the selected one, and its condition. */
export interface FilterChoice {
  readonly filters: readonly ListFilter[];
  readonly filter: string | undefined;
  readonly where: ListRequest['where'];
}

/** Throws 400 naming `filter` for a filter that the list does not offer. */
export async function chooseFilter(
  plugin: Pick<PluginHandle, 'extensions'>,
  category: Category | undefined,
  filter: string | undefined,
): Promise<FilterChoice> {
  const all = category ? plugin.extensions(listFilters).map(({ value }) => value) : [];
  const offered = await Promise.all(all.map(async (one) => one.offered(category!)));
  const filters = all.filter((_one, at) => offered[at]);
  const chosen = filters.find(({ name }) => name === filter);
  if (filter !== undefined && !chosen) {
    const names = filters.map(({ name }) => name).join(', ');
    const message = names === '' ? 'is not a filter of this list' : `must be one of ${names}`;
    throw new InvalidInput([{ field: 'filter', message }]);
  }
  return { filters, filter, where: await chosen?.where() };
}
