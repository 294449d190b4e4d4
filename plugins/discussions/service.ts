import type { Cache, Data, PluginHandle } from 'parley-forum';
import { discussionFields, DiscussionRecord, type Discussions } from 'parley-forum/plugins/discussions';
import { postBackfill } from './projections/backfill.ts';
import type { DiscussionUrls } from './lists/urls.ts';
import { listItems } from './lists/list-items.ts';
import type { CategoryService } from './categories/category-service.ts';
import type { AuthorStatistics } from './counters/author-statistics.ts';
import type { Projections } from './projections/projections.ts';
import { listModel, tabsOf } from './lists/list-page.ts';
import type { DiscussionReader } from './reading/reader.ts';
import type { Rights } from './rights.ts';
import { withFields } from './schemas.ts';
import type { DiscussionWriter } from './writing/writer.ts';

interface ServiceDeps {
  readonly plugin: PluginHandle;
  readonly data: Data;
  readonly cache: Cache;
  readonly categories: CategoryService;
  readonly reader: DiscussionReader;
  readonly writer: DiscussionWriter;
  readonly projections: Projections;
  readonly rights: Rights;
  readonly urls: DiscussionUrls;
  readonly statistics: AuthorStatistics;
}

/** Creates the service that other plugins use. */
export const createService = ({
  plugin,
  data,
  cache,
  reader,
  writer,
  projections,
  rights,
  categories,
  urls,
  statistics,
}: ServiceDeps): Discussions => ({
  record: withFields(plugin, discussionFields, DiscussionRecord),
  start: (viewer, draft) => writer.start(viewer, draft),
  reply: async (viewer, draft) => {
    const { id, number, path } = await writer.reply(viewer, draft);
    return { id, number, path };
  },
  publish: (author, draft) => writer.publish(author, draft),
  postCounts: async (authorIds, viewer) => {
    if (!viewer) return statistics.totals(authorIds);
    const counts = await statistics.of(authorIds, viewer);
    return new Map(authorIds.map((id, at) => [id, counts[at]?.posts ?? 0]));
  },
  find: (idOrNumber, viewer) => reader.find(idOrNumber, viewer),
  findPost: async (id, viewer) => {
    const found = await reader.findPost(id, viewer);
    return (
      found && {
        id: found.row.id,
        number: found.row.number,
        authorId: found.row.author_id,
        deleted: found.row.deleted_at !== null || found.discussion.deleted,
        discussion: found.discussion,
      }
    );
  },
  list: (request, viewer) => reader.list(request, viewer),
  records: (ids, viewer) => reader.recordsOf(ids, viewer),
  posts: (ids, viewer) => reader.postsOf(ids, viewer),
  mostPosts: (part, viewer) => statistics.most(part, viewer),
  listItems: async (records) => {
    await categories.refresh();
    return listItems(records, categories.all());
  },
  listPage: async (page, viewer) => {
    await categories.refresh();
    return listModel({ plugin, reader, categories, rights }, page, viewer);
  },
  tabs: (path, viewer) => tabsOf({ plugin }, path, viewer),
  canReply: (discussion, viewer) => rights.canReply(discussion, viewer),
  visible: (viewer) => reader.visible(viewer),
  visiblePosts: (viewer) => reader.visiblePosts(viewer),
  readablePosts: (viewer) => reader.readablePosts(viewer),
  discussionsOf: (postIds, viewer) => reader.discussionsOf(postIds, viewer),
  urls: (range, viewer) => urls.between(range, viewer),
  occupiedRanges: (size, viewer) => urls.occupiedRanges(size, viewer),
  projectedPosts: (after, limit, since) => projections.projectedPosts(after, limit, since),
  checkpoint: () => projections.checkpoint(),
  postBackfill: (projection) => postBackfill({ data, cache, projections }, projection),
});
