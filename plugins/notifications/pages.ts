import { Type, type Cache, type PluginHandle } from 'parley-forum';
import { accessTag, isGuest, type Member, type Viewer } from 'parley-forum/plugins/access';
import { accountTag } from 'parley-forum/plugins/accounts';
import { Id } from 'parley-forum/plugins/api';
import type { Discussions } from 'parley-forum/plugins/discussions';
import type { NotificationType } from 'parley-forum/ports/notifications';
import {
  fill,
  headerEnd,
  navigation,
  negotiated,
  pagerOf,
  pages,
  pageViewListeners,
  phrase,
  redirect,
  shortcuts,
  slotFillings,
  view,
  type Web,
} from 'parley-forum/plugins/web';
import type { NotificationReader } from './reader.ts';
import { readTags } from './routes.ts';
import { sentenceOf } from './sentence.ts';

export interface PagesDeps {
  readonly cache: Cache;
  readonly discussions: Discussions;
  readonly reader: NotificationReader;
  readonly web: Web;
  types(): readonly NotificationType[];
  /** The types that the viewer's preferences list. */
  offered(viewer: Viewer): readonly NotificationType[];
}
const PAGE = 20;
const LIST = '/notifications';
const Query = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
  unread: Type.Optional(Type.Boolean()),
  type: Type.Optional(Type.String({ maxLength: 64 })),
});

/**
 * /notifications, the bell in the header of every page, and marking a discussion's notifications read when it is
 * opened.
 */
export function addPages(plugin: PluginHandle, { cache, discussions, reader, web, types, offered }: PagesDeps): void {
  plugin.extend(navigation, { area: 'account', label: 'notifications:title', href: LIST, icon: 'bell' }, -10);
  plugin.extend(navigation, {
    area: 'tabs',
    label: 'notifications:tab',
    href: LIST,
    icon: 'bell',
    visible: (viewer) => !isGuest(viewer),
  });
  plugin.extend(shortcuts, {
    id: 'notifications.list',
    keys: 'g n',
    label: 'notifications:keys.list',
    area: 'everywhere',
    href: LIST,
    visible: (viewer) => !isGuest(viewer),
  });

  plugin.route(pages, {
    method: 'get',
    path: LIST,
    can: 'member',
    query: Query,
    cacheTags: readTags,
  })(async ({ actor, query: { page = 1, unread = false, type } }) => {
    const named = offered(actor).filter(({ name }) => name !== undefined);
    // Types with the same name are combined into one filter.
    const kinds = Map.groupBy(named, ({ name }) => name!);
    const chosen = [...kinds.values()].find((kind) => kind.some((one) => one.type === type));
    const together = type === undefined ? undefined : (chosen?.map((one) => one.type) ?? [type]);
    const request = { limit: PAGE, offset: (page - 1) * PAGE, unread, types: together };
    const { items, hasMore } = await reader.list(actor, request);
    const href = (only: boolean, kind: string | undefined, number = 1): string => {
      const query = new URLSearchParams({
        ...(only && { unread: 'true' }),
        ...(kind !== undefined && { type: kind }),
        ...(number > 1 && { page: String(number) }),
      });
      return query.size > 0 ? `${LIST}?${query}` : LIST;
    };
    const model = {
      notifications: items.map((one) => ({
        ...one,
        title: one.untitled === undefined ? one.title : web.say(phrase(one.untitled)),
        says: sentenceOf(
          types().find(({ type }) => type === one.type),
          one.values,
          (key, values) => web.say(phrase(key, values)),
        ),
      })),
      unread: await reader.unread(actor),
      only: unread,
      all: href(false, type),
      fresh: href(true, type),
      kinds: [
        { label: 'notifications:kind.all', href: href(unread, undefined), current: type === undefined },
        ...[...kinds].map(([label, kind]) => ({
          label,
          href: href(unread, kind[0]!.type),
          current: kind === chosen,
        })),
      ],
      pager: pagerOf(page, hasMore ? page + 1 : page, (number) => href(unread, type, number)),
    };
    return view(
      '@notifications/list',
      { name: 'notifications', title: phrase('notifications:title'), noindex: true, current: LIST },
      model,
    );
  });

  plugin.route(pages, {
    method: 'post',
    path: '/notifications/read',
    can: 'member',
    body: Type.Object({ id: Type.Optional(Id) }),
  })(async ({ actor, body: { id } }) => {
    await reader.read(actor, id === undefined ? {} : { ids: [id] });
    return negotiated(redirect(LIST), { success: true, count: await reader.unread(actor) });
  });

  const cacheTags = (viewer: Member): readonly string[] => [accountTag(viewer.id), accessTag, ...readTags()];
  const unread = (viewer: Member): Promise<number> =>
    cache.remember(`notifications.unread:${viewer.id}`, cacheTags(viewer), () => reader.unread(viewer));
  const unreadIn = (viewer: Member): Promise<ReadonlySet<string>> =>
    cache.remember(`notifications.unread-in:${viewer.id}`, cacheTags(viewer), () => reader.unreadIn(viewer), {
      bytes: ({ size }) => 100 * (size + 1),
    });
  plugin.extend(
    slotFillings,
    fill(headerEnd, async (contexts, viewer) => {
      if (isGuest(viewer)) return [];
      const bell = await web.fragment(viewer, '@notifications/bell', { count: await unread(viewer) });
      return contexts.map(() => bell);
    }),
    10,
  );

  const opened = async (number: string, viewer: Member): Promise<void> => {
    if ((await unread(viewer)) === 0) return;
    const discussion = await discussions.find(number, viewer);
    if (discussion && (await unreadIn(viewer)).has(discussion.id))
      await reader.read(viewer, { discussionId: discussion.id });
  };
  plugin.extend(pageViewListeners, {
    onPageView({ path, viewer }) {
      const number = /^\/d\/(\d+)/.exec(path)?.[1];
      if (isGuest(viewer) || number === undefined) return;
      opened(number, viewer).catch((error: unknown) =>
        plugin.log.warn({ error }, 'the notifications of an opened discussion could not be marked as read'),
      );
    },
  });
}
