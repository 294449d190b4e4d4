import { Type } from 'parley-forum';
import { formErrors, navigation, pages, phrase, redirect, view, type Retry, type View } from 'parley-forum/plugins/web';
import type { PageDeps } from './shared.ts';

const SETTINGS = '/settings/messages';

/** /settings/messages: whether members who are not staff may start conversations with the member. */
export function settingsPage({ plugin, rules }: PageDeps): void {
  plugin.extend(navigation, { area: 'settings', label: 'messages:title', href: SETTINGS });
  const page = (open: unknown, retry?: Retry): View =>
    view(
      '@messages/settings',
      { name: 'settings', title: phrase('messages:settings.title'), noindex: true, current: SETTINGS },
      { open, ...formErrors(retry) },
    );

  plugin.route(pages, { method: 'get', path: SETTINGS, can: 'member' })(async ({ actor }) =>
    page(!(await rules.isClosed(actor.id))),
  );

  plugin.route(pages, {
    method: 'post',
    path: SETTINGS,
    can: 'member',
    body: Type.Object({ open: Type.Boolean({ default: true }) }),
    options: { rerender: (retry) => page(retry.body['open'], retry) },
  })(async ({ actor, body: { open } }) => {
    await rules.close(actor.id, !open);
    return redirect(SETTINGS, { notice: phrase('messages:settings.saved') });
  });
}
