import { InvalidInput, Type, type Http, type PluginHandle, type Request, type Settings } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { accountsTag } from 'parley-forum/plugins/accounts';
import { api, limitOf, listOf, loginNeeded, pageFields, Paging, combineTags } from 'parley-forum/plugins/api';
import {
  BotRecord,
  presenceBucket,
  PresenceStatistics,
  VisitorRecord,
  type Presence,
} from 'parley-forum/plugins/presence';
import { pageVisibilityRules, presenceTag, type VisiblePage } from 'parley-forum/ports/page-visibility';
import type { PresenceSettings } from './settings.ts';
import type { VisitRecorder } from './visit-recorder.ts';
import type { VisitorStore } from './visitor-store.ts';
import { MAX_PATH_LENGTH, type PageVisibility } from './page-visibility.ts';

/** The maximum number of usernames in one request. */
const MAX_NAMES = 100;

export interface RoutesDeps {
  readonly presence: Presence;
  readonly store: VisitorStore;
  readonly recorder: VisitRecorder;
  readonly pageVisibility: PageVisibility;
  readonly http: Http;
  readonly settings: Settings;
  /** To be called when a visitor was seen. */
  changed(): void;
}

/** /api/presence. */
export function presenceRoutes(
  plugin: PluginHandle<PresenceSettings>,
  { presence, store, recorder, pageVisibility, http, settings, changed }: RoutesDeps,
): void {
  // An open page repeats its heartbeat, which does not count as activity of the member.
  const options = { bucket: presenceBucket, idle: true };
  const query = Type.Object(Paging);
  const checkAccess = (viewer: Viewer): void => {
    if (isGuest(viewer) && !plugin.settings['presence.public']) throw loginNeeded();
  };
  const cacheTags = (): readonly string[] | undefined =>
    store.freshUntil() === undefined
      ? undefined
      : combineTags([presenceTag, accountsTag], plugin.extensions(pageVisibilityRules));
  /** The response expires when the first visitor does. */
  const setFreshness = (call: { expiresAt?: number }): void => void (call.expiresAt = store.freshUntil() ?? 0);
  /** A guest's CSRF token has been checked by now, so it matches their cookie. */
  const guestOf = (req: Request): readonly string[] =>
    recorder.guestIds({
      key: req.get('x-csrf-token'),
      ip: http.ip(req),
      userAgent: req.get('user-agent') ?? '',
    });

  plugin.route(api, {
    method: 'post',
    path: '/presence/update',
    can: 'public',
    options,
    summary: 'Signals that the caller is still online, and on which page; guests who were not online are not added',
    body: Type.Object({
      page: Type.String({
        pattern: '^/',
        'x-pattern-problem': 'must be a path that begins with /',
        maxLength: MAX_PATH_LENGTH,
        description: 'Path of the current page',
      }),
    }),
    result: Type.Object({}),
  })(async ({ actor, req, body }) => {
    await recorder.flush();
    const page = pageVisibility.pathOf(body.page);
    const stored =
      actor.id === undefined
        ? store.refresh(guestOf(req), page)
        : store.record([{ kind: 'member', id: actor.id, page }]);
    await stored.catch((error: unknown) => plugin.log.debug({ error }, 'presence could not be stored'));
    changed();
    return {};
  });

  plugin.route(api, {
    method: 'get',
    path: '/presence/stats',
    can: 'public',
    options,
    summary: 'Number of visitors online',
    result: PresenceStatistics,
    cacheTags,
  })(async (call) => {
    const statistics = await presence.statistics();
    setFreshness(call);
    return statistics;
  });

  plugin.route(api, {
    method: 'get',
    path: '/presence/visitors',
    can: 'public',
    options,
    query,
    summary: 'Who is online: members first, then by when they were last seen',
    result: listOf('visitors', VisitorRecord),
    cacheTags,
  })(async (call) => {
    const {
      actor,
      query: { limit, offset, cursor },
    } = call;
    checkAccess(actor);
    const page = await presence.visitors({ limit: limitOf(settings, limit), offset, cursor }, actor);
    setFreshness(call);
    return { visitors: page.items.map(withPage), ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/presence/members',
    can: 'public',
    options,
    query: Type.Object({
      usernames: Type.String({
        minLength: 1,
        maxLength: 5_000,
        description: `Comma-separated usernames, at most ${MAX_NAMES}`,
      }),
    }),
    summary: 'Which of these members are online; those who hide it never are',
    result: Type.Object({ usernames: Type.Array(Type.String(), { description: 'In lower case' }) }),
    cacheTags,
  })(async (call) => {
    checkAccess(call.actor);
    const names = [...new Set(call.query.usernames.toLowerCase().split(','))];
    if (names.length > MAX_NAMES)
      throw new InvalidInput([{ field: 'usernames', message: `must be at most ${MAX_NAMES} names` }]);
    const usernames = await presence.online(names);
    setFreshness(call);
    return { usernames: [...usernames] };
  });

  plugin.route(api, {
    method: 'get',
    path: '/presence/bots',
    can: 'public',
    options,
    query,
    summary: 'Which crawlers are online',
    result: listOf('bots', BotRecord),
    cacheTags,
  })(async (call) => {
    const {
      actor,
      query: { limit, offset, cursor },
    } = call;
    checkAccess(actor);
    const page = await presence.bots({ limit: limitOf(settings, limit), offset, cursor }, actor);
    setFreshness(call);
    return { bots: page.items.map(withPage), ...pageFields(page) };
  });
}

/** The API returns only the path of a visitor's page. */
const withPage = <T extends { readonly page: VisiblePage | undefined }>({
  page,
  ...rest
}: T): Omit<T, 'page'> & { readonly page: string | null } => ({ ...rest, page: page?.path ?? null });
