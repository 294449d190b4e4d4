import { notFound, Type, type PluginHandle, type Settings } from 'parley-forum';
import type { Member } from 'parley-forum/plugins/access';
import { api, Id, IdParams, limitOf, listOf, nullable, pageFields, Paging, Time } from 'parley-forum/plugins/api';
import { BookmarkRecord, MAX_NOTE, SORTS } from 'parley-forum/plugins/bookmarks';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { BookmarkService } from './bookmark-service.ts';
import type { Bookmark } from './rows.ts';
import { shownBookmarks, type RecordsDeps } from './records.ts';
import { API_BUCKET } from './rate-limit.ts';

export interface RouteDeps extends RecordsDeps {
  readonly plugin: PluginHandle<{ readonly 'bookmarks.rate_limit': number }>;
  readonly settings: Settings;
  readonly discussions: Discussions;
  readonly bookmarks: BookmarkService;
}

/** The maximum length of a search, in characters. */
export const MAX_SEARCH = 100;
const Changes = {
  note: Type.Optional(Type.String({ maxLength: MAX_NOTE })),
  remind_at: Type.Optional(nullable(Time)),
};
const dateOf = (time: string | null | undefined): Date | null | undefined =>
  time ? new Date(time) : (time as null | undefined);

/** /api/bookmarks and below; always the caller's own bookmarks. */
export function bookmarkRoutes({ plugin, settings, discussions, bookmarks, ...deps }: RouteDeps): void {
  const write = { can: 'member', options: { bucket: API_BUCKET } } as const;
  const load = ({ actor, params }: { actor: Member; params: { id: string } }) => bookmarks.find(params.id, actor);
  const recordOf = async (bookmark: Bookmark, viewer: Member): Promise<BookmarkRecord> => {
    const [shown] = await shownBookmarks({ ...deps, discussions }, [bookmark], viewer);
    if (!shown) throw notFound('There is no such bookmark');
    return shown.record;
  };

  plugin.route(api, {
    method: 'get',
    path: '/bookmarks',
    can: 'member',
    summary: 'The caller’s bookmarks of posts that they may see, newest first',
    query: Type.Object({
      ...Paging,
      q: Type.Optional(
        Type.String({
          maxLength: MAX_SEARCH,
          description: 'Words that must all occur in the note, the title or the beginning of the text',
        }),
      ),
      sort: Type.Optional(Type.Enum([...SORTS])),
    }),
    result: listOf('bookmarks', BookmarkRecord),
  })(async ({ actor, query: { q = '', sort = 'newest', limit, offset, cursor } }) => {
    const page = await bookmarks.list(actor, { search: q, sort, limit: limitOf(settings, limit), offset, cursor });
    const shown = await shownBookmarks({ ...deps, discussions }, page.items, actor);
    const items = shown.map(({ record }) => record);
    return { bookmarks: items, ...pageFields({ ...page, items }) };
  });

  plugin.route(api, {
    ...write,
    method: 'post',
    path: '/bookmarks',
    status: 201,
    summary: 'Bookmark a post, or a discussion by its first post; updates an existing bookmark',
    body: Type.Object({ post_id: Type.Optional(Id), discussion_id: Type.Optional(Id), ...Changes }),
    result: Type.Object({ bookmark: BookmarkRecord }),
  })(async ({ actor, body: { post_id, discussion_id, note, remind_at } }) => {
    const first = discussion_id === undefined ? undefined : await discussions.find(discussion_id, actor);
    const postId = post_id ?? first?.firstPostId;
    if (postId === undefined) throw notFound('There is no such discussion');
    return {
      bookmark: await recordOf(await bookmarks.add(actor, postId, { note, remindAt: dateOf(remind_at) }), actor),
    };
  });

  plugin.route(api, {
    ...write,
    method: 'put',
    path: '/bookmarks/:id',
    summary: 'Change the note and reminder of a bookmark; omitted fields are unchanged, and null removes the reminder',
    params: IdParams,
    body: Type.Object(Changes),
    result: Type.Object({ bookmark: BookmarkRecord }),
    load,
  })(async ({ actor, target, body: { note, remind_at } }) => ({
    bookmark: await recordOf(
      await bookmarks.change(target.bookmark, { note, remindAt: dateOf(remind_at) }, actor),
      actor,
    ),
  }));

  plugin.route(api, {
    ...write,
    method: 'delete',
    path: '/bookmarks/:id',
    summary: 'Remove a bookmark',
    params: IdParams,
    result: Type.Object({}),
    load,
  })(async ({ actor, target }) => {
    await bookmarks.remove([target.bookmark.id], actor);
    return {};
  });
}
