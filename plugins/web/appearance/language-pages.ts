import { Type, type Http, type PluginHandle } from 'parley-forum';
import { registerFields, timezones, type Accounts, type Sessions } from 'parley-forum/plugins/accounts';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  fill,
  formErrors,
  html,
  navigation,
  pages,
  phrase,
  redirect,
  slotFillings,
  view,
  type Retry,
  type View,
} from '../api.ts';
import { languageOptions, writeLanguage } from './language.ts';

const PAGE = '/settings/language';

export interface LanguagePagesDeps {
  readonly http: Http;
  readonly accounts: Pick<Accounts, 'find' | 'setLocale'>;
  readonly sessions: Pick<Sessions, 'authenticate'>;
  offered(): readonly string[];
  siteZone(): string;
  siteLanguage(): string;
  /** The language of the page that is being rendered. */
  currentLanguage(): string;
}

/** Settings for a member's language and time zone, used on all their devices and in mails. */
export function addLanguagePages(
  plugin: PluginHandle,
  { http, accounts, sessions, offered, siteZone, siteLanguage, currentLanguage }: LanguagePagesDeps,
): void {
  plugin.extend(navigation, { area: 'settings', label: 'web:locale.tab', href: PAGE });
  // Members who sign up in a language other than the site's get their mails in that language too.
  plugin.extend(
    slotFillings,
    fill(registerFields, (forms) => {
      const language = currentLanguage();
      return forms.map(() =>
        language === siteLanguage() ? undefined : html`<input type="hidden" name="language" value="${language}">`,
      );
    }),
  );

  const page = async ({ id = '' }: Viewer, retry?: Retry): Promise<View> => {
    const { language, timezone } = (await accounts.find(id)) ?? {};
    const zones = timezones().map((zone) => ({ value: zone, label: zone.replaceAll('_', ' ') }));
    const model = {
      values: retry?.body ?? { language, timezone },
      languages: languageOptions(offered()),
      zones,
      zone: siteZone(),
      ...formErrors(retry),
    };
    const head = { name: 'settings', title: phrase('web:locale.title'), noindex: true, current: PAGE };
    return view('@web/language', head, model);
  };

  plugin.route(pages, { method: 'get', path: PAGE, can: 'member' })(({ actor }) => page(actor));

  plugin.route(pages, {
    method: 'post',
    path: PAGE,
    can: 'member',
    body: Type.Object({
      language: Type.Optional(Type.String({ maxLength: 40 })),
      timezone: Type.Optional(Type.String({ maxLength: 64 })),
    }),
    options: { rerender: (retry) => page(retry.actor, retry) },
  })(async ({ req, res, actor, body: { language, timezone } }) => {
    await accounts.setLocale(actor.id, { language: language || null, timezone: timezone || null });
    // Reload the account, so that the notice is already in the new language.
    await sessions.authenticate(req, res, { idle: true });
    // The new choice overrides the language that was chosen on this device before.
    writeLanguage(res, undefined, http.secure(req));
    return redirect(PAGE, { notice: phrase('web:locale.saved') });
  });
}
