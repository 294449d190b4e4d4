import { notFound, Type, type PluginHandle } from 'parley-forum';
import { accessTag, isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import { Id, Paging } from 'parley-forum/plugins/api';
import {
  listCacheTags,
  headActions,
  ListPartQuery,
  listTabs,
  type DiscussionRecord,
  type Discussions,
} from 'parley-forum/plugins/discussions';
import { follow } from 'parley-forum/plugins/subscriptions';
import { tagsTag } from 'parley-forum/ports/tags';
import { LEVELS } from 'parley-forum/ports/subscriptions';
import {
  fill,
  negotiated,
  pages,
  phrase,
  redirect,
  shortcuts,
  slotFillings,
  view,
  type SafeHtml,
  type Web,
} from 'parley-forum/plugins/web';
import type { FollowDeps } from './follow-routes.ts';
import { followedBy, type SubscriptionService } from './subscription-service.ts';

export interface PageDeps extends FollowDeps {
  readonly access: Access;
  readonly discussions: Discussions;
  readonly subscriptions: SubscriptionService;
  readonly web: Web;
}

const FOLLOWING = '/following';

/** The menu at the head of a discussion with the form behind it, and the list of what a member follows. */
export function addPages(
  plugin: PluginHandle,
  { access, discussions, follows, subjects, subscriptions, web }: PageDeps,
): void {
  const control = async (
    { id, category_id: categoryId }: DiscussionRecord,
    viewer: Viewer,
  ): Promise<SafeHtml | undefined> => {
    if (isGuest(viewer) || !access.allows(viewer, follow)) return undefined;
    const own = (await subscriptions.levels(id, [viewer.id])).get(viewer.id);
    // Who watches the category or a tag is notified of every reply unless they chose otherwise here.
    const watched = await subscriptions.watchesSubject(viewer.id, { id, categoryId });
    const current = watched && own !== 'muted' && own !== 'normal' ? 'watching' : (own ?? 'normal');
    const levels = LEVELS.filter((level) => !watched || level !== 'tracking').map((level) => ({
      level,
      current: level === current,
      label: `subscriptions:${level}`,
      help: `subscriptions:${level}.help`,
    }));
    return web.fragment(viewer, '@subscriptions/control', {
      discussion_id: id,
      label: `subscriptions:${current}`,
      levels,
    });
  };
  plugin.extend(
    slotFillings,
    fill(headActions, (records, viewer) => Promise.all(records.map((record) => control(record, viewer)))),
  );

  plugin.extend(shortcuts, {
    id: 'subscriptions.level',
    keys: 'f',
    label: 'subscriptions:keys.level',
    area: 'posts',
    press: '[popovertarget="follow-menu"]',
    visible: (viewer) => access.allows(viewer, follow),
  });
  plugin.extend(
    listTabs,
    { label: 'subscriptions:following', href: FOLLOWING, visible: (viewer) => access.allows(viewer, follow) },
    20,
  );
  plugin.route(pages, {
    method: 'get',
    path: FOLLOWING,
    can: follow,
    query: Type.Object({
      ...ListPartQuery,
      page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
      cursor: Paging.cursor,
    }),
    cacheTags: () => [...listCacheTags, tagsTag, accessTag],
  })(async ({ actor, query: { category, tag, ...query } }) => {
    const within = followedBy(actor.id);
    const list = await discussions.listPage(
      { ...query, within, part: { category, tag }, sort: 'latest', oneOrder: true, path: FOLLOWING },
      actor,
    );
    const head = { name: 'home', title: phrase('subscriptions:following'), noindex: true, current: '/' };
    const followed = await subjects.named(await follows.followed(actor.id), actor);
    return view('@subscriptions/following', head, { ...list, followed });
  });

  plugin.route(pages, {
    method: 'post',
    path: '/subscriptions',
    can: follow,
    body: Type.Object({ discussion_id: Id, level: Type.Enum([...LEVELS]) }),
  })(async ({ actor, body }) => {
    const discussion = await discussions.find(body.discussion_id, actor);
    if (!discussion) throw notFound();
    await subscriptions.set(discussion.id, actor.id, body.level);
    return negotiated(redirect(`/d/${discussion.number}`), { success: true, level: body.level });
  });
}
