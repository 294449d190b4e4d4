import { Type, type Http, type PluginHandle, type Request, type Response, type Settings } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { accountsTag } from 'parley-forum/plugins/accounts';
import { api, holdsUntil, limitOf, listOf, loginNeeded, pageFields, Paging, tagsOf } from 'parley-forum/plugins/api';
import {
  BotRecord,
  places,
  presenceBucket,
  PresenceStatistics,
  presenceTag,
  VisitorRecord,
  type PlaceShown,
  type Presence,
} from 'parley-forum/plugins/presence';
import type { PresenceSettings } from './settings.ts';
import type { Sightings } from './sightings.ts';
import type { Visits } from './visits.ts';
import { LONGEST, type Whereabouts } from './whereabouts.ts';

export interface RouteParts {
  readonly presence: Presence;
  readonly visits: Visits;
  readonly sightings: Sightings;
  readonly whereabouts: Whereabouts;
  readonly http: Http;
  readonly settings: Settings;
  /** To be called when somebody was seen. */
  changed(): void;
}

/** /api/presence. */
export function presenceRoutes(
  plugin: PluginHandle<PresenceSettings>,
  { presence, visits, sightings, whereabouts, http, settings, changed }: RouteParts,
): void {
  // A page that is left open goes on to say so: that does not count as doing something.
  const options = { bucket: presenceBucket, idle: true };
  const query = Type.Object(Paging);
  const admit = (viewer: Viewer): void => {
    if (isGuest(viewer) && !plugin.settings['presence.public']) throw loginNeeded();
  };
  const keep = (): readonly string[] | undefined =>
    visits.holdsUntil() === undefined ? undefined : tagsOf([presenceTag, accountsTag], plugin.extensions(places));
  /** Somebody goes at that moment. */
  const hold = (res: Response): void => holdsUntil(res, visits.holdsUntil() ?? 0);
  /** A guest's forgery token was checked by now, so it is their cookie's. */
  const guestOf = (req: Request): readonly string[] =>
    sightings.guestIds({
      key: req.get('x-csrf-token'),
      ip: http.addressOf(req),
      userAgent: req.get('user-agent') ?? '',
    });

  plugin.route(api, {
    method: 'post',
    path: '/presence/update',
    can: 'public',
    options,
    summary: 'Says that the caller is still here, and on which page; a guest who was not here is not added',
    body: Type.Object({
      page: Type.String({ pattern: '^/', maxLength: LONGEST, description: 'Path of the current page' }),
    }),
    result: Type.Object({}),
  })(async ({ actor, req, body }) => {
    await sightings.flush();
    const page = whereabouts.pathOf(body.page);
    const stored =
      actor.id === undefined
        ? visits.refresh(guestOf(req), page)
        : visits.record([{ kind: 'member', id: actor.id, page }]);
    await stored.catch((error: unknown) => plugin.log.debug({ error }, 'who is here could not be stored'));
    changed();
    return {};
  });

  plugin.route(api, {
    method: 'get',
    path: '/presence/stats',
    can: 'public',
    options,
    summary: 'How many are here',
    result: PresenceStatistics,
    cacheTags: keep,
  })(async ({ res }) => {
    const statistics = await presence.statistics();
    hold(res);
    return statistics;
  });

  plugin.route(api, {
    method: 'get',
    path: '/presence/visitors',
    can: 'public',
    options,
    query,
    summary: 'Who is here: members first, then by when they were last seen',
    result: listOf('visitors', VisitorRecord),
    cacheTags: keep,
  })(async ({ actor, res, query: { limit, offset, cursor } }) => {
    admit(actor);
    const page = await presence.visitors({ limit: limitOf(settings, limit), offset, cursor }, actor);
    hold(res);
    return { visitors: page.items.map(withPage), ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/presence/bots',
    can: 'public',
    options,
    query,
    summary: 'Which crawlers are here',
    result: listOf('bots', BotRecord),
    cacheTags: keep,
  })(async ({ actor, res, query: { limit, offset, cursor } }) => {
    admit(actor);
    const page = await presence.bots({ limit: limitOf(settings, limit), offset, cursor }, actor);
    hold(res);
    return { bots: page.items.map(withPage), ...pageFields(page) };
  });
}

/** The API tells where somebody is by the page's path alone. */
const withPage = <T extends { readonly place: PlaceShown | undefined }>({
  place,
  ...rest
}: T): Omit<T, 'place'> & { readonly page: string | null } => ({ ...rest, page: place?.path ?? null });
