import type { PluginHandle } from 'parley-forum';
import { discussionFields, DiscussionRecord, type Discussions } from 'parley-forum/plugins/discussions';
import type { Absences } from './projections/backfill.ts';
import type { Addresses } from './lists/urls.ts';
import { cards } from './lists/list-items.ts';
import type { CategoryService } from './categories/category-service.ts';
import type { Mirroring } from './projections/projections.ts';
import { listModel } from './lists/list-page.ts';
import type { Reading } from './reading/reader.ts';
import type { Rights } from './rights.ts';
import { withFields } from './schemas.ts';
import type { Writing } from './writing/writer.ts';

interface Parts {
  readonly plugin: PluginHandle;
  readonly categories: CategoryService;
  readonly reading: Reading;
  readonly writing: Writing;
  readonly mirroring: Mirroring;
  readonly rights: Rights;
  readonly addresses: Addresses;
  readonly absences: Absences;
}

/** What other plugins may ask for. */
export const createService = ({
  plugin,
  reading,
  writing,
  mirroring,
  rights,
  categories,
  addresses,
  absences,
}: Parts): Discussions => ({
  record: withFields(plugin, discussionFields, DiscussionRecord),
  start: (viewer, draft) => writing.start(viewer, draft),
  reply: async (viewer, draft) => {
    const { id, number, path } = await writing.reply(viewer, draft);
    return { id, number, path };
  },
  find: (idOrNumber, viewer) => reading.find(idOrNumber, viewer),
  findPost: async (id, viewer) => {
    const found = await reading.findPost(id, viewer);
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
  list: (request, viewer) => reading.list(request, viewer),
  records: (ids, viewer) => reading.recordsOf(ids, viewer),
  posts: (ids, viewer) => reading.postsOf(ids, viewer),
  cards: async (records) => {
    await categories.refresh();
    return cards(records, categories.all());
  },
  listPage: async (page, viewer) => {
    await categories.refresh();
    return listModel({ reading, categories }, page, viewer);
  },
  mayReply: (discussion, viewer) => rights.reply(discussion, viewer),
  visible: (viewer) => reading.visible(viewer),
  visiblePosts: (viewer) => reading.visiblePosts(viewer),
  addresses: (part, viewer) => addresses.between(part, viewer),
  stretches: (size, viewer) => addresses.stretches(size, viewer),
  mirrored: (after, limit, since) => mirroring.mirrored(after, limit, since),
  changed: (since) => mirroring.changed(since),
  mark: () => mirroring.mark(),
  makeUp: (plugin, mirror, marks) => absences.makeUp(plugin, mirror, marks),
});
