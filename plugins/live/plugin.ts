import { Cache, definePlugin, Cluster, Hooks, Http, Type } from 'parley-forum';
import { Access } from 'parley-forum/plugins/access';
import { loggedOut, Sessions, sessionsRevoked, tokenRevoked, userChanged } from 'parley-forum/plugins/accounts';
import { Discussions } from 'parley-forum/plugins/discussions';
import { EventLog } from 'parley-forum/plugins/events';
import { Limits } from 'parley-forum/plugins/limits';
import { Live, signals } from 'parley-forum/ports/live';
import { Web } from 'parley-forum/plugins/web';
import { Callers, ENDED } from './callers.ts';
import { Hub, UPDATED } from './hub.ts';
import { addPages } from './pages.ts';
import { addRoutes } from './routes.ts';
import { Signals } from './signals.ts';

/** The subject under which processes tell each other which account's streams may have to end. */
const REAUTHENTICATE = 'live.reauthenticate';
/** Milliseconds within which every process learns that its cached data of an account is stale. */
const SETTLING = 500;
/** Milliseconds between heartbeats: less than the minute after which many proxies close idle connections. */
const HEARTBEAT = 25_000;

export default definePlugin({
  id: 'live',
  name: 'Live updates',
  version: '2.0.0',
  description: 'Pushes live updates to open pages and API clients.',
  needs: {
    access: Access,
    sessions: Sessions,
    cache: Cache,
    cluster: Cluster,
    limits: Limits,
    http: Http,
    hooks: Hooks,
    events: EventLog,
  },
  wants: { discussions: Discussions, web: Web },
  provides: { live: Live },
  extensionPoints: [signals],
  settings: Type.Object({
    'live.streams': Type.Integer({
      default: 10,
      minimum: 1,
      title: 'Open streams per member',
      'x-group': 'live',
      description: 'Also per address for guests; counted in each process. A browser uses one for all its tabs.',
    }),
    'live.guests': Type.Boolean({
      default: false,
      title: 'Live updates for guests',
      'x-group': 'live',
      description: 'Whether pages of guests open a stream, too. The API always allows it.',
    }),
  }),

  async setup({ access, sessions, cache, cluster, limits, http, hooks, events, discussions, web }, plugin) {
    const { log, settings } = plugin;
    const callers = new Callers({ access, sessions, cache, log });
    const version = (): string | undefined => web?.version;
    const hub: Hub = new Hub({
      events,
      callers,
      log,
      version,
      canReceive: (signal, viewer) => live.canReceive(signal, viewer),
    });
    const live = new Signals({ plugin, cluster, deliver: (message, to) => hub.signal(message, to) });
    plugin.defer(live.listen());
    plugin.extend(signals, {
      name: ENDED.name,
      description:
        'The reader’s session or token has ended: the stream closes after this. No data; sent by the stream itself.',
      visible: () => false,
    });
    plugin.extend(signals, {
      name: UPDATED.name,
      description:
        'The theme, plugins or files of which pages are built have changed. No data; sent by the stream itself to pages that pass their version.',
      visible: () => false,
    });
    const reauthenticateSoon = (id: string): void =>
      void setTimeout(() => void hub.reauthenticate(id), SETTLING).unref();
    const reauthenticate = async ({ id }: { readonly id: string }): Promise<void> => {
      reauthenticateSoon(id);
      await cluster.publish(REAUTHENTICATE, { id });
    };
    plugin.on(userChanged, reauthenticate);
    plugin.on(sessionsRevoked, reauthenticate);
    plugin.on(tokenRevoked, reauthenticate);
    plugin.on(loggedOut, reauthenticate);
    // If a message was missed, the next heartbeat checks all streams.
    plugin.defer(
      cluster.subscribe(
        REAUTHENTICATE,
        (payload) => payload && reauthenticateSoon((payload as { readonly id: string }).id),
      ),
    );
    plugin.defer(events.watch((entries) => hub.publish(entries)));
    hub.startAt((await events.bounds()).newest);

    const heartbeat = setInterval(() => void hub.sendHeartbeats(), HEARTBEAT).unref();
    plugin.defer(() => clearInterval(heartbeat));
    for (const signal of [plugin.signal, http.closing]) {
      const end = (): void => hub.end();
      signal.addEventListener('abort', end, { once: true });
      plugin.defer(() => signal.removeEventListener('abort', end));
    }

    addRoutes(plugin, { hub, callers, http, limits, discussions, maxStreams: () => settings['live.streams'] });
    addPages(plugin, { cache, hooks, version, guests: () => settings['live.guests'] });
    return { live };
  },
});
