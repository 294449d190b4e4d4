import { Cache, Clock, definePlugin, Http, pluginChanged, Routes, Secrets, Settings } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Live, signals } from 'parley-forum/plugins/live';
import { discretions, places, Presence, presenceTag } from 'parley-forum/plugins/presence';
import { pageViewListeners, Web } from 'parley-forum/plugins/web';
import { announce, SIGNAL } from './announcer.ts';
import { presencePages } from './pages.ts';
import { RedisVisits } from './redis-visits.ts';
import { presenceRoutes } from './routes.ts';
import { PresenceService } from './service.ts';
import { presenceSettings } from './settings.ts';
import { Sightings } from './sightings.ts';
import { MemoryVisits } from './visits.ts';
import { Whereabouts } from './whereabouts.ts';

export default definePlugin({
  id: 'presence',
  name: 'Presence',
  version: '1.0.0',
  description: 'Who is here now: members, guests and crawlers.',
  needs: {
    cache: Cache,
    clock: Clock,
    http: Http,
    routes: Routes,
    secrets: Secrets,
    settings: Settings,
    accounts: Accounts,
  },
  wants: { live: Live, web: Web },
  provides: { presence: Presence },
  extensionPoints: [places, discretions],
  settings: presenceSettings,
  setup({ cache, clock, http, routes, secrets, settings, accounts, live, web }, plugin) {
    const { log } = plugin;
    const visits = cache.redis ? new RedisVisits(cache.redis) : new MemoryVisits(clock);
    const whereabouts = new Whereabouts(plugin, routes);
    const changed = (): void => void cache.purge(presenceTag);
    const sightings = new Sightings({
      visits,
      whereabouts,
      secrets,
      log,
      changed: cache.redis ? () => undefined : changed,
    });
    const presence = new PresenceService({
      visits,
      sightings,
      whereabouts,
      accounts,
      discretions: () => plugin.extensions(discretions).map(({ value }) => value),
    });

    plugin.extend(pageViewListeners, sightings);
    plugin.defer(() => sightings.flush());
    plugin.on(pluginChanged, () => whereabouts.forget());
    plugin.onSettings(changed);
    presenceRoutes(plugin, { presence, changed, visits, sightings, whereabouts, http, settings });
    presencePages(plugin, presence, web);
    if (live) {
      plugin.extend(signals, { name: SIGNAL, visible: () => true });
      plugin.defer(announce(live, { presence, visits, log }));
    }
    return { presence };
  },
});
