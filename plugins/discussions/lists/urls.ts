import { sql, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { DiscussionUrl } from 'parley-forum/plugins/discussions';
import type { CategoryService } from '../categories/category-service.ts';
import { discussionPath } from '../identifiers.ts';

interface UrlsDeps {
  readonly data: Data;
  readonly categories: CategoryService;
}
type Row = Readonly<{ number: number; slug: string; updatedAt: Date }>;

/** URLs of visible discussions in ranges of numbers. Numbers never change, so neither do the ranges. */
export class DiscussionUrls {
  readonly #deps: UrlsDeps;

  constructor(deps: UrlsDeps) {
    this.#deps = deps;
  }

  async between(
    { after, last, limit }: Readonly<Record<'after' | 'last' | 'limit', number>>,
    viewer: Viewer,
  ): Promise<readonly DiscussionUrl[]> {
    const rows = await this.#deps.data.all(sql<Row>`select number, slug, updated_at as "updatedAt" from discussion
      where number > ${after}::bigint and number <= ${last}::bigint
        and category_id = any(${await this.#visible(viewer)}::uuid[]) and deleted_at is null
      order by number limit ${limit}`);
    return rows.map(({ number, slug, updatedAt }) => ({ number, path: discussionPath({ number, slug }), updatedAt }));
  }

  /** Reads each range only up to its first visible discussion. */
  async occupiedRanges(size: number, viewer: Viewer): Promise<readonly number[]> {
    const rows = await this.#deps.data.all(sql<{ stretch: number }>`
      select stretch::int
      from generate_series(0::bigint, (select coalesce(max(number), 1) - 1 from discussion) / ${size}::bigint) stretch
      where exists (
        select from discussion where number > stretch * ${size}::bigint and number <= (stretch + 1) * ${size}::bigint
          and category_id = any(${await this.#visible(viewer)}::uuid[]) and deleted_at is null
      ) order by stretch`);
    return rows.map(({ stretch }) => stretch);
  }

  async #visible(viewer: Viewer): Promise<readonly string[]> {
    const { categories } = this.#deps;
    await categories.refresh();
    return categories.visible(viewer).map(({ id }) => id);
  }
}
