import { HttpError, notFound, Type, type Http, type PluginHandle } from 'parley-forum';
import { shareKey } from 'parley-forum/plugins/access';
import { api, Id } from 'parley-forum/plugins/api';
import type { Discussions } from 'parley-forum/plugins/discussions';
import { After, EventNames } from 'parley-forum/plugins/events';
import type { Limits } from 'parley-forum/plugins/limits';
import { endStream, type Callers } from './callers.ts';
import type { Hub } from './hub.ts';
import { Stream } from './stream.ts';

export interface RouteDeps {
  readonly hub: Hub;
  readonly callers: Callers;
  readonly http: Http;
  readonly limits: Limits;
  readonly discussions: Discussions | undefined;
  /** How many streams one member or, for guests, one IP address may have open in this process. */
  maxStreams(): number;
}

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  // Asks proxies not to buffer the response.
  'X-Accel-Buffering': 'no',
};

/** Parses the header of a reconnecting browser; anything but a position leads to a reset. */
function positionOf(header: string | undefined): number | undefined {
  if (header === undefined || header === '') return undefined;
  return /^\d{1,15}$/.test(header) ? Number(header) : Number.MAX_SAFE_INTEGER;
}

const namesIn = (events: string | undefined): ReadonlySet<string> | undefined =>
  events === undefined ? undefined : new Set(events.split(','));

/** GET /api/live. */
export function addRoutes(
  plugin: PluginHandle,
  { hub, callers, http, limits, discussions, maxStreams }: RouteDeps,
): void {
  plugin.route(api, {
    method: 'get',
    path: '/live',
    summary: 'Events and signals as they happen, as server-sent events',
    can: 'public',
    query: Type.Object({
      discussion_id: Type.Optional(Id),
      events: Type.Optional(EventNames),
      after: Type.Optional(After),
      version: Type.Optional(
        Type.String({
          maxLength: 40,
          description: 'Of the listening page: `site.updated` is sent when a different one is served',
        }),
      ),
      viewer: Type.Optional(
        Type.String({
          maxLength: 36,
          description: 'Id of the member whose page listens: any other caller receives only `session.ended`',
        }),
      ),
    }),
    options: { document: 'text/event-stream', idle: true },
  })(async ({ req, res, actor, query }) => {
    const discussion =
      query.discussion_id === undefined || !discussions
        ? query.discussion_id
        : (await discussions.find(query.discussion_id, actor))?.id;
    if (query.discussion_id !== undefined && discussion === undefined) throw notFound('There is no such discussion');
    const caller = shareKey(actor, limits.ipKey(http.ip(req)));
    if (hub.count(caller) >= maxStreams())
      throw new HttpError(429, 'You have too many streams open; close one first', { headers: { 'Retry-After': '60' } });
    res.writeHead(200, HEADERS);
    // If the client disconnected in the meantime, no stream may join: a closed response emits no further events.
    if (req.method === 'HEAD' || res.closed || http.closing.aborted || plugin.signal.aborted) return void res.end();
    const stream = new Stream({
      req,
      res,
      viewer: actor,
      names: namesIn(query.events),
      discussion,
      version: query.version || undefined,
    });
    if (query.viewer && query.viewer !== actor.id) return endStream(stream);
    res.once('close', () => hub.leave(caller, stream));
    callers.track(stream);
    await hub.join(caller, stream, positionOf(req.get('last-event-id')) ?? query.after);
  });
}
