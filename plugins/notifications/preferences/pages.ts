import { InvalidInput, notFound, Type, type Cache, type PluginHandle, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { accountTag } from 'parley-forum/plugins/accounts';
import { api } from 'parley-forum/plugins/api';
import {
  CHANNELS,
  DIGESTS,
  NotificationPreferences,
  type Channel,
  type Digest,
} from 'parley-forum/plugins/notifications';
import { firstSteps } from 'parley-forum/ports/suggestions';
import type { NotificationType } from 'parley-forum/ports/notifications';
import {
  formErrors,
  navigation,
  negotiated,
  pages,
  phrase,
  redirect,
  view,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import { DIGEST, type NotificationEmails } from '../emails/emails.ts';
import type { Preferences, PreferenceStore } from './preferences.ts';

export interface PreferencePagesDeps {
  readonly cache: Cache;
  readonly preferences: PreferenceStore;
  /** Undefined if emails cannot be sent. */
  readonly emails: NotificationEmails | undefined;
  types(): readonly NotificationType[];
  /** The types that the viewer's preferences list. */
  offered(viewer: Viewer): readonly NotificationType[];
}
const SETTINGS = '/settings/notifications';
const Choice = Type.Object({
  channels: Type.Optional(Type.Record(Type.String({ maxLength: 64 }), Type.Enum([...CHANNELS]))),
  digest: Type.Optional(Type.Enum([...DIGESTS])),
});
const Stop = Type.Object({ user: Type.String(), kind: Type.String(), token: Type.String() });

/** /api/notifications/preferences, the preferences page, and the page of an email's unsubscribe link. */
export function addPreferencePages(
  plugin: PluginHandle,
  { cache, preferences, emails, types, offered }: PreferencePagesDeps,
): void {
  plugin.extend(navigation, { area: 'settings', label: 'notifications:title', href: SETTINGS });
  const step = { label: 'notifications:first-step', href: SETTINGS };
  plugin.extend(firstSteps, { ...step, done: ({ id }) => preferences.chosen(id!) }, 30);
  const channels = CHANNELS.filter((channel) => channel !== 'mail' || emails !== undefined);

  // A guest gets here if their session ended while they were filling in the form.
  const stored = async ({ id }: Viewer): Promise<Preferences> =>
    (await preferences.of(id === undefined ? [] : [id]))(id ?? '');
  const page = (actor: Viewer, chosen: Preferences, retry?: Retry): View => {
    const columns = channels.map((channel) => ({ label: `notifications:channel.${channel}` }));
    const kinds = offered(actor).map(({ type, label }) => {
      const current = preferences.channel(chosen, type);
      const choices = channels.map((value) => ({
        value,
        label: `notifications:channel.${value}`,
        current: value === current,
      }));
      return { name: `channels[${type}]`, label, channels: choices };
    });
    const digests =
      emails &&
      DIGESTS.map((value) => ({ value, label: `notifications:digest.${value}`, current: value === chosen.digest }));
    return view(
      '@notifications/settings',
      { name: 'settings', title: phrase('notifications:title'), noindex: true },
      { columns, kinds, digests, ...formErrors(retry) },
    );
  };
  const recordOf = (actor: Viewer, chosen: Preferences): NotificationPreferences => ({
    channels: Object.fromEntries(offered(actor).map(({ type }) => [type, preferences.channel(chosen, type)])),
    digest: chosen.digest,
  });
  const save = async (id: string, choice: Parameters<PreferenceStore['save']>[1]): Promise<void> => {
    await preferences.save(id, choice);
    await cache.purge(accountTag(id));
  };
  const own = { path: '/notifications/preferences', can: 'member' } as const;
  const result = Type.Object({ preferences: NotificationPreferences });

  plugin.route(api, {
    ...own,
    method: 'get',
    summary: 'For which types the caller is notified, where, and how often by digest',
    result,
  })(async ({ actor }) => ({ preferences: recordOf(actor, await stored(actor)) }));

  plugin.route(api, {
    ...own,
    method: 'put',
    summary: 'Change where the caller is notified; types that are not named, and an omitted digest, are unchanged',
    body: Choice,
    result,
  })(async ({ actor, body }) => {
    const unknown = Object.keys(body.channels ?? {}).filter(
      (name) => !offered(actor).some(({ type }) => type === name),
    );
    if (unknown.length > 0)
      throw new InvalidInput(unknown.map((name) => ({ field: `channels.${name}`, message: 'does not exist' })));
    await save(actor.id, body);
    return { preferences: recordOf(actor, await stored(actor)) };
  });

  const rerender = async (retry: Retry): Promise<View> =>
    page(retry.actor, withSubmitted(await stored(retry.actor), retry.body), retry);

  plugin.route(pages, { method: 'get', path: SETTINGS, can: 'member' })(async ({ actor }) => {
    const chosen = await stored(actor);
    return negotiated(page(actor, chosen), { success: true, ...recordOf(actor, chosen) });
  });

  plugin.route(pages, { method: 'post', path: SETTINGS, can: 'member', options: { rerender }, body: Choice })(
    async ({ actor, body }) => {
      const known = Object.entries(body.channels ?? {}).filter(([name]) =>
        offered(actor).some(({ type }) => type === name),
      );
      await save(actor.id, { channels: Object.fromEntries(known), digest: body.digest });
      return negotiated(redirect(SETTINGS, { notice: phrase('notifications:saved') }), { success: true });
    },
  );

  if (!emails) return;
  // GET changes nothing, because email scanners open links.
  const find = ({ params }: { readonly params: Static<typeof Stop> }) =>
    emails.verifyLink(params.user, params.kind, params.token);
  const path = '/notifications/stop/:user/:kind/:token';
  const stopView = (kind: string, done: boolean, action: string): View => {
    const label =
      kind === DIGEST ? 'notifications:stop.digest' : (types().find(({ type }) => type === kind)?.label ?? kind);
    return view(
      '@notifications/stop',
      { name: 'stop', title: phrase('notifications:stop.title'), noindex: true },
      { label, done, action, settings: SETTINGS },
    );
  };

  plugin.route(pages, { method: 'get', path, can: 'public', params: Stop, load: find })(({ target, req }) =>
    stopView(target.kind, false, req.path),
  );

  // Email clients post here automatically (RFC 8058), without cookies and without following redirects.
  plugin.route(pages, { method: 'post', path, can: 'public', params: Stop, load: find, options: { csrf: false } })(
    async ({ target: { userId, kind }, req }) => {
      if (kind !== DIGEST && !types().some(({ type }) => type === kind)) throw notFound();
      await preferences.save(userId, kind === DIGEST ? { digest: 'none' } : { channels: { [kind]: 'site' } });
      return stopView(kind, true, req.path);
    },
  );
}

/** Stored preferences, overridden by the values of a rejected form. */
function withSubmitted(
  { channels, digest }: Preferences,
  { channels: typed, digest: wish }: Readonly<Record<string, unknown>>,
): Preferences {
  const chosen = Object.entries(typeof typed === 'object' && typed !== null ? typed : {}).filter(
    (entry): entry is [string, Channel] => CHANNELS.includes(entry[1] as Channel),
  );
  return {
    channels: { ...channels, ...Object.fromEntries(chosen) },
    digest: DIGESTS.find((one): one is Digest => one === wish) ?? digest,
  };
}
