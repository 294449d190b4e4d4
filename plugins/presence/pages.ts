import type { Cache, PluginHandle } from 'parley-forum';
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
  renderedTag,
  slotFillings,
  view,
  type Web,
} from 'parley-forum/plugins/web';
import { OTHER_BOTS } from './crawlers.ts';
import type { PresenceSettings } from './settings.ts';

/**
 * /online, the card that links to it, the element that marks who is online, and the heartbeat element on members' pages.
 */
export function presencePages(
  plugin: PluginHandle<PresenceSettings>,
  { presence, cache, web }: { readonly presence: Presence; readonly cache: Cache; readonly web: Web | undefined },
): void {
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
  plugin.extend(
    slotFillings,
    fill(bodyStart, (contexts, viewer) => {
      const named = plugin.settings['presence.public'] || !isGuest(viewer);
      // Who has not touched the page yet may be gone before the answer comes.
      const element = html`<x-online data-when="main" data-text="${web.say(phrase('presence:online-now'))}" hidden></x-online>`;
      return contexts.map(() => (named ? element : undefined));
    }),
  );
  plugin.onSettings(() => cache.purge(renderedTag));
}
