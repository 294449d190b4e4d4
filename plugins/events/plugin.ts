import { Cache, Clock, Data, definePlugin, Cluster, Hooks, Settings, sql, Type, firstIdAt } from 'parley-forum';
import { EventLog, eventsTag } from 'parley-forum/plugins/events';
import { eventRules } from 'parley-forum/ports/events';
import { repeatInBatches, LAST, personalData } from 'parley-forum/ports/personal-data';
import { subscribeToEvents } from './event-subscriber.ts';
import { eventsPersonalData } from './personal-data.ts';
import { EventReader } from './event-reader.ts';
import { addRoutes } from './routes.ts';
import { Tail } from './tail.ts';
import { EventWriter } from './event-writer.ts';

const DAY = 86_400_000;

export default definePlugin({
  id: 'events',
  name: 'Event log',
  version: '2.0.0',
  description: 'The event log, for integrations and for live updates of pages.',
  needs: { data: Data, cache: Cache, cluster: Cluster, clock: Clock, hooks: Hooks, settings: Settings },
  provides: { events: EventLog },
  extensionPoints: [eventRules],
  settings: Type.Object({
    'events.days': Type.Integer({
      default: 30,
      minimum: 1,
      maximum: 3_650,
      title: 'Days to keep events',
      'x-group': 'events',
      description: 'Consumers of the event log can be offline for this long.',
    }),
  }),

  async setup({ data, cache, cluster, clock, hooks, settings }, plugin) {
    const reader = new EventReader({ data, attempt: plugin.attempt, rules: () => plugin.extensions(eventRules) });
    const tail = new Tail({ reader, cluster, log: plugin.log });
    plugin.defer(await tail.open());
    const added = (): void => {
      void cache.purge(eventsTag);
      tail.added();
    };
    subscribeToEvents(plugin, hooks, new EventWriter(data, added));
    plugin.extend(personalData, eventsPersonalData(data, cache), LAST);
    plugin.job('forget', {
      schema: Type.Object({}),
      cron: '23 3 * * *',
      run: async (_none, { signal }) => {
        const before = firstIdAt(clock.now() - plugin.settings['events.days'] * DAY);
        await repeatInBatches(
          signal,
          async (limit) =>
            (
              await data.all(sql`delete from event_log where id in
          (select id from event_log where id < ${before}::uuid order by id limit ${limit}) returning 1`)
            ).length,
        );
        await cache.purge(eventsTag);
      },
    });

    const events: EventLog = {
      after: (position, limit, viewer, names, offset) => reader.after(position, limit, viewer, names, offset),
      visible: (entries, viewer) => reader.visible(entries, viewer),
      personal: (name) => reader.personal(name),
      bounds: () => reader.bounds(),
      watch: (run) => tail.watch(run),
    };
    addRoutes(plugin, { events, hooks, settings });
    return { events };
  },
});
