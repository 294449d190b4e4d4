import { Type } from 'parley-forum';
import { accessTag } from 'parley-forum/plugins/access';
import { api, pageFields, pageOf, Paging, pagingResult } from 'parley-forum/plugins/api';
import { categoryFields, CategoryRecord, listCacheTags } from 'parley-forum/plugins/discussions';
import { withFields } from '../schemas.ts';
import type { RouteDeps } from '../discussion-routes.ts';

/** /api/categories: all categories that the caller may see. */
export function categoryRoutes({ plugin, categories, records }: RouteDeps): void {
  const Category = withFields(plugin, categoryFields, CategoryRecord);
  const cacheTags = (): readonly string[] => [...listCacheTags, accessTag];

  plugin.route(api, {
    method: 'get',
    path: '/categories',
    can: 'public',
    summary: 'All categories the caller may see',
    query: Type.Object(Paging),
    cacheTags,
    result: Type.Object({ categories: Type.Array(Category), ...pagingResult }),
  })(async ({ actor, query }) => {
    await categories.refresh();
    // Unpaged by default, because the API promises all categories.
    const page = pageOf(categories.visible(actor), query);
    const items = await records.categories(page.items, actor);
    return { categories: [...items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/categories/:id',
    can: 'public',
    summary: 'One category, by id or slug',
    cacheTags,
    params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) }),
    result: Type.Object({ category: Category }),
    load: async ({ actor, params }) => {
      await categories.refresh();
      return categories.find(params.id, actor);
    },
  })(async ({ actor, target }) => {
    const [category] = await records.categories([target], actor);
    return { category: category! };
  });
}
