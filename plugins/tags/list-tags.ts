import { sql, type Cache, type Data } from 'parley-forum';
import { discussionCacheTags, type ListTagSource } from 'parley-forum/plugins/discussions';
import { tagsTag } from 'parley-forum/ports/tags';
import type { TagCounts } from './tag-counts.ts';
import type { TagService } from './tag-service.ts';
import type { VisibleTags } from './visible-tags.ts';

interface ListTagDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly tags: TagService;
  readonly counts: TagCounts;
  readonly visible: VisibleTags;
}
/** The number of tags in the menu of a list. */
const MAX_OFFERED = 30;

/** The tags to which the lists of discussions can be limited. */
export const listTagSource = ({ data, cache, tags, counts, visible }: ListTagDeps): ListTagSource => ({
  async find(idOrSlug, viewer, categoryIds) {
    const tag = await visible.find(idOrSlug, viewer);
    if (!tag) return undefined;
    const [there] = await counts.records([tag], viewer, categoryIds);
    return {
      slug: tag.slug,
      name: tag.name,
      count: there?.discussion_count ?? 0,
      discussions: visible.discussionsWith(tag.id),
    };
  },
  async offered(categoryIds) {
    await tags.refresh();
    // The sums are made by the database, as the list of the front page is read after each post, and a forum may have
    // many thousands of tags.
    const ids = await cache.remember(
      `tags.offered:${categoryIds.join()}`,
      [tagsTag, discussionCacheTags.lists, discussionCacheTags.categories],
      async () => {
        const rows = await data.all(sql<{ id: string }>`select tag_id as id from tag_count
          where category_id = any(${categoryIds}::uuid[]) and discussions > 0
          group by tag_id order by sum(discussions) desc, tag_id limit ${MAX_OFFERED}`);
        return rows.map(({ id }) => id);
      },
    );
    return ids.flatMap((id) => {
      const tag = tags.find(id);
      return tag ? [{ slug: tag.slug, name: tag.name }] : [];
    });
  },
});
