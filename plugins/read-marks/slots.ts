import type { PluginHandle } from 'parley-forum';
import { isGuest, type Member, type Viewer } from 'parley-forum/plugins/access';
import {
  afterPosts,
  cardEnd,
  cardTitle,
  categoryActions,
  listTabEnd,
  listToolbar,
  postBefore,
  postMenu,
  type CategoryRecord,
  type DiscussionRecord,
  type PostRecord,
  type ShownDiscussion,
  type ShownListTab,
} from 'parley-forum/plugins/discussions';
import { fill, headerEnd, slotFillings, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import { entryOf, hasReadMark, placePath, type ReadMarkService, type VisitStart } from './read-mark-service.ts';
import { UNREAD, type UnreadRow } from './pages.ts';

/** The largest number shown; above it, the text says that there are more. */
const MOST = 99;
/** The list of followed discussions, which belongs to another plugin. */
const FOLLOWING = '/following';

interface SlotDeps {
  readonly plugin: PluginHandle;
  readonly marks: ReadMarkService;
  readonly web: Web;
}

/**
 * Fills slots of other plugins' pages with read marks. All guests get the same page: their marks are in their browsers.
 */
export function fillSlots({ plugin, marks, web }: SlotDeps): void {
  const everyone = { shared: true };
  const next = fill(headerEnd, async (contexts, viewer) => {
    if (isGuest(viewer)) return [];
    const link = await web.fragment(viewer, '@read-marks/next', {});
    return contexts.map(() => link);
  });
  plugin.extend(slotFillings, next, 5);

  const rows = async (contexts: readonly unknown[], viewer: Viewer): Promise<readonly SafeHtml[]> => {
    const element = await web.fragment(viewer, '@read-marks/rows', {});
    return contexts.map(() => element);
  };
  plugin.extend(slotFillings, fill(listToolbar, rows, everyone));

  const tabs = async (shown: readonly ShownListTab[], viewer: Viewer) => {
    if (isGuest(viewer)) return [];
    const { unread, followed, more } = await marks.counts(viewer);
    const counts = new Map([
      [UNREAD, unread],
      [FOLLOWING, followed],
    ]);
    return Promise.all(
      shown.map(async ({ href }) => {
        const count = counts.get(href) ?? 0;
        if (count === 0) return undefined;
        return web.fragment(viewer, '@read-marks/count', { count: Math.min(count, MOST), more: more || count > MOST });
      }),
    );
  };
  plugin.extend(slotFillings, fill(listTabEnd, tabs));

  const titles = async (records: readonly DiscussionRecord[], viewer: Viewer) => {
    if (isGuest(viewer)) return [];
    // Records of API lists carry the caller's fields; those of a page are shared by many viewers.
    const found = records.every(hasReadMark)
      ? records
      : await marks.of(
          records.map(({ id }) => id),
          viewer,
        );
    return Promise.all(
      records.map(async ({ number, title, url, is_pinned: pinned }, at) => {
        const mark = found[at]!;
        const { unread_count: count } = mark;
        if (count === 0 && !(pinned && mark.last_read_number > 0)) return undefined;
        const entry = entryOf(mark);
        const href = entry === undefined ? url : `${placePath(number, entry)}#post-${entry}`;
        return web.fragment(viewer, '@read-marks/title', { title, href, begun: entry !== undefined, count });
      }),
    );
  };
  plugin.extend(slotFillings, fill(cardTitle, titles));

  // Only the rows of the lists of unread discussions have it.
  const ends = async (records: readonly (DiscussionRecord & Partial<UnreadRow>)[], viewer: Viewer) =>
    Promise.all(
      records.map(async ({ id, title, last_post_number: number, unread_list: path }) =>
        path === undefined
          ? undefined
          : web.fragment(viewer, '@read-marks/read-row', { id, title, number, return_to: path }),
      ),
    );
  plugin.extend(slotFillings, fill(cardEnd, ends));

  const readAll = async (categories: readonly CategoryRecord[], viewer: Viewer): Promise<readonly SafeHtml[]> =>
    isGuest(viewer)
      ? []
      : Promise.all(categories.map(({ slug }) => web.fragment(viewer, '@read-marks/read-all', { category_id: slug })));
  plugin.extend(slotFillings, fill(categoryActions, readAll, everyone));

  const menuItems = async (posts: readonly PostRecord[], viewer: Viewer): Promise<readonly SafeHtml[]> =>
    isGuest(viewer) ? [] : Promise.all(posts.map(({ id }) => web.fragment(viewer, '@read-marks/menu-item', { id })));
  plugin.extend(slotFillings, fill(postMenu, menuItems, everyone));

  const reading = async (discussions: readonly ShownDiscussion[], viewer: Viewer): Promise<readonly SafeHtml[]> => {
    const ids = discussions.map(({ id }) => id);
    const found = !isGuest(viewer) ? await marks.of(ids, viewer) : [];
    return Promise.all(
      discussions.map((discussion, at) => web.fragment(viewer, '@read-marks/reading', { discussion, mark: found[at] })),
    );
  };
  plugin.extend(slotFillings, fill(afterPosts, reading));

  const lines = async (posts: readonly PostRecord[], viewer: Viewer) => {
    const first = !isGuest(viewer) ? await firstOfVisit(posts, viewer, marks) : undefined;
    if (!first) return [];
    const line = await web.fragment(viewer, '@read-marks/line', { at: first.at });
    return posts.map(({ number }) => (number === first.number ? line : undefined));
  };
  plugin.extend(slotFillings, fill(postBefore, lines));
}

/** The first post on this page that the member had not read before this visit, and when the visit before it was. */
async function firstOfVisit(
  posts: readonly PostRecord[],
  viewer: Member,
  marks: ReadMarkService,
): Promise<VisitStart | undefined> {
  const [any] = posts;
  const visit = any && (await marks.visitStart(any.discussion_id, viewer));
  const at = visit ? posts.findIndex(({ number }) => number > visit.number) : -1;
  const first = posts[at];
  // Deleted posts in between are not among these posts.
  if (!visit || !first || (at === 0 && first.number !== visit.number + 1)) return undefined;
  return { number: first.number, at: visit.at };
}
