import type { Environment, Http, PluginHandle } from 'parley-forum';
import { isGuest } from 'parley-forum/plugins/access';
import { loggedOut } from 'parley-forum/plugins/accounts';
import { localPath, negotiated, pages, phrase, redirect, type Retry } from 'parley-forum/plugins/web';
import type { CsrfService } from '../sessions/csrf.ts';
import type { LoginFlow } from './login-flow.ts';
import { LoginForm, RegisterForm, ticked, type Forms } from '../forms.ts';
import type { Authenticator } from './authenticator.ts';
import type { Registration } from '../registration/registration.ts';

export interface PagesDeps {
  readonly sessions: LoginFlow;
  readonly csrf: CsrfService;
  readonly authenticator: Authenticator;
  readonly registration: Registration;
  readonly forms: Forms;
  readonly http: Http;
  readonly environment: Environment;
}

/** Pages for logging in and out, and signing up. */
export function addPages(
  plugin: PluginHandle,
  { sessions, csrf, authenticator, registration, forms, http, environment }: PagesDeps,
): void {
  const back = (path: string | undefined): string => localPath(path, environment.baseUrl);

  plugin.route(pages, { method: 'get', path: '/login', can: 'public' })(({ actor, req }) => {
    const { return_to: returnTo } = req.query as Record<string, string | undefined>;
    return isGuest(actor) ? forms.login({ values: { return_to: returnTo } }) : redirect(back(returnTo));
  });

  plugin.route(pages, {
    method: 'post',
    path: '/login',
    can: 'public',
    body: LoginForm,
    options: { rerender: (retry: Retry) => forms.login({ retry }) },
  })(async ({ req, res, body }) => {
    const account = await authenticator.authenticate(body.identifier, body.password, http.ip(req));
    const { redirectTo: to, json } = await sessions.beginLogin(req, res, account, {
      remember: ticked(body.remember),
      returnTo: back(body.return_to),
    });
    return negotiated(redirect(to), json);
  });

  plugin.route(pages, { method: 'get', path: '/register', can: 'public' })(({ actor, req }) => {
    const { return_to: returnTo } = req.query as Record<string, string | undefined>;
    return isGuest(actor) ? forms.register({ values: { return_to: returnTo } }) : redirect(back(returnTo));
  });

  plugin.route(pages, {
    method: 'post',
    path: '/register',
    can: 'public',
    body: RegisterForm,
    options: { rerender: (retry: Retry) => forms.register({ retry }) },
  })(async ({ req, res, body }) => {
    const registered = await registration.register(body, http.ip(req), { shown: req.is('json') === false });
    if ('confirmation' in registered)
      return negotiated(
        redirect(registered.confirmation.path),
        { success: true, [registered.confirmation.name]: true },
        201,
      );
    const { account } = registered;
    const {
      redirectTo: to,
      json,
      complete: entered,
    } = await sessions.beginLogin(req, res, account, {
      remember: false,
      returnTo: back(body.return_to),
    });
    return negotiated(
      redirect(to, entered ? { notice: phrase('accounts:welcome', { name: account.username }) } : {}),
      json,
      201,
    );
  });

  plugin.route(pages, { method: 'post', path: '/logout', can: 'public' })(async ({ actor, req, res }) => {
    await sessions.logOut(req, res);
    csrf.clearGuestToken(req, res);
    // Pages in the browser's cache show what the member could see.
    res.set('Clear-Site-Data', '"cache"');
    if (!isGuest(actor)) await plugin.emit(loggedOut, { id: actor.id, address: http.ip(req) });
    return negotiated(redirect('/', { notice: phrase('accounts:logged-out') }), { success: true });
  });
}
