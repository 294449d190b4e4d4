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
 * How pages look on this device, for guests as well: a page with all choices, and where every form for some of them is
 * sent.
 */
export function addAppearance(
  plugin: PluginHandle,
  { http, baseUrl, offered }: { readonly http: Http; readonly baseUrl: string; offered(): readonly string[] },
): void {
  plugin.extend(navigation, { area: 'settings', label: 'web:appearance', href: PAGE });
  // Members have it among their settings.
  plugin.extend(navigation, { area: 'footer', label: 'web:appearance', href: PAGE, visible: isGuest });

  const chosenIn = (req: Request): Preferences => readPreferences(req.headers.cookie, http.secure(req));
  // Not as `text`: partials would show it as theirs.
  const page = ({ actor, req }: { readonly actor: Viewer; readonly req: Request }, retry?: Retry): View => {
    const head = { name: 'settings', title: phrase('web:appearance'), noindex: true, current: PAGE };
    const { text: size, ...preferences } = toPreferences({ ...chosenIn(req), ...retry?.body });
    const language = retry?.body['language'] ?? readLanguage(req.headers.cookie, http.secure(req));
    const languages = languageOptions(offered());
    return view(
      '@web/appearance',
      head,
      { ...preferences, size, language, languages, member: !isGuest(actor), ...formErrors(retry) },
      retry?.status ?? 200,
    );
  };
  const rerender = (retry: Retry): View => page(retry, retry);

  plugin.route(pages, { method: 'get', path: PAGE, can: 'public', summary: 'How pages look on this device.' })((call) =>
    page(call),
  );

  plugin.route(pages, {
    method: 'post',
    path: '/appearance',
    can: 'public',
    summary: 'Sets how pages look on this device.',
    body: Appearance,
    options: { rerender },
  })(({ req, res, body: { return_to: back, language, ...chosen } }) => {
    writePreferences(res, toPreferences({ ...chosenIn(req), ...chosen }), http.secure(req));
    // Anything else than a language that is offered takes the choice back.
    if (language !== undefined) {
      const known = offered().find((id) => id === language);
      writeLanguage(res, known, http.secure(req));
    }
    return redirect(localPath(back, baseUrl));
  });
}
