import { sql, type Cache, type Data } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { discussionCacheTags, type Categories } from 'parley-forum/plugins/discussions';
import { tagsTag, type Tag, type TagRecord } from 'parley-forum/ports/tags';

/** A discussion and its category; undefined while the discussion is deleted. */
export interface CountedDiscussion {
  readonly id: string;
  readonly categoryId: string | undefined;
}
type Numbers = ReadonlyMap<string, readonly { readonly categoryId: string; readonly discussions: number }[]>;

/** The number of discussions per tag and category, so that numbers do not reveal hidden discussions. */
export class TagCounts {
  readonly #data: Data;
  readonly #cache: Cache;
  readonly #categories: Categories;

  constructor({ data, cache, categories }: { data: Data; cache: Cache; categories: Categories }) {
    this.#data = data;
    this.#cache = cache;
    this.#categories = categories;
  }

  /** Tags as the API shows them to a viewer; with `categoryIds`, only discussions in these categories are counted. */
  async records(tags: readonly Tag[], viewer: Viewer, categoryIds?: readonly string[]): Promise<readonly TagRecord[]> {
    await this.#categories.refresh();
    const visible = new Set(
      this.#categories
        .visible(viewer)
        .map(({ id }) => id)
        .filter((id) => categoryIds?.includes(id) !== false),
    );
    const numbers = await this.#numbers();
    return tags.map(({ id, slug, name, hue }) => {
      const counted = (numbers.get(id) ?? []).filter(({ categoryId }) => visible.has(categoryId));
      return { id, slug, name, hue, discussion_count: counted.reduce((sum, { discussions }) => sum + discussions, 0) };
    });
  }

  /**
   * Updates the counts for these discussions from what the current transaction wrote, and deletes the tags that were
   * removed. It is one statement that locks the counts in key order, so that writers cannot deadlock.
   */
  async count(discussions: readonly CountedDiscussion[]): Promise<void> {
    if (discussions.length === 0) return;
    await this.#data.all(sql`
      with now as (
        select * from unnest(${discussions.map(({ id }) => id)}::uuid[], ${discussions.map(({ categoryId }) => categoryId ?? null)}::uuid[])
          as n (discussion_id, category_id)
      ), stale as (
        select t.discussion_id, t.tag_id, t.position, t.counted_in as before,
          case when t.position is not null then now.category_id end as after
        from discussion_tag t join now using (discussion_id) where t.position is null
          or t.counted_in is distinct from now.category_id
        order by t.discussion_id, t.tag_id for update of t
      ), kept as (
        update discussion_tag t set counted_in = s.after from stale s where t.discussion_id = s.discussion_id
          and t.tag_id = s.tag_id and s.position is not null
      ), left_off as (
        delete from discussion_tag t using stale s where t.discussion_id = s.discussion_id and t.tag_id = s.tag_id
          and s.position is null
      ), changes as (
        select tag_id, before as category_id, -1 as by from stale where before is not null
        union all select tag_id, after, 1 from stale where after is not null
      )
      insert into tag_count (tag_id, category_id, discussions)
      select tag_id, category_id, sum(by) from changes group by tag_id, category_id order by tag_id, category_id
      on conflict (tag_id, category_id) do update set discussions = tag_count.discussions + excluded.discussions`);
  }

  /** Moves the counts when all discussions of a category move to another one. */
  async move(from: string, to: string): Promise<void> {
    await this.#data.all(sql`update discussion_tag set counted_in = ${to} where counted_in = ${from}`);
    await this.#data.all(sql`insert into tag_count (tag_id, category_id, discussions)
      select tag_id, ${to}, discussions from tag_count where category_id = ${from} order by tag_id
      on conflict (tag_id, category_id) do update set discussions = tag_count.discussions + excluded.discussions`);
    await this.#data.all(sql`delete from tag_count where category_id = ${from}`);
  }

  /** The ids of tags that are used, but only by discussions that the viewer may not see. */
  async hiddenFrom(viewer: Viewer): Promise<readonly string[]> {
    await this.#categories.refresh();
    const visible = new Set(this.#categories.visible(viewer).map(({ id }) => id));
    const numbers = await this.#numbers();
    return [...numbers]
      .filter(([, counted]) => !counted.some(({ categoryId }) => visible.has(categoryId)))
      .map(([id]) => id);
  }

  #numbers(): Promise<Numbers> {
    return this.#cache.remember(
      'tags.counts',
      [tagsTag, discussionCacheTags.lists, discussionCacheTags.categories],
      async () => {
        const rows = await this.#data.all(sql<{ id: string; categoryId: string; discussions: number }>`
        select tag_id as id, category_id as "categoryId", discussions from tag_count where discussions > 0
        order by tag_id, category_id`);
        return Map.groupBy(rows, ({ id }) => id);
      },
    );
  }
}
