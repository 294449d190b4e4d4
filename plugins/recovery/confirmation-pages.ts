import { HttpError, type Http, type PluginHandle } from 'parley-forum';
import { loginSteps, emailConfirmations, type Sessions, type PendingLogin } from 'parley-forum/plugins/accounts';
import { formErrors, negotiated, pages, phrase, redirect, view, type Retry, type View } from 'parley-forum/plugins/web';
import type { EmailConfirmations } from './email-confirmations.ts';
import { invalidLink, protectPage, Token } from './reset-pages.ts';

export interface ConfirmationPagesDeps {
  readonly confirmations: EmailConfirmations;
  readonly sessions: Sessions;
  readonly http: Http;
}

const VERIFY = '/login/verify';
/** The head of the pages in this file. */
const head = (key: string) => ({ name: 'login', title: phrase(`recovery:${key}`), noindex: true });

/** The pages new members see until their address is confirmed, and the page that the mail links to. */
export function addConfirmationPages(
  plugin: PluginHandle,
  { confirmations, sessions, http }: ConfirmationPagesDeps,
): void {
  const { name, path } = confirmations;
  plugin.extend(emailConfirmations, confirmations);
  plugin.extend(loginSteps, { name, path: VERIFY, required: ({ id }) => confirmations.pending(id) }, -100);

  plugin.route(pages, { method: 'get', path, can: 'public' })(() =>
    view('@recovery/sent', head('sent.title'), { again: '/login', kind: 'confirm' }),
  );

  const ours = (pending: PendingLogin | undefined): PendingLogin | undefined =>
    pending?.step === name ? pending : undefined;
  const verifyView = (retry?: Retry): View => view('@recovery/verify', head('confirm.title'), formErrors(retry));
  plugin.route(pages, { method: 'get', path: VERIFY, can: 'public' })(async ({ req }) =>
    ours(await sessions.pendingLogin(req)) ? verifyView() : redirect('/login'),
  );

  plugin.route(pages, { method: 'post', path: VERIFY, can: 'public', options: { rerender: verifyView } })(
    async ({ req, res }) => {
      const pending = ours(await sessions.pendingLogin(req));
      if (!pending) {
        const error = 'Log in first, then request another mail.';
        return negotiated(
          redirect('/login', { notice: phrase('recovery:verify.login-first'), noticeKind: 'info' }),
          new HttpError(401, error, { code: 'login_needed' }),
        );
      }
      if (await confirmations.pending(pending.account.id)) {
        await confirmations.resend(pending.account);
        return negotiated(redirect(VERIFY, { notice: phrase('recovery:verify.sent') }), {
          success: true,
        });
      }
      const result = await sessions.completeStep(req, res, name);
      return negotiated(redirect(result.next ?? pending.returnTo), result);
    },
  );

  // GET changes nothing, because mail scanners open links.
  const confirm = '/register/confirm/:token';
  plugin.route(pages, { method: 'get', path: confirm, can: 'public', params: Token })(
    async ({ params: { token }, res }) => {
      protectPage(res);
      const account = await confirmations.find(token);
      if (!account) return invalidLink('/login');
      return view('@recovery/confirm', head('confirm.title'), {
        action: `/register/confirm/${token}`,
        username: account.username,
      });
    },
  );

  plugin.route(pages, { method: 'post', path: confirm, can: 'public', params: Token })(
    async ({ params: { token }, req, res }) => {
      protectPage(res);
      if (!(await confirmations.finish(token, http.ip(req)))) return invalidLink('/login');
      return negotiated(redirect('/login', { notice: phrase('recovery:confirm.done') }), { success: true });
    },
  );
}
