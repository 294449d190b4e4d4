import { HttpError, InvalidInput, type Http, type PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { editProfile, type Account, type EmailConfirmation } from 'parley-forum/plugins/accounts';
import { navigation, negotiated, pages, phrase, redirect, type Retry, type View } from 'parley-forum/plugins/web';
import { confirmPassword } from './login/confirm-pages.ts';
import { EmailForm, FirstPasswordForm, PasswordForm, ProfileForm, SECURITY, ticked, type Forms } from './forms.ts';
import type { Authenticator } from './login/authenticator.ts';
import type { AccountsService } from './accounts/service.ts';
import type { SessionsService } from './sessions/sessions.ts';
import type { ApiTokens } from './api-tokens.ts';

export interface SettingsPagesDeps {
  readonly access: Access;
  readonly accounts: AccountsService;
  readonly sessions: SessionsService;
  readonly tokens: ApiTokens;
  readonly authenticator: Authenticator;
  readonly forms: Forms;
  readonly http: Http;
  /** How a new e-mail address is confirmed; undefined if confirmation is not required. */
  confirmation(): EmailConfirmation | undefined;
}

const PROFILE = '/settings/profile';
const EMAIL = `${SECURITY}/email`;
const FIRST_PASSWORD = `${SECURITY}/first-password`;
/** Throws 400 if the password was entered twice and the entries differ. */
function checkRepeated({
  password,
  password_confirmation: repeated = password,
}: {
  readonly password: string;
  readonly password_confirmation?: string;
}): void {
  if (repeated !== password)
    throw new InvalidInput([{ field: 'password_confirmation', message: 'is not the same as the password' }]);
}
/** No need to confirm: mail goes to the same mailbox as before. */
const sameAddress = (account: Account, email: string): boolean => account.email.toLowerCase() === email.toLowerCase();

/** The settings that members change about themselves. Every route requires a login, so `actor.id` is set. */
export function addSettingsPages(
  plugin: PluginHandle,
  { access, accounts, sessions, tokens, authenticator, forms, http, confirmation }: SettingsPagesDeps,
): void {
  plugin.extend(navigation, { area: 'account', label: 'accounts:settings.title', href: PROFILE, icon: 'settings' });
  plugin.extend(navigation, { area: 'settings', label: 'accounts:settings.profile', href: PROFILE });
  plugin.extend(navigation, { area: 'settings', label: 'accounts:settings.security', href: SECURITY });

  plugin.route(pages, { method: 'get', path: '/settings', can: 'member' })(() => redirect(PROFILE));

  const ownProfile = async (id: string): Promise<Readonly<Record<string, unknown>>> => {
    const account = await accounts.find(id);
    return { display_name: account?.displayName ?? '', bio: account?.bio };
  };
  const mayEdit = (viewer: Viewer): boolean => access.allows(viewer, editProfile);
  plugin.route(pages, { method: 'get', path: PROFILE, can: 'member' })(async ({ actor }) =>
    forms.profile({ values: await ownProfile(actor.id), editable: mayEdit(actor) }),
  );

  plugin.route(pages, {
    method: 'post',
    path: PROFILE,
    can: editProfile,
    body: ProfileForm,
    options: { rerender: (retry: Retry) => forms.profile({ retry, editable: true }) },
  })(async ({ actor, body }) => {
    await accounts.setProfile(actor.id, { bio: body.bio, displayName: body.display_name });
    return negotiated(redirect(PROFILE, { notice: phrase('accounts:profile.saved') }), { success: true });
  });

  const security = async (
    id: string | undefined,
    shown: { readonly retry?: Retry; readonly fresh?: string } = {},
  ): Promise<View> => {
    const [account, token, passwords] =
      id === undefined ? [] : await Promise.all([accounts.find(id), tokens.state(id), accounts.withPassword([id])]);
    return forms.security({ ...shown, email: account?.email ?? '', passwordless: passwords?.size === 0, token });
  };
  const rerender = (retry: Retry): Promise<View> => security(retry.actor.id, { retry });
  const confirm = { confirm: true };

  plugin.route(pages, { method: 'get', path: SECURITY, can: 'member' })(({ actor }) => security(actor.id));

  // The form includes the current password, which is what `confirm` would ask for.
  plugin.route(pages, {
    method: 'post',
    path: `${SECURITY}/password`,
    can: 'member',
    body: PasswordForm,
    options: { rerender },
  })(async ({ actor, body, req }) => {
    const id = actor.id;
    checkRepeated(body);
    await confirmPassword(authenticator, (await accounts.find(id))!, {
      password: body.current_password,
      field: 'current_password',
      address: http.ip(req),
    });
    const keepTokens = ticked(body.keep_tokens);
    const session = sessions.sessionOf(req)?.id;
    await sessions.endOthers(req, () => accounts.changePassword(id, body.password, { keepTokens, session }));
    const notice = phrase(keepTokens ? 'accounts:password.changed' : 'accounts:password.changed-with-tokens');
    return negotiated(redirect(SECURITY, { notice }), { success: true });
  });

  plugin.route(pages, { method: 'get', path: FIRST_PASSWORD, can: 'member', options: confirm })(async ({ actor }) =>
    (await accounts.withPassword([actor.id])).has(actor.id) ? redirect(SECURITY) : forms.firstPassword({}),
  );

  plugin.route(pages, {
    method: 'post',
    path: FIRST_PASSWORD,
    can: 'member',
    summary: 'Set a password for an account that has none',
    body: FirstPasswordForm,
    options: { ...confirm, rerender: (retry: Retry) => forms.firstPassword({ retry }) },
  })(async ({ actor, body, req }) => {
    const id = actor.id;
    checkRepeated(body);
    if ((await accounts.withPassword([id])).has(id))
      throw new HttpError(409, 'This account already has a password; use the current one to change it');
    const session = sessions.sessionOf(req)?.id;
    await sessions.endOthers(req, () => accounts.changePassword(id, body.password, { keepTokens: true, session }));
    return negotiated(redirect(SECURITY, { notice: phrase('accounts:password.set') }), { success: true });
  });

  plugin.route(pages, { method: 'get', path: EMAIL, can: 'member', options: confirm })(async ({ actor }) =>
    forms.email({ values: { email: (await accounts.find(actor.id))?.email } }),
  );

  plugin.route(pages, {
    method: 'post',
    path: EMAIL,
    can: 'member',
    body: EmailForm,
    options: { ...confirm, rerender: (retry: Retry) => forms.email({ retry }) },
  })(async ({ actor, body }) => {
    const email = body.email.trim();
    const account = (await accounts.find(actor.id))!;
    const confirming = sameAddress(account, email) ? undefined : confirmation();
    if (confirming) {
      accounts.checkEmail(email);
      await confirming.changeEmail(account, email);
      return negotiated(redirect(SECURITY, { notice: phrase('accounts:email.mailed') }), {
        success: true,
        [confirming.name]: true,
      });
    }
    await accounts.setEmail(actor.id, email, actor.id);
    return negotiated(redirect(SECURITY, { notice: phrase('accounts:email.changed') }), { success: true, email });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${SECURITY}/api-token`,
    can: 'member',
    options: { ...confirm, rerender },
  })(async ({ actor, res }) => {
    const token = await tokens.issue(actor.id);
    res.set('Cache-Control', 'no-store');
    return negotiated(await security(actor.id, { fresh: token }), { success: true, token });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${SECURITY}/api-token/revoke`,
    can: 'member',
    options: { rerender },
  })(async ({ actor }) => {
    await tokens.revokeAll(actor.id, actor.id);
    return negotiated(redirect(SECURITY, { notice: phrase('accounts:token.revoked') }), { success: true });
  });
}
