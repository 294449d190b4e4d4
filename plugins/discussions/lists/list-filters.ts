import { HttpError, InvalidInput, type Extension, type PluginHandle } from 'parley-forum';
import { listFilters, type Category, type ListFilter, type ListRequest } from 'parley-forum/plugins/discussions';

/** Milliseconds a filter may take for each of its answers. */
const FILTER_TIMEOUT = 2_000;

/** The filters that the list of a category offers, the selected one, and its condition. */
export interface FilterChoice {
  readonly filters: readonly ListFilter[];
  readonly filter: string | undefined;
  readonly where: ListRequest['where'];
}

/** Throws 400 naming `filter` for a filter that the list does not offer. One that fails to answer is not offered. */
export async function chooseFilter(
  plugin: Pick<PluginHandle, 'extensions' | 'attempt'>,
  category: Category | undefined,
  filter: string | undefined,
): Promise<FilterChoice> {
  const all = category ? plugin.extensions(listFilters) : [];
  const offered = await Promise.all(
    all.map(({ plugin: owner, value }) =>
      plugin.attempt(owner, `list filter ${value.name}`, () => value.offered(category!), FILTER_TIMEOUT),
    ),
  );
  const usable = all.filter((_one, at) => offered[at]);
  const filters = usable.map(({ value }) => value);
  const chosen = usable.find(({ value }) => value.name === filter);
  if (filter !== undefined && !chosen) {
    const names = filters.map(({ name }) => name).join(', ');
    const message = names === '' ? 'is not a filter of this list' : `must be one of ${names}`;
    throw new InvalidInput([{ field: 'filter', message }]);
  }
  return { filters, filter, where: chosen && (await conditionOf(plugin, chosen)) };
}

/** The condition of a filter. Without it, the list would show what the reader filtered out. */
async function conditionOf(
  plugin: Pick<PluginHandle, 'attempt'>,
  { plugin: owner, value }: Extension<ListFilter>,
): Promise<ListRequest['where']> {
  const task = `list filter ${value.name}: condition`;
  const found = await plugin.attempt(owner, task, async () => ({ where: await value.where() }), FILTER_TIMEOUT);
  if (found) return found.where;
  throw new HttpError(503, 'This list cannot be filtered right now; try again soon', {
    headers: { 'Retry-After': '5' },
  });
}
