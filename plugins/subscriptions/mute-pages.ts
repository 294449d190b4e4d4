import type { PluginHandle } from 'parley-forum';
import { nameOf } from 'parley-forum/plugins/accounts';
import { homeNarrowings, postBefore } from 'parley-forum/plugins/discussions';
import { fill, navigation, pages, phrase, slotFillings, view, type Web } from 'parley-forum/plugins/web';
import type { FollowDeps } from './follow-routes.ts';
import { MUTED, type Muting } from './muting.ts';

/** Hides what a member muted on other plugins' pages, and lists it in their settings. */
export function addMutePages(
  plugin: PluginHandle,
  { follows, subjects, muting, web }: FollowDeps & { readonly muting: Muting; readonly web: Web },
): void {
  plugin.extend(homeNarrowings, (viewer) => muting.narrowing(viewer));

  // Placed after everything else above a post, since it hides all that follows.
  plugin.extend(
    slotFillings,
    fill(postBefore, async (posts, viewer) => {
      const ignored = await muting.ignored(viewer);
      if (ignored.size === 0) return [];
      return Promise.all(
        posts.map(async ({ author }) =>
          ignored.has(author.id) ? web.fragment(viewer, '@subscriptions/ignored', { name: nameOf(author) }) : undefined,
        ),
      );
    }),
    10,
  );

  plugin.extend(navigation, { area: 'settings', label: 'subscriptions:muted.tab', href: MUTED });
  plugin.route(pages, { method: 'get', path: MUTED, can: 'member' })(async ({ actor }) => {
    const muted = await subjects.named(await follows.muted(actor.id), actor);
    const head = { name: 'settings', title: phrase('subscriptions:muted.title'), noindex: true, current: MUTED };
    return view('@subscriptions/muted', head, { muted, path: MUTED });
  });
}
