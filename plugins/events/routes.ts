import { InvalidInput, Type, type Hooks, type PluginHandle, type Settings } from 'parley-forum';
import {
  api,
  decodePosition,
  encodeCursor,
  limitOf,
  pageFields,
  Paging,
  pagingResult,
  combineTags,
  Time,
} from 'parley-forum/plugins/api';
import { After, EventNames, eventsTag, type EventLog } from 'parley-forum/plugins/events';
import { eventRules } from 'parley-forum/ports/events';

const Position = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Event = Type.Object({
  position: Position,
  id: Type.String(),
  event: Type.String(),
  timestamp: Time,
  data: Type.Object({}, { additionalProperties: true }),
});

interface RouteDeps {
  readonly events: EventLog;
  readonly hooks: Hooks;
  readonly settings: Settings;
}

/**
 * Parses a list of event names. Throws 400 for a name that is not an event of a running plugin: a misspelled one would
 * never occur.
 */
function eventNames(list: string, hooks: Hooks): readonly string[] {
  const known = new Set(hooks.hooks().flatMap(({ hook }) => (hook.kind === 'action' && hook.public ? hook.id : [])));
  const names = list.split(',');
  const unknown = names.find((name) => !known.has(name));
  if (unknown === undefined) return names;
  throw new InvalidInput([{ field: 'event', message: `names an unknown event: ${unknown}` }]);
}

/** GET /api/events. */
export function addRoutes(plugin: PluginHandle, { events, hooks, settings }: RouteDeps): void {
  plugin.route(api, {
    method: 'get',
    path: '/events',
    summary: 'Events visible to the caller, in order',
    can: 'public',
    query: Type.Object({
      after: Type.Optional(After),
      event: Type.Optional(EventNames),
      ...Paging,
    }),
    result: Type.Object({ events: Type.Array(Event), position: Position, ...pagingResult }),
    cacheTags: () => combineTags([eventsTag], plugin.extensions(eventRules)),
  })(async ({ actor, query }) => {
    const start = query.cursor === undefined ? (query.after ?? 0) : decodePosition(query.cursor);
    const found = await events.after(
      start,
      limitOf(settings, query.limit),
      actor,
      query.event === undefined ? undefined : eventNames(query.event, hooks),
      query.offset,
    );
    const nextCursor = found.hasMore ? encodeCursor([found.position]) : undefined;
    return {
      events: [...found.events],
      position: found.position,
      ...pageFields({ items: found.events, hasMore: found.hasMore, nextCursor }),
    };
  });
}
