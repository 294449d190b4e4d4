import { Type, type PluginHandle } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import type { Sessions } from 'parley-forum/plugins/accounts';
import { Id } from 'parley-forum/plugins/api';
import { notificationSettingsEnd } from 'parley-forum/plugins/notifications';
import { fill, negotiated, pages, phrase, redirect, slotFillings, type Web } from 'parley-forum/plugins/web';
import type { DeviceStore } from './device-store.ts';
import { noDevice } from './routes.ts';
import type { VapidKeyStore } from './vapid-keys.ts';

export interface SettingsPanelDeps {
  readonly devices: DeviceStore;
  readonly keys: VapidKeyStore;
  readonly sessions: Sessions;
  readonly web: Web;
}
const SETTINGS = '/settings/notifications';

/** The panel in the notification settings, and the form that removes a device. */
export function addSettingsPanel(plugin: PluginHandle, { devices, keys, sessions, web }: SettingsPanelDeps): void {
  plugin.extend(
    slotFillings,
    fill(notificationSettingsEnd, async (contexts, viewer) => {
      if (isGuest(viewer)) return [];
      const own = await devices.of(viewer.id);
      const panel = await web.fragment(viewer, '@push/panel', {
        key: (await keys.keys()).publicKey,
        devices: own.map(({ device, ...rest }) => ({ ...rest, device: sessions.deviceText(device ?? undefined) })),
      });
      return contexts.map(() => panel);
    }),
  );

  plugin.route(pages, {
    method: 'post',
    path: `${SETTINGS}/devices/remove`,
    can: 'member',
    summary: 'push:remove',
    body: Type.Object({ id: Id }),
  })(async ({ actor, body: { id } }) => {
    if (!(await devices.remove(actor.id, id))) throw noDevice();
    return negotiated(redirect(SETTINGS, { notice: phrase('push:removed') }), { success: true });
  });
}
