import { sql, type Data } from 'parley-forum';
import type { Access } from 'parley-forum/plugins/access';
import { moderate, listCacheTags } from 'parley-forum/plugins/discussions';
import type { PageVisibilityRule } from 'parley-forum/ports/page-visibility';
import type { CategoryService } from '../categories/category-service.ts';
import { discussionPath, numberOf } from '../identifiers.ts';

const DISCUSSION = /^\/d\/(\d+)(?:[-/].*)?$/;
const CATEGORY = /^\/c\/([^/]+)$/;

interface Found {
  readonly number: number;
  readonly slug: string;
  readonly title: string;
}

interface PageVisibilityDeps {
  readonly data: Data;
  readonly access: Access;
  readonly categories: CategoryService;
}

/**
 * Titles of discussions and categories on pages that visitors have open, as far as the viewer may see them. One
 * statement.
 */
export const pageVisibility = ({ data, access, categories }: PageVisibilityDeps): PageVisibilityRule => ({
  prefixes: ['/d/', '/c/'],
  tags: listCacheTags,
  async visible(paths, viewer) {
    await categories.refresh();
    const numbers = paths.map((path) => numberOf(DISCUSSION.exec(path)?.[1] ?? ''));
    const ids = categories.visible(viewer).map(({ id }) => id);
    const rows = await data.all(sql<Found>`select number, slug, title from discussion
      where number = any(${numbers.filter((number) => number !== undefined)}::int[])
        and category_id = any(${ids}::uuid[])
        and (deleted_at is null or ${access.allows(viewer, moderate)}) order by number`);
    const found = new Map(rows.map((row) => [row.number, { path: discussionPath(row), title: row.title }]));
    return paths.map((path, at) => {
      const category = categories.find(CATEGORY.exec(path)?.[1] ?? '', viewer);
      return category
        ? { path: `/c/${encodeURIComponent(category.slug)}`, title: category.name }
        : found.get(numbers[at] ?? 0);
    });
  },
});
