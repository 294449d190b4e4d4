import { Type, type Http, type PluginHandle, type Request, type Settings } from '#core';
import { isGuest, type Viewer } from '#plugins/access';
import { api, limitOf, listOf, loginNeeded, pageFields, Paging } from '#plugins/api';
import { BotRecord, presenceBucket, PresenceStatistics, VisitorRecord, type Presence } from '#plugins/presence';
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
}

/** /api/presence. */
export function presenceRoutes(plugin: PluginHandle<PresenceSettings>, { presence, visits, sightings, whereabouts, http, settings }: RouteParts): void {
  // A page that is left open goes on to say so: that does not count as doing something.
  const options = { bucket: presenceBucket, idle: true };
  const query = Type.Object(Paging);
  const admit = (viewer: Viewer): void => {
    if (isGuest(viewer) && !plugin.settings['presence.public']) throw loginNeeded();
  };
  /** A guest's forgery token was checked by now, so it is their cookie's. */
  const guestOf = (req: Request): readonly string[] =>
    sightings.guestIds({ key: req.get('x-csrf-token'), address: http.addressOf(req), userAgent: req.get('user-agent') ?? '' });

  plugin.route(api, {
    method: 'post', path: '/presence/update', can: 'public', options, summary: 'Says that the caller is still here, and on which page; a guest who was not here is not added',
    body: Type.Object({ page: Type.String({ pattern: '^/', maxLength: LONGEST, description: 'Path of the current page' }) }), result: Type.Object({}),
  })(async ({ actor, req, body }) => {
    await sightings.flush();
    const page = whereabouts.pathOf(body.page);
    const stored = actor.id === undefined ? visits.refresh(guestOf(req), page) : visits.record([{ kind: 'member', id: actor.id, page }]);
    await stored.catch((error: unknown) => plugin.log.debug({ error }, 'who is here could not be stored'));
    return {};
  });

  plugin.route(api, { method: 'get', path: '/presence/stats', can: 'public', options, summary: 'How many are here', result: PresenceStatistics })(() =>
    presence.statistics());

  plugin.route(api, {
    method: 'get', path: '/presence/visitors', can: 'public', options, query, summary: 'Who is here: members first, then by when they were last seen', result: listOf('visitors', VisitorRecord),
  })(async ({ actor, query: { limit, offset, cursor } }) => {
    admit(actor);
    const page = await presence.visitors({ limit: limitOf(settings, limit), offset, cursor }, actor);
    return { visitors: [...page.items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get', path: '/presence/bots', can: 'public', options, query, summary: 'Which crawlers are here', result: listOf('bots', BotRecord),
  })(async ({ actor, query: { limit, offset, cursor } }) => {
    admit(actor);
    const page = await presence.bots({ limit: limitOf(settings, limit), offset, cursor }, actor);
    return { bots: [...page.items], ...pageFields(page) };
  });
}
