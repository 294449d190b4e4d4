import { notFound, sql, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  listTagSources,
  type Category,
  type ListPage,
  type ListPart,
  type ListTag,
  type ListTagSource,
} from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';

interface PartDeps {
  readonly plugin: Pick<PluginHandle, 'extensions'>;
  readonly categories: CategoryService;
}
type PartName = keyof ListPart;
/** The part as the list's URLs name it. */
export type PartParameters = Readonly<Partial<Record<PartName, string | undefined>>>;
type FoundTag = Awaited<ReturnType<ListTagSource['find']>>;

interface ChosenPart {
  readonly parameters: PartParameters;
  /** What the chosen part changes in the request; undefined for the whole list. */
  readonly narrowed: Pick<ListPage, 'categoryIds' | 'where' | 'total'> | undefined;
  /** The fields of the form, each with the values that it offers. */
  readonly choices: readonly {
    readonly name: PartName;
    readonly value: string | undefined;
    readonly options: readonly { readonly value: string; readonly label: string }[];
  }[];
  readonly chosen: readonly { readonly name: PartName; readonly label: string }[];
}

/** Narrows a list to the part that the reader chose. Throws 404 for what the viewer cannot see. */
export async function choosePart(deps: PartDeps, list: ListPage, viewer: Viewer): Promise<ChosenPart> {
  const { plugin, categories } = deps;
  const { part = {} } = list;
  const visible = categories
    .visible(viewer)
    .filter(({ id }) => (list.category ? id === list.category.id : list.categoryIds?.includes(id) !== false));
  const source = 'tag' in part ? plugin.extensions(listTagSources)[0]?.value : undefined;
  const category = part.category ? found(categories.find(part.category, viewer)) : undefined;
  const ids = visible.filter((one) => !category || isWithin(one, category)).map(({ id }) => id);
  const tag = part.tag ? found(await source?.find(part.tag, viewer, ids)) : undefined;
  const offered = (await source?.offered(visible.map(({ id }) => id))) ?? [];
  const [{ slug: categorySlug, name: categoryName }, { slug: tagSlug, name: tagName }] = [
    category ?? NOTHING,
    tag ?? NOTHING,
  ];
  const options = [
    { name: 'category', value: categorySlug, options: 'category' in part ? categoryOptions(visible) : [] },
    { name: 'tag', value: tagSlug, options: tagOptions(offered, tag) },
  ] as const;
  const names = [
    { name: 'category', label: categoryName },
    { name: 'tag', label: tagName },
  ] as const;
  return {
    parameters: { category: categorySlug, tag: tagSlug },
    narrowed: category || tag ? await narrowedTo(categories, list, { ids, category, tag }) : undefined,
    choices: options.filter((choice) => choice.options.length > 0),
    chosen: names.flatMap(({ name, label }) => (label === undefined ? [] : [{ name, label }])),
  };
}

const NOTHING = { slug: undefined, name: undefined };
const isWithin = ({ id, parentId }: Category, category: Category): boolean =>
  id === category.id || parentId === category.id;

function found<T>(chosen: T | undefined): T {
  if (!chosen) throw notFound('There is no such category or tag');
  return chosen;
}

async function narrowedTo(
  categories: CategoryService,
  list: ListPage,
  {
    ids,
    category,
    tag,
  }: { readonly ids: readonly string[]; readonly category: Category | undefined; readonly tag: FoundTag },
): Promise<ChosenPart['narrowed']> {
  return {
    ...(category && { categoryIds: ids }),
    ...conditionOf(list, tag),
    total: await totalOf(categories, list, ids, tag),
  };
}

function conditionOf({ where }: ListPage, tag: FoundTag): Pick<ListPage, 'where'> {
  if (!tag) return {};
  const tagged = sql<boolean>`d.id in (${tag.discussions})`;
  return { where: where ? sql<boolean>`(${where}) and ${tagged}` : tagged };
}

/** Counters know how many discussions a part of a list without other conditions has. */
async function totalOf(
  categories: CategoryService,
  { total, within, where, authorId }: ListPage,
  ids: readonly string[],
  tag: FoundTag,
): Promise<number | undefined> {
  if (total === undefined || within || where || authorId !== undefined) return undefined;
  if (tag) return tag.count;
  const count = await categories.counts();
  return ids.reduce((sum, id) => sum + count(id).discussions, 0);
}

/** Each category is followed by its subcategories. */
function categoryOptions(visible: readonly Category[]): ChosenPart['choices'][number]['options'] {
  const isBelow = ({ parentId }: Category): boolean => visible.some(({ id }) => id === parentId);
  const option = ({ slug, name }: Category, before = '') => ({ value: slug, label: before + name });
  return visible
    .filter((category) => !isBelow(category))
    .flatMap((root) => [
      option(root),
      ...visible.filter(({ parentId }) => parentId === root.id).map((category) => option(category, '– ')),
    ]);
}

const tagOptions = (offered: readonly ListTag[], chosen: ListTag | undefined) =>
  (chosen && !offered.some(({ slug }) => slug === chosen.slug) ? [chosen, ...offered] : offered).map(
    ({ slug, name }) => ({ value: slug, label: name }),
  );
