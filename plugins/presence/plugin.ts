import { Cache, Clock, definePlugin, Http, pluginChanged, Routes, Secrets, Settings } from 'parley-forum';
import { Accounts } from 'parley-forum/plugins/accounts';
import { Live, signals } from 'parley-forum/ports/live';
import { hiddenMembers, pageVisibilityRules, presenceTag } from 'parley-forum/ports/page-visibility';
import { Presence } from 'parley-forum/plugins/presence';
import { pageViewListeners, Web } from 'parley-forum/plugins/web';
import { signalStatistics, SIGNAL } from './statistics-signal.ts';
import { presencePages } from './pages.ts';
import { RedisVisitorStore } from './redis-visitor-store.ts';
import { presenceRoutes } from './routes.ts';
import { PresenceService } from './service.ts';
import { presenceSettings } from './settings.ts';
import { VisitRecorder } from './visit-recorder.ts';
import { MemoryVisitorStore } from './visitor-store.ts';
import { PageVisibility } from './page-visibility.ts';

export default definePlugin({
  id: 'presence',
  name: 'Presence',
  version: '2.0.0',
  description: 'Who is online: members, guests and crawlers.',
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
  extensionPoints: [pageVisibilityRules, hiddenMembers],
  settings: presenceSettings,
  setup({ cache, clock, http, routes, secrets, settings, accounts, live, web }, plugin) {
    const { log } = plugin;
    const store = cache.redis ? new RedisVisitorStore(cache.redis) : new MemoryVisitorStore(clock);
    const pageVisibility = new PageVisibility(plugin, routes);
    const changed = (): void => void cache.purge(presenceTag);
    const recorder = new VisitRecorder({
      store,
      pageVisibility,
      secrets,
      log,
      changed: cache.redis ? () => undefined : changed,
    });
    const presence = new PresenceService({
      store,
      recorder,
      pageVisibility,
      accounts,
      hiddenMembers: () => plugin.extensions(hiddenMembers),
      attempt: plugin.attempt,
    });

    plugin.extend(pageViewListeners, recorder);
    plugin.defer(() => recorder.flush());
    plugin.on(pluginChanged, () => pageVisibility.reset());
    plugin.onSettings(changed);
    presenceRoutes(plugin, { presence, changed, store, recorder, pageVisibility, http, settings });
    presencePages(plugin, { presence, cache, web });
    if (live) {
      plugin.extend(signals, {
        name: SIGNAL,
        description: 'The number of visitors online has changed: the statistics of `GET /api/presence/stats`.',
        visible: () => true,
      });
      plugin.defer(signalStatistics(live, { presence, store, log }));
    }
    return { presence };
  },
});
