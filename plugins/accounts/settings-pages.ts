import { HttpError, InvalidInput, type Http, type PluginHandle } from '#core';
import { navigation, negotiated, pages, redirect, type Retry, type View } from '#plugins/web';
import { PasswordForm, ProfileForm, type Forms } from './forms.ts';
import type { Logins } from './login.ts';
import type { AccountsService } from './service.ts';
import type { SessionsService } from './sessions.ts';

export interface SettingsParts {
  readonly accounts: AccountsService;
  readonly sessions: SessionsService;
  readonly logins: Logins;
  readonly forms: Forms;
  readonly http: Http;
}

const PROFILE = '/settings/profile';
const SECURITY = '/settings/security';

/** What members change about themselves. Every route asks for a login, so `actor.id` is there. */
export function addSettingsPages(plugin: PluginHandle, { accounts, sessions, logins, forms, http }: SettingsParts): void {
  const login = { login: true };
  plugin.extend(navigation, { area: 'account', label: 'Settings', href: PROFILE, icon: 'settings' });
  plugin.extend(navigation, { area: 'settings', label: 'Profile', href: PROFILE });
  plugin.extend(navigation, { area: 'settings', label: 'Security', href: SECURITY });

  plugin.route(pages, { method: 'get', path: '/settings', can: 'public', options: login })(() => redirect(PROFILE));

  plugin.route(pages, { method: 'get', path: PROFILE, can: 'public', options: login })(async ({ actor }) => forms.profile({ values: { bio: (await accounts.find(actor.id!))?.bio } }));

  plugin.route(pages, { method: 'post', path: PROFILE, can: 'public', body: ProfileForm, options: { ...login, again: (retry: Retry) => forms.profile({ retry }) } })(async ({ actor, body }) => {
    await accounts.setBio(actor.id!, body.bio.trim());
    return negotiated(redirect(PROFILE, { notice: 'Your profile is saved.' }), { success: true });
  });

  const again = async (retry: Retry): Promise<View> => forms.security({ retry, hasToken: retry.actor.id !== undefined && (await accounts.hasToken(retry.actor.id)) });

  plugin.route(pages, { method: 'get', path: SECURITY, can: 'public', options: login })(async ({ actor }) => forms.security({ hasToken: await accounts.hasToken(actor.id!) }));

  plugin.route(pages, { method: 'post', path: `${SECURITY}/password`, can: 'public', body: PasswordForm, options: { ...login, again } })(async ({ actor, body, req }) => {
    if (body.password_confirmation !== undefined && body.password_confirmation !== body.password) {
      throw new InvalidInput([{ field: 'password_confirmation', message: 'is not the same as the password' }]);
    }
    await logins.check(actor.username!, body.current_password, http.addressOf(req)).catch((error: unknown) => {
      throw error instanceof HttpError && error.status === 401 ? new InvalidInput([{ field: 'current_password', message: 'is not right' }]) : error;
    });
    await accounts.setPassword(actor.id!, body.password);
    await sessions.renew(req, (await accounts.find(actor.id!))!);
    return negotiated(redirect(SECURITY, { notice: 'Your password is changed. Your other sessions have ended.' }), { success: true });
  });

  plugin.route(pages, { method: 'post', path: `${SECURITY}/api-token`, can: 'public', options: { ...login, again } })(async ({ actor, res }) => {
    const token = await accounts.issueToken(actor.id!);
    res.set('Cache-Control', 'no-store');
    return negotiated(forms.security({ hasToken: true, token }), { success: true, token });
  });

  plugin.route(pages, { method: 'post', path: `${SECURITY}/api-token/revoke`, can: 'public', options: { ...login, again } })(async ({ actor }) => {
    await accounts.revokeToken(actor.id!);
    return negotiated(redirect(SECURITY, { notice: 'The token no longer works.' }), { success: true });
  });
}
