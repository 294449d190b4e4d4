import { InvalidInput, type Environment, type Http, type PluginHandle, type Request, type Response } from '#core';
import { isGuest } from '#plugins/access';
import type { Account } from '#plugins/accounts';
import { negotiated, pages, redirect, type Retry } from '#plugins/web';
import type { CsrfService } from './csrf.ts';
import { LoginForm, RegisterForm, ticked, type Forms } from './forms.ts';
import type { Logins } from './login.ts';
import { ownPath } from './own-path.ts';
import type { UserRecords } from './records.ts';
import type { Registration } from './registration.ts';
import type { SessionsService } from './sessions.ts';

export interface PageParts {
  readonly sessions: SessionsService;
  readonly csrf: CsrfService;
  readonly logins: Logins;
  readonly registration: Registration;
  readonly users: UserRecords;
  readonly forms: Forms;
  readonly http: Http;
  readonly environment: Environment;
}

/** Logging in and out, and signing up. */
export function addPages(plugin: PluginHandle, { sessions, csrf, logins, registration, users, forms, http, environment }: PageParts): void {
  const back = (path: string | undefined): string => ownPath(path, environment.baseUrl);

  /** Logs in and answers with the user; the old forgery token dies, so programs get the new one. */
  const enter = async (req: Request, res: Response, account: Account, remember: boolean): Promise<object> => {
    const viewer = await sessions.start(req, res, account, { remember });
    csrf.forgetGuest(req, res);
    return { success: true, user: await users.find(account.id, viewer), csrf_token: csrf.token(req, res) };
  };

  plugin.route(pages, { method: 'get', path: '/login', can: 'public' })(({ actor, req }) => {
    const { return_to: returnTo } = req.query as Record<string, string | undefined>;
    return isGuest(actor) ? forms.login({ values: { return_to: returnTo } }) : redirect(back(returnTo));
  });

  plugin.route(pages, { method: 'post', path: '/login', can: 'public', body: LoginForm, options: { again: (retry: Retry) => forms.login({ retry }) } })(async ({ req, res, body }) => {
    const account = await logins.check(body.identifier, body.password, http.addressOf(req));
    return negotiated(redirect(back(body.return_to)), await enter(req, res, account, ticked(body.remember)));
  });

  plugin.route(pages, { method: 'get', path: '/register', can: 'public' })(({ actor, req }) => {
    const { return_to: returnTo } = req.query as Record<string, string | undefined>;
    return isGuest(actor) ? forms.register({ values: { return_to: returnTo } }) : redirect(back(returnTo));
  });

  plugin.route(pages, { method: 'post', path: '/register', can: 'public', body: RegisterForm, options: { again: (retry: Retry) => forms.register({ retry }) } })(async ({ req, res, body }) => {
    if (body.password_confirmation !== undefined && body.password_confirmation !== body.password) {
      throw new InvalidInput([{ field: 'password_confirmation', message: 'is not the same as the password' }]);
    }
    const account = await registration.register(body, http.addressOf(req));
    return negotiated(redirect(back(body.return_to), { notice: `Welcome, ${account.username}!` }), await enter(req, res, account, false), 201);
  });

  plugin.route(pages, { method: 'post', path: '/logout', can: 'public' })(async ({ req, res }) => {
    await sessions.stop(req, res);
    csrf.forgetGuest(req, res);
    return negotiated(redirect('/', { notice: 'You are logged out.' }), { success: true });
  });
}
