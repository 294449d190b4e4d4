import { Type, type Http, type PluginHandle, type Request } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { formErrors, localPath, navigation, pages, phrase, redirect, view, type Retry, type View } from '../api.ts';
import { languageOptions, readLanguage, writeLanguage } from './language.ts';
import { readPreferences, toPreferences, writePreferences, type Preferences } from './preferences.ts';

const word = Type.Optional(Type.String({ maxLength: 20 }));
const Appearance = Type.Object({
  scheme: word,
  contrast: word,
  density: word,
  text: word,
  keys: word,
  paging: word,
  welcome: word,
  language: Type.Optional(Type.String({ maxLength: 40 })),
  return_to: Type.Optional(Type.String({ maxLength: 500 })),
});
const PAGE = '/settings/appearance';
/**
 * Settings for how pages look on this device, for guests too: a page with all choices, and a route to which every form
 * with some of them is submitted.
 */
export function addAppearance(
  plugin: PluginHandle,
  { http, baseUrl, offered }: { readonly http: Http; readonly baseUrl: string; offered(): readonly string[] },
): void {
  plugin.extend(navigation, { area: 'settings', label: 'web:appearance', href: PAGE });
  // Members find it among their settings.
  plugin.extend(navigation, { area: 'footer', label: 'web:appearance', href: PAGE, visible: isGuest });

  const chosenIn = (req: Request): Preferences => readPreferences(req.headers.cookie, http.secure(req));
  // The preference `text` is passed as `size`, because partials would take `text` for an argument of theirs.
  const page = ({ actor, req }: { readonly actor: Viewer; readonly req: Request }, retry?: Retry): View => {
    const head = { name: 'settings', title: phrase('web:appearance'), noindex: true, current: PAGE };
    const { text: size, ...preferences } = toPreferences({ ...chosenIn(req), ...retry?.body });
    const language = retry?.body['language'] ?? readLanguage(req.headers.cookie, http.secure(req));
    const languages = languageOptions(offered());
    return view('@web/appearance', head, {
      ...preferences,
      size,
      language,
      languages,
      member: !isGuest(actor),
      ...formErrors(retry),
    });
  };
  const rerender = (retry: Retry): View => page(retry, retry);

  plugin.route(pages, {
    method: 'get',
    path: PAGE,
    can: 'public',
    summary: 'Shows the appearance settings of this device.',
  })((call) => page(call));

  plugin.route(pages, {
    method: 'post',
    path: '/appearance',
    can: 'public',
    summary: 'Saves the appearance settings of this device.',
    body: Appearance,
    options: { rerender },
  })(({ req, res, body: { return_to: back, language, ...chosen } }) => {
    writePreferences(res, toPreferences({ ...chosenIn(req), ...chosen }), http.secure(req));
    // Any value that is not an offered language clears the choice.
    if (language !== undefined) {
      const known = offered().find((id) => id === language);
      writeLanguage(res, known, http.secure(req));
    }
    return redirect(localPath(back, baseUrl));
  });
}
