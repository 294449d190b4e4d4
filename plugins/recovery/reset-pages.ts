import { InvalidInput, notFound, Type, type Http, type PluginHandle, type Response } from 'parley-forum';
import { loginAfter, type Accounts } from 'parley-forum/plugins/accounts';
import {
  fill,
  formErrors,
  html,
  negotiated,
  pages,
  phrase,
  redirect,
  slotFillings,
  view,
  type Negotiated,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import type { PasswordResets } from './password-resets.ts';

export interface ResetPagesDeps {
  readonly resets: PasswordResets;
  readonly accounts: Pick<Accounts, 'passwordPolicy'>;
  readonly http: Http;
  readonly web: Web;
}

const FORGOT = '/password/forgot';
const SENT = '/password/sent';
export const Token = Type.Object({ token: Type.String() });
const Email = Type.Object({ email: Type.String({ minLength: 1, maxLength: 254 }) });
const ADDRESS = /^\s*[^\s@]+@[^\s@]+\s*$/;
const NewPassword = Type.Object({
  password: Type.String({ minLength: 1, maxLength: 1_024 }),
  password_confirmation: Type.Optional(Type.String()),
});

/** The head of the pages that links in mails lead to. */
const head = (key: string) => ({ name: 'login', title: phrase(`recovery:${key}`), noindex: true });
/** The URL of such a page contains a token, so it is neither sent as referrer nor cached. */
export function protectPage(res: Response): void {
  res.set({ 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-store' });
}

/**
 * One response for links that are malformed, unknown, used, replaced or expired. `again` is where to request a new one.
 */
export function invalidLink(again: string): Negotiated {
  const page = view('@recovery/invalid-link', head('gone.title'), { again }, 404);
  return negotiated(page, notFound('This link no longer works; request a new one'));
}

/** /password/forgot, and the page that its mail links to. */
export function addResetPages(plugin: PluginHandle, { resets, accounts, http, web }: ResetPagesDeps): void {
  plugin.extend(
    slotFillings,
    fill(loginAfter, (contexts) =>
      contexts.map(
        () => html`<p class="auth-more"><a href="${FORGOT}">${web.say(phrase('recovery:forgot.link'))}</a></p>`,
      ),
    ),
  );

  const forgotView = (retry?: Retry): View => {
    const model = { email: retry?.body['email'], ...formErrors(retry) };
    return view('@recovery/forgot', { ...head('forgot.link'), canonical: FORGOT }, model);
  };
  plugin.route(pages, { method: 'get', path: FORGOT, can: 'public' })(() => forgotView());
  plugin.route(pages, { method: 'get', path: SENT, can: 'public' })(() =>
    view('@recovery/sent', head('sent.title'), { again: FORGOT, kind: 'reset' }),
  );

  plugin.route(pages, { method: 'post', path: FORGOT, can: 'public', body: Email, options: { rerender: forgotView } })(
    async ({ body, req }) => {
      if (!ADDRESS.test(body.email)) throw new InvalidInput([{ field: 'email', message: 'is not an e-mail address' }]);
      await resets.request(body.email, http.ip(req));
      return negotiated(redirect(SENT), { success: true });
    },
  );

  const formView = (token: string, username: string, retry?: Retry): View => {
    const model = {
      action: `/password/reset/${token}`,
      username,
      policy: accounts.passwordPolicy,
      ...formErrors(retry),
    };
    return view('@recovery/reset', head('reset.title'), model);
  };
  const rerender = async (retry: Retry): Promise<View> => {
    protectPage(retry.res);
    const { token = '' } = retry.params;
    const account = await resets.find(token);
    return account ? formView(token, account.username, retry) : (invalidLink(FORGOT).page as View);
  };

  const path = '/password/reset/:token';
  plugin.route(pages, { method: 'get', path, can: 'public', params: Token })(async ({ params: { token }, res }) => {
    protectPage(res);
    const account = await resets.find(token);
    return account ? formView(token, account.username) : invalidLink(FORGOT);
  });

  plugin.route(pages, { method: 'post', path, can: 'public', params: Token, body: NewPassword, options: { rerender } })(
    async ({ params, body, req, res }) => {
      protectPage(res);
      if (body.password_confirmation !== undefined && body.password_confirmation !== body.password) {
        throw new InvalidInput([{ field: 'password_confirmation', message: 'is not the same as the password' }]);
      }
      if (!(await resets.finish(params.token, body.password, http.ip(req)))) return invalidLink(FORGOT);
      return negotiated(
        redirect('/login', {
          notice: phrase('recovery:reset.done'),
        }),
        { success: true },
      );
    },
  );
}
