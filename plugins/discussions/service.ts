import type { Discussions } from '#plugins/discussions';
import type { Mirroring } from './mirroring.ts';
import type { Reading } from './reading.ts';
import type { Rights } from './rights.ts';
import type { Writing } from './writing.ts';

/** What other plugins may ask for. */
export const createService = ({ reading, writing, mirroring, rights }: { reading: Reading; writing: Writing; mirroring: Mirroring; rights: Rights }): Discussions => ({
  start: (viewer, draft) => writing.start(viewer, draft),
  reply: async (viewer, draft) => {
    const { id, number, path } = await writing.reply(viewer, draft);
    return { id, number, path };
  },
  find: (idOrNumber, viewer) => reading.find(idOrNumber, viewer),
  findPost: async (id, viewer) => {
    const found = await reading.findPost(id, viewer);
    return found && { id: found.row.id, number: found.row.number, authorId: found.row.author_id, discussion: found.discussion };
  },
  list: (request, viewer) => reading.list(request, viewer),
  records: (ids, viewer) => reading.recordsOf(ids, viewer),
  posts: (ids, viewer) => reading.postsOf(ids, viewer),
  mayReply: (discussion, viewer) => rights.reply(discussion, viewer),
  visible: (viewer) => reading.visible(viewer),
  mirrored: (after, limit, since) => mirroring.mirrored(after, limit, since),
  mark: () => mirroring.mark(),
});
