import { HttpError, InvalidInput, type Environment, type Http, type PluginHandle } from 'parley-forum';
import type { Account } from 'parley-forum/plugins/accounts';
import {
  localPath,
  negotiated,
  pages,
  phrase,
  redirect,
  resumed,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import { ConfirmForm, ReturnForm, type Forms } from '../forms.ts';
import type { Authenticator } from './authenticator.ts';
import type { AccountsService } from '../accounts/service.ts';
import type { LoginFlow } from './login-flow.ts';

const PATH = '/login/confirm';

interface PasswordAttempt {
  readonly password: string;
  readonly field: string;
  readonly address: string;
}

/** Checks a password entered again by a member: throws 400 naming `field` if it is wrong. */
export async function confirmPassword(
  authenticator: Authenticator,
  account: Account,
  { password, field, address }: PasswordAttempt,
): Promise<void> {
  try {
    await authenticator.confirmPassword(account, password, address);
  } catch (error) {
    throw error instanceof HttpError && error.status === 401
      ? new InvalidInput([{ field, message: 'is incorrect' }])
      : error;
  }
}

export interface ConfirmPagesDeps {
  readonly accounts: AccountsService;
  readonly sessions: LoginFlow;
  readonly authenticator: Authenticator;
  readonly forms: Forms;
  readonly http: Http;
  readonly environment: Environment;
}

/** Pages on which members confirm their identity before sensitive actions, and end the confirmation early. */
export function addConfirmPages(
  plugin: PluginHandle,
  { accounts, sessions, authenticator, forms, http, environment }: ConfirmPagesDeps,
): void {
  const shown = async (
    id: string | undefined,
    given: { readonly values?: Readonly<Record<string, unknown>>; readonly retry?: Retry },
  ): Promise<View> => {
    // If the session has ended meanwhile, a guest arrives here with the form that was submitted.
    const account = id === undefined ? undefined : await accounts.find(id);
    const coded = account !== undefined && (await sessions.asksForCode(account));
    const passwordless = account !== undefined && !(await accounts.withPassword([account.id])).has(account.id);
    return forms.confirm({ ...given, coded, passwordless });
  };

  plugin.route(pages, { method: 'get', path: PATH, can: 'member' })(({ actor, req }) => {
    const { return_to: returnTo } = req.query as Record<string, string | undefined>;
    return shown(actor.id, { values: { return_to: returnTo } });
  });

  const rerender = (retry: Retry) => shown(retry.actor.id, { retry });
  plugin.route(pages, {
    method: 'post',
    path: PATH,
    can: 'member',
    summary: 'Confirm your identity for 15 minutes',
    body: ConfirmForm,
    options: { rerender, longText: true },
  })(async ({ actor, body, req }) => {
    const address = http.ip(req);
    const account = (await accounts.find(actor.id))!;
    await confirmPassword(authenticator, account, { password: body.password, field: 'password', address });
    await sessions.checkCode(account, body.code, address);
    await sessions.confirmIdentity(req);
    const until = sessions.confirmedUntil(req)?.toISOString();
    return negotiated(resumed(body.pending || undefined, redirect(localPath(body.return_to, environment.baseUrl))), {
      success: true,
      confirmed_until: until,
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${PATH}/end`,
    can: 'member',
    summary: 'Require the password again from now on',
    body: ReturnForm,
  })(async ({ body, req }) => {
    await sessions.confirm(req, false);
    return negotiated(
      redirect(localPath(body.return_to, environment.baseUrl), {
        notice: phrase('accounts:confirm.over'),
      }),
      { success: true },
    );
  });
}
