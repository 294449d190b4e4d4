import { HttpError, InvalidInput, type Environment, type Http, type PluginHandle } from '#core';
import { identityConfirmed, type Account } from '#plugins/accounts';
import { negotiated, pages, redirect, type Retry } from '#plugins/web';
import { ConfirmForm, type Forms } from './forms.ts';
import type { Logins } from './login.ts';
import { ownPath } from './own-path.ts';
import type { AccountsService } from './service.ts';
import type { SessionsService } from './sessions.ts';

const PATH = '/login/confirm';

interface Given {
  readonly password: string;
  readonly field: string;
  readonly address: string;
}

/** A member gives the password again: 400 naming `field` for a wrong one. */
export async function giveAgain(logins: Logins, account: Account, { password, field, address }: Given): Promise<void> {
  try {
    await logins.confirm(account, password, address);
  } catch (error) {
    throw error instanceof HttpError && error.status === 401 ? new InvalidInput([{ field, message: 'is not right' }]) : error;
  }
}

export interface ConfirmParts {
  readonly accounts: AccountsService;
  readonly sessions: SessionsService;
  readonly logins: Logins;
  readonly forms: Forms;
  readonly http: Http;
  readonly environment: Environment;
}

/** Where members are sent before what the password must have been given for lately. */
export function addConfirmPages(plugin: PluginHandle, { accounts, sessions, logins, forms, http, environment }: ConfirmParts): void {
  plugin.route(pages, { method: 'get', path: PATH, can: 'public', options: { login: true } })(({ req }) => {
    const { return_to: returnTo } = req.query as Record<string, string | undefined>;
    return forms.confirm({ values: { return_to: returnTo } });
  });

  const again = (retry: Retry) => forms.confirm({ retry });
  plugin.route(pages, { method: 'post', path: PATH, can: 'public', body: ConfirmForm, options: { login: true, again } })(async ({ actor, body, req }) => {
    const address = http.addressOf(req);
    const account = (await accounts.find(actor.id!))!;
    await giveAgain(logins, account, { password: body.password, field: 'password', address });
    await sessions.confirm(req);
    await plugin.emit(identityConfirmed, { id: account.id, address });
    return negotiated(redirect(ownPath(body.return_to, environment.baseUrl)), { success: true });
  });
}
