import { Type } from 'parley-forum';
import { accessTag, isAdmin, isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import { Paging } from 'parley-forum/plugins/api';
import {
  discussionCacheTags,
  listCacheTags,
  ListPartQuery,
  SORTS,
  type Category,
  type Sort,
} from 'parley-forum/plugins/discussions';
import { tagsTag } from 'parley-forum/ports/tags';
import { pages, phrase, shared, view, type View } from 'parley-forum/plugins/web';
import { chooseFilter } from './list-filters.ts';
import { listModel } from './list-page.ts';
import { narrowingOf } from './narrowings.ts';
import { audienceName } from '../categories/audience-names.ts';
import { discussionPath } from '../identifiers.ts';
import type { PageDeps } from '../page-parts.ts';

const ListQuery = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  sort: Type.Optional(Type.Enum([...SORTS])),
  cursor: Paging.cursor,
  tag: ListPartQuery.tag,
});
const HomeQuery = Type.Object({ ...ListQuery.properties, category: ListPartQuery.category });

/** The front page, the list of categories, and the page of each category. */
export function listPages(deps: PageDeps, access: Access): void {
  const { plugin, settings, categories, reader, records, rights, web } = deps;
  /** Names who may start discussions in a category that is not open to all members. */
  const lockOf = ({ create }: Category): string | undefined =>
    web && create !== 'everyone' && create !== 'members'
      ? web.say(phrase('discussions:categories.only', { who: audienceName(create, access, web) }))
      : undefined;
  const cacheTags = ({ query }: { readonly query: { readonly sort?: Sort } }): readonly string[] => [
    ...listCacheTags,
    accessTag,
    tagsTag,
    ...(query.sort === 'most_viewed' ? [discussionCacheTags.views] : []),
  ];
  const countOf = async (list: readonly Category[]): Promise<number> => {
    const count = await categories.counts();
    return list.reduce((sum, { id }) => sum + count(id).discussions, 0);
  };

  for (const path of ['/', '/discussions']) {
    plugin.route(pages, { method: 'get', path, can: 'public', query: HomeQuery, cacheTags })(async (call) => {
      const { category, tag, ...query } = call.query;
      const narrowed = await narrowingOf(plugin, call.actor);
      const build = async (actor: Viewer): Promise<View> => {
        await categories.refresh();
        const shown = categories.visible(actor).filter(({ id }) => narrowed?.without.includes(id) !== true);
        // No counter tells how many discussions a narrowing's condition leaves.
        const total = narrowed?.where ? undefined : await countOf(shown);
        const list = await listModel(
          deps,
          {
            ...query,
            path,
            part: { category, tag },
            pinnedFirst: query.sort === undefined,
            categoryIds: narrowed && shown.map(({ id }) => id),
            where: narrowed?.where,
            total,
          },
          actor,
        );
        const head = { name: 'home', title: phrase('discussions:home.title'), canonical: list.canonical, current: '/' };
        return view('@discussions/home', head, {
          ...list,
          notes: narrowed?.notes,
          create: rights.canStartAnywhere(actor) && '/new',
          welcome: isGuest(actor) &&
            !category &&
            !tag &&
            (query.page ?? 1) === 1 && { count: total, text: settings.get('site.description') },
        });
      };
      return shared(build, { variant: narrowed?.key ?? '' });
    });
  }

  plugin.route(pages, {
    method: 'get',
    path: '/categories',
    can: 'public',
    cacheTags: () => [...listCacheTags, accessTag],
  })(() =>
    shared(async (actor) => {
      await categories.refresh();
      const visible = categories.visible(actor);
      const [listed, latest] = await Promise.all([
        records.categories(visible, actor),
        reader.latestIn(visible.map(({ id }) => id)),
      ]);
      const shown = listed.map((record, index) => {
        const last = latest.get(record.id);
        return {
          ...record,
          locked: lockOf(visible[index]!),
          last: last && { title: last.title, url: discussionPath(last), at: last.at },
        };
      });
      const below = Map.groupBy(shown, (category) => category.parent_id ?? '');
      const roots = shown.filter(
        (category) => category.parent_id === null || !shown.some((other) => other.id === category.parent_id),
      );
      const model = {
        groups: roots.map((category) => ({ category, below: below.get(category.id) ?? [] })),
        manage: isAdmin(actor),
      };
      return view(
        '@discussions/categories',
        { name: 'categories', title: phrase('discussions:categories.title'), canonical: '/categories' },
        model,
      );
    }),
  );

  plugin.route(pages, {
    method: 'get',
    path: '/c/:slug',
    can: 'public',
    query: Type.Object({ ...ListQuery.properties, filter: Type.Optional(Type.String({ maxLength: 40 })) }),
    cacheTags,
    load: async ({ actor, params }) => {
      await categories.refresh();
      return categories.find(params['slug'] ?? '', actor);
    },
  })(({ query: { tag, ...query }, target }) =>
    shared(async (actor) => {
      const path = `/c/${encodeURIComponent(target.slug)}`;
      const choice = await chooseFilter(plugin, target, query.filter);
      const list = await listModel(
        deps,
        {
          ...query,
          ...choice,
          path,
          part: { tag },
          category: target,
          total: choice.where ? undefined : await countOf([target]),
        },
        actor,
      );
      const [category] = await records.categories([target], actor);
      const below = await records.categories(
        categories.visible(actor).filter(({ parentId }) => parentId === target.id),
        actor,
      );
      const head = {
        name: 'category',
        title: target.name,
        description: target.description,
        canonical: list.canonical,
        current: path,
        subject: target.id,
      };
      return view('@discussions/category', head, {
        ...list,
        category,
        below,
        create: category?.can.create && `/new?category=${encodeURIComponent(target.slug)}`,
      });
    }),
  );
}
