import { InvalidInput, Type } from 'parley-forum';
import { MODES } from 'parley-forum/ports/personal-data';
import { formErrors, phrase, view, type PageHead, type Retry, type View } from 'parley-forum/plugins/web';
import type { VisibilityChoices } from './visibility-choices.ts';

/** The settings page that these forms belong to. */
export const PRIVACY = '/settings/privacy';

export const ChoiceForm = Type.Object({
  hide_presence: Type.Boolean({ default: false }),
  hide_last_seen: Type.Boolean({ default: false }),
});
export const DeletionForm = Type.Object({ username: Type.String({ maxLength: 100 }), mode: Type.Enum([...MODES]) });

const HEAD: PageHead = { name: 'settings', title: phrase('privacy:title'), noindex: true, current: PRIVACY };

/** The page with the visibility choices, the export, and the link to delete the account. */
export function overview(choices: VisibilityChoices, retry?: Retry): View {
  const { hide_presence: presence, hide_last_seen: lastSeen } = retry?.body ?? {};
  const shown = presence === undefined && lastSeen === undefined ? choices : { presence, lastSeen };
  return view('@privacy/settings', HEAD, { ...shown, ...formErrors(retry) });
}

/** Asks what should happen to the member's posts, and for their username, which nobody types by accident. */
export function deletePage(days: number, retry?: Retry): View {
  const mode = MODES.find((one) => one === retry?.body['mode']) ?? 'anonymise';
  const username = typeof retry?.body['username'] === 'string' ? retry.body['username'] : '';
  return view(
    '@privacy/delete',
    { ...HEAD, title: phrase('privacy:delete.title') },
    { days, mode, username, ...formErrors(retry) },
  );
}

/** Throws 400 unless the member typed their own username, ignoring case. */
export function checkName(typed: string, username: string | undefined): void {
  if (typed.trim().toLowerCase() === username?.toLowerCase()) return;
  throw new InvalidInput([{ field: 'username', message: 'is not your username' }]);
}
