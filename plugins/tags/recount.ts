import { counterKeys, sql, type Cache, type Counter, type Data } from 'parley-forum';
import { categoryCounter, discussionCacheTags } from 'parley-forum/plugins/discussions';
import { tagsTag } from 'parley-forum/ports/tags';
import type { TagCounts } from './tag-counts.ts';

interface RecountDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly counts: TagCounts;
}
interface MismatchRow {
  readonly line: string;
}

/** Counters for the category each tag assignment is counted in, and for the resulting totals. */
export const tagCounters = ({ data, cache, counts }: RecountDeps): readonly Counter[] => {
  const mismatches = async (query: ReturnType<typeof sql<MismatchRow>>): Promise<readonly string[]> =>
    (await data.all(query)).map(({ line }) => line);
  const repairAndPurge = (work: () => Promise<unknown>) =>
    data.transaction(work).then(() => cache.purge(tagsTag, discussionCacheTags.lists, discussionCacheTags.categories));
  return [
    {
      name: 'tags of discussions',
      keys: counterKeys(data, { table: 'discussion_tag', column: 'discussion_id' }),
      check: (keys) =>
        mismatches(sql<MismatchRow>`select format('discussion %s: counted in %s, but is in %s', d.number, t.counted_in, d.category_id) as line
      from discussion_tag t join discussion d on d.id = t.discussion_id where d.id = any(${keys}::uuid[])
        and (t.position is null or t.counted_in is distinct from case when d.deleted_at is null then d.category_id end)
        order by d.id, t.tag_id`),
      repair: (keys) =>
        repairAndPurge(async () => {
          const discussions = await data.all(sql<{
            id: string;
            categoryId: string | null;
          }>`select id, case when deleted_at is null then category_id end as "categoryId"
        from discussion where id = any(${keys}::uuid[]) order by id for share`);
          await counts.count(discussions.map(({ id, categoryId }) => ({ id, categoryId: categoryId ?? undefined })));
        }),
    },
    categoryCounter({
      data,
      name: 'discussions of tags',
      label: 'tag',
      table: 'tag_count',
      owner: 'tag_id',
      count: 'discussions',
      keys: counterKeys(data, { table: 'tag', column: 'id' }),
      actual: (tagIds) => sql`select tag_id, counted_in as category_id, count(*)::int as discussions from discussion_tag
        where tag_id = any(${tagIds}::uuid[]) and counted_in is not null group by tag_id, counted_in`,
      repair: (_tagIds, correct) => repairAndPurge(correct),
    }),
  ];
};
