import { notFound, Type } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import { afterPosts, postBadges, postMenu, type PostRecord } from 'parley-forum/plugins/discussions';
import type { Limits } from 'parley-forum/plugins/limits';
import { fill, pages, phrase, redirect, shortcuts, slotFillings, type Slot, type Web } from 'parley-forum/plugins/web';
import { consumeChange } from './rate-limit.ts';
import type { RouteDeps } from './routes.ts';

export interface PageDeps extends RouteDeps {
  readonly limits: Limits;
  readonly web: Web;
}

/** The badge on bookmarked posts, the items in their menus, the button beside them, and the routes behind these. */
export function postMarks({ plugin, bookmarks, discussions, limits, web }: PageDeps): void {
  // Pages are rendered for many readers at once, so each reader's bookmarks are looked up here.
  const fillWith = <T extends PostRecord>(slot: Slot<T>, template: string, keptOnly: boolean): void =>
    plugin.extend(
      slotFillings,
      fill(slot, async (posts, viewer) => {
        if (isGuest(viewer)) return [];
        const own = await bookmarks.ofPosts(
          posts.map(({ id }) => id),
          viewer,
        );
        return Promise.all(
          posts.map(async ({ id, number }) => {
            const bookmark = own.get(id);
            if (keptOnly && bookmark === undefined) return undefined;
            return web.fragment(viewer, template, { id, number, bookmark });
          }),
        );
      }),
    );
  fillWith(postMenu, '@bookmarks/menu-items', false);
  fillWith(postBadges, '@bookmarks/badge', true);
  plugin.extend(
    slotFillings,
    fill(
      afterPosts,
      async (discussions, viewer) =>
        isGuest(viewer) ? [] : Promise.all(discussions.map(() => web.fragment(viewer, '@bookmarks/buttons', {}))),
      { shared: true },
    ),
  );

  plugin.extend(shortcuts, {
    id: 'bookmarks.keep',
    keys: 'b',
    label: 'bookmarks:keys.keep',
    area: 'posts',
    press: 'x-bookmark button',
    inMenu: true,
    visible: (viewer) => !isGuest(viewer),
  });

  plugin.route(pages, {
    method: 'post',
    path: '/p/:id/bookmark',
    can: 'member',
    body: Type.Object({ kept: Type.Boolean() }),
    load: ({ actor, params }) => discussions.findPost(params['id'] ?? '', actor),
  })(async ({ actor, target, body: { kept } }) => {
    if (target.deleted) throw notFound();
    await consumeChange(limits, actor, plugin.settings['bookmarks.rate_limit']);
    if (kept) await bookmarks.add(actor, target.id, {});
    else await bookmarks.removeFrom(target.id, actor);
    const notice = phrase(kept ? 'bookmarks:kept' : 'bookmarks:removed.post');
    return redirect(`/d/${target.discussion.number}/${target.number}`, { notice });
  });
}
