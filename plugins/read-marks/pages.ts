import { notFound, Type, type Environment, type PluginHandle } from 'parley-forum';
import { isGuest, type Member, type Viewer } from 'parley-forum/plugins/access';
import { Id, Paging } from 'parley-forum/plugins/api';
import { ListPartQuery, POSTS_PER_PAGE, listTabs, type Discussions } from 'parley-forum/plugins/discussions';
import {
  localPath,
  navigation,
  pages,
  pageViewListeners,
  phrase,
  redirect,
  shortcuts,
  view,
  type Redirect,
} from 'parley-forum/plugins/web';
import { tagsTag } from 'parley-forum/ports/tags';
import type { Subscriptions } from 'parley-forum/ports/subscriptions';
import { entryOf, placePath, unreadTags, type ReadMarkService } from './read-mark-service.ts';

export interface PageDeps {
  readonly plugin: PluginHandle;
  readonly environment: Environment;
  readonly discussions: Discussions;
  readonly marks: ReadMarkService;
  readonly subscriptions: Subscriptions | undefined;
}
/** The path of the list of unread discussions. */
export const UNREAD = '/unread';
const NEW = '/unread/new';
const ReturnTo = Type.Optional(Type.String({ maxLength: 2_048, description: 'The page to redirect to afterwards' }));
/** A row of the lists of unread discussions, with the path of the page to return to. */
export interface UnreadRow {
  readonly unread_list: string;
}

/** The /unread pages, and the forms for read marks. */
export function addPages(deps: PageDeps): void {
  const { plugin, environment, discussions, marks } = deps;
  addLists(deps);

  /** Redirects to the first unread post of the given discussion, or else of another one. */
  const next = async (viewer: Member, discussionId?: string): Promise<Redirect> => {
    const found = await marks.next(viewer, discussionId);
    if (!found) return redirect(UNREAD, { notice: phrase('read-marks:nothing') });
    return redirect(placePath(found.number, entryOf(found) ?? 1));
  };
  plugin.route(pages, {
    method: 'get',
    path: '/unread/next',
    can: 'member',
    query: Type.Object({ in: Type.Optional(Id) }),
    summary: 'Redirects to the next unread post, in this discussion first.',
  })(({ actor, query }) => next(actor, query.in));

  plugin.route(pages, {
    method: 'post',
    path: '/read-marks',
    can: 'member',
    body: Type.Object({
      discussion_id: Id,
      number: Type.Integer({ minimum: 1, maximum: 2_147_483_647 }),
      next: Type.Optional(Type.Boolean()),
      return_to: ReturnTo,
    }),
    summary: 'Marks a discussion as read up to a post.',
  })(async ({ actor, body }) => {
    const discussion = await discussions.find(body.discussion_id, actor);
    if (!discussion) throw notFound();
    await marks.read(actor, new Map([[discussion.id, body.number]]));
    if (body.next) return next(actor, discussion.id);
    const path =
      body.return_to === undefined
        ? placePath(discussion.number, body.number)
        : localPath(body.return_to, environment.baseUrl);
    return redirect(path, { notice: phrase('read-marks:read.done') });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/read-marks/all',
    can: 'member',
    body: Type.Object({ category_id: Type.Optional(Type.String({ maxLength: 100 })), return_to: ReturnTo }),
    summary: 'Marks everything as read, or everything in a category.',
  })(async ({ actor, body }) => {
    await marks.readAll(actor, body.category_id);
    const list = body.category_id === undefined ? UNREAD : `/c/${encodeURIComponent(body.category_id)}`;
    const path = body.return_to === undefined ? list : localPath(body.return_to, environment.baseUrl);
    return redirect(path, { notice: phrase('read-marks:all.done') });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/unread',
    can: 'member',
    load: ({ actor, params }) => discussions.findPost(params['id'] ?? '', actor),
    summary: 'Marks a post and all later ones as unread.',
  })(async ({ actor, target }) => {
    await marks.unreadFrom(target, actor);
    return redirect(UNREAD, { notice: phrase('read-marks:unread.done', { number: target.number }) });
  });

  const opened = async (number: string, page: number, viewer: Viewer): Promise<void> => {
    const discussion = await discussions.find(number, viewer);
    if (discussion && !isGuest(viewer))
      await marks.read(viewer, new Map([[discussion.id, (page - 1) * POSTS_PER_PAGE]]));
  };
  // Opening the next page implies that the previous one was read; without JavaScript there is no other sign.
  plugin.extend(pageViewListeners, {
    onPageView({ path, viewer }) {
      const [, number, page] = (!isGuest(viewer) && /^\/d\/(\d+)[^/?]*\?(?:.*&)?page=(\d{1,7})\b/.exec(path)) || [];
      if (number === undefined || Number(page) < 2) return;
      opened(number, Number(page), viewer).catch((error: unknown) =>
        plugin.log.warn({ error }, 'the previous page could not be marked as read'),
      );
    },
  });
}

/** /unread and /unread/new, with their tabs. */
function addLists({ plugin, discussions, marks, subscriptions }: PageDeps): void {
  const member = (viewer: Viewer): boolean => !isGuest(viewer);
  plugin.extend(listTabs, { label: 'read-marks:tabs.unread', href: UNREAD, visible: member }, 0);
  plugin.extend(listTabs, { label: 'read-marks:tabs.new', href: NEW, visible: member }, 10);
  plugin.extend(
    navigation,
    { area: 'tabs', label: 'read-marks:tabs.unread', href: UNREAD, icon: 'book', visible: member },
    -10,
  );
  plugin.extend(shortcuts, {
    id: 'read-marks.next',
    keys: 'n',
    label: 'read-marks:next',
    area: 'everywhere',
    press: 'x-next-unread a',
    visible: member,
  });
  plugin.extend(shortcuts, {
    id: 'read-marks.unread',
    keys: 'g u',
    label: 'read-marks:keys.unread',
    area: 'everywhere',
    href: UNREAD,
    visible: member,
  });
  for (const path of [UNREAD, NEW]) {
    plugin.route(pages, {
      method: 'get',
      path,
      can: 'member',
      query: Type.Object({
        ...ListPartQuery,
        page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
        cursor: Paging.cursor,
      }),
      cacheTags: () => [...unreadTags, tagsTag],
    })(async ({ actor, query: { category, tag, ...query } }) => {
      const onlyNew = path === NEW;
      const { start, ...selection } = await marks.selection(actor, onlyNew);
      const list = await discussions.listPage(
        { ...query, ...selection, path, part: { category, tag }, oneOrder: true },
        actor,
      );
      if (!onlyNew && !category && !tag && (query.page ?? 1) === 1) await marks.settle(start, list.shown);
      const head = {
        name: 'home',
        title: phrase(onlyNew ? 'read-marks:new.title' : 'read-marks:unread.title'),
        noindex: true,
        current: '/',
      };
      const note = await subscriptions?.noteOfMuted(actor.id);
      const chosen = new URLSearchParams({ ...(category && { category }), ...(tag && { tag }) });
      const address = chosen.size > 0 ? `${path}?${chosen}` : path;
      const rows = list.discussions.map((row): object => ({ ...row, unread_list: address }) satisfies UnreadRow);
      return view('@read-marks/unread', head, {
        ...list,
        discussions: rows,
        notes: note ? [note] : [],
        new: onlyNew,
        path,
        whole: !category && !tag,
      });
    });
  }
}
