import { Type, type Http, type PluginHandle, type Request } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { navigation, pages, redirect, formErrors, view, type Retry, type View } from '../api.ts';
import { safeUrl } from '../templates/helpers.ts';
import { readPreferences, toPreferences, writePreferences, type Preferences } from './preferences.ts';

const word = Type.Optional(Type.String({ maxLength: 20 }));
const Appearance = Type.Object({
  scheme: word,
  contrast: word,
  density: word,
  text: word,
  keys: word,
  paging: word,
  return_to: Type.Optional(Type.String({ maxLength: 500 })),
});
const PAGE = '/settings/appearance';

/**
 * How pages look on this device, for guests as well: a page with all choices, and where every form for some of them is
 * sent.
 */
export function addAppearance(plugin: PluginHandle, http: Http): void {
  plugin.extend(navigation, { area: 'settings', label: 'web:appearance', href: PAGE });

  const chosenIn = (req: Request): Preferences => readPreferences(req.headers.cookie, http.secure(req));
  // Not as `text`: partials would show it as theirs.
  const page = (actor: Viewer, { text: size, ...preferences }: Preferences, retry?: Retry): View => {
    const head = { name: 'settings', title: 'Appearance', noindex: true, current: PAGE };
    return view(
      '@web/appearance',
      head,
      { ...preferences, size, member: !isGuest(actor), ...formErrors(retry) },
      retry?.status ?? 200,
    );
  };
  const rerender = (retry: Retry): View =>
    page(retry.actor, toPreferences({ ...chosenIn(retry.req), ...retry.body }), retry);

  plugin.route(pages, { method: 'get', path: PAGE, can: 'public', summary: 'How pages look on this device.' })(
    ({ actor, req }) => page(actor, chosenIn(req)),
  );

  plugin.route(pages, {
    method: 'post',
    path: '/appearance',
    can: 'public',
    summary: 'Sets how pages look on this device.',
    body: Appearance,
    options: { rerender },
  })(({ req, res, body: { return_to: back = '/', ...chosen } }) => {
    writePreferences(res, toPreferences({ ...chosenIn(req), ...chosen }), http.secure(req));
    return redirect(safeUrl(back).startsWith('/') ? safeUrl(back) : '/');
  });
}
