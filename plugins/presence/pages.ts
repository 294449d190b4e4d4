import type { PluginHandle } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import { MAX_PAGE } from 'parley-forum/plugins/api';
import type { Presence } from 'parley-forum/plugins/presence';
import {
  bodyStart,
  fill,
  homeRail,
  html,
  navigation,
  pages,
  phrase,
  slotFillings,
  view,
  type Web,
} from 'parley-forum/plugins/web';
import { OTHER_BOTS } from './crawlers.ts';
import type { PresenceSettings } from './settings.ts';

/** /online, the card that links to it, and the heartbeat element on members' pages. */
export function presencePages(plugin: PluginHandle<PresenceSettings>, presence: Presence, web: Web | undefined): void {
  plugin.route(pages, { method: 'get', path: '/online', can: 'public' })(async ({ actor }) => {
    const named = plugin.settings['presence.public'] || !isGuest(actor);
    const part = { limit: named ? MAX_PAGE : 0 };
    const [statistics, visitors, bots] = await Promise.all([
      presence.statistics(),
      presence.visitors(part, actor),
      presence.bots(part, actor),
    ]);
    const model = {
      statistics,
      visitors: visitors.items,
      bots: bots.items.map((bot) => ({ ...bot, name: bot.name === OTHER_BOTS ? 'presence:bots.other' : bot.name })),
      more: visitors.hasMore,
      named,
    };
    return view('@presence/online', { name: 'online', title: phrase('presence:online'), canonical: '/online' }, model);
  });
  plugin.extend(navigation, { area: 'footer', label: 'presence:online', href: '/online' });

  if (!web) return;
  // A script fills in the numbers; with the numbers in it, no page could be cached.
  plugin.extend(
    slotFillings,
    fill(
      homeRail,
      async (contexts, viewer) => {
        const card = await web.fragment(viewer, '@presence/card', {});
        return contexts.map(() => card);
      },
      { shared: true },
    ),
  );
  plugin.extend(
    slotFillings,
    fill(bodyStart, (contexts, viewer) =>
      contexts.map(() => (isGuest(viewer) ? undefined : html`<x-heartbeat data-eager></x-heartbeat>`)),
    ),
  );
}
