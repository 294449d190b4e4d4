import type { Http, PluginHandle } from 'parley-forum';
import { loginSteps, emailConfirmations, type Sessions, type PendingLogin } from 'parley-forum/plugins/accounts';
import { negotiated, pages, redirect, formErrors, view, type Retry, type View } from 'parley-forum/plugins/web';
import type { Confirmations } from './confirmations.ts';
import { goneLink, guarded, Token } from './reset-pages.ts';

export interface ConfirmationPageParts {
  readonly confirmations: Confirmations;
  readonly sessions: Sessions;
  readonly http: Http;
}

const WAITING = '/login/verify';
/** What the pages here say about themselves. */
const head = (title: string) => ({ name: 'login', title, noindex: true });

/** What new members see until their address is confirmed, and the page that the mail leads to. */
export function addConfirmationPages(
  plugin: PluginHandle,
  { confirmations, sessions, http }: ConfirmationPageParts,
): void {
  const { name, path } = confirmations;
  plugin.extend(emailConfirmations, confirmations);
  plugin.extend(loginSteps, { name, path: WAITING, required: ({ id }) => confirmations.outstanding(id) }, -100);

  plugin.route(pages, { method: 'get', path, can: 'public' })(() =>
    view('@recovery/sent', head('Look into your mail'), { again: '/login', kind: 'confirm' }),
  );

  const ours = (waiting: PendingLogin | undefined): PendingLogin | undefined =>
    waiting?.step === name ? waiting : undefined;
  const waitingView = (retry?: Retry): View =>
    view('@recovery/waiting', head('Confirm your address'), formErrors(retry), retry?.status ?? 200);
  plugin.route(pages, { method: 'get', path: WAITING, can: 'public' })(async ({ req }) =>
    ours(await sessions.pendingLogin(req)) ? waitingView() : redirect('/login'),
  );

  plugin.route(pages, { method: 'post', path: WAITING, can: 'public', options: { again: waitingView } })(
    async ({ req, res }) => {
      const waiting = ours(await sessions.pendingLogin(req));
      if (!waiting) {
        const error = 'Log in first; then another mail can be sent.';
        return negotiated(redirect('/login', { notice: error }), { success: false, error, code: 'login_needed' }, 401);
      }
      if (await confirmations.outstanding(waiting.account.id)) {
        await confirmations.sendAgain(waiting.account);
        return negotiated(redirect(WAITING, { notice: 'The mail is on its way. Only its link works now.' }), {
          success: true,
        });
      }
      const entered = await sessions.completeStep(req, res, name);
      return negotiated(redirect(entered.next ?? waiting.returnTo), entered);
    },
  );

  // Looking changes nothing: programs that check mails open what is in them.
  const confirm = '/register/confirm/:token';
  plugin.route(pages, { method: 'get', path: confirm, can: 'public', params: Token })(
    async ({ params: { token }, res }) => {
      guarded(res);
      const account = await confirmations.find(token);
      if (!account) return goneLink('/login');
      return view('@recovery/confirm', head('Confirm your address'), {
        action: `/register/confirm/${token}`,
        username: account.username,
      });
    },
  );

  plugin.route(pages, { method: 'post', path: confirm, can: 'public', params: Token })(
    async ({ params: { token }, req, res }) => {
      guarded(res);
      if (!(await confirmations.finish(token, http.addressOf(req)))) return goneLink('/login');
      return negotiated(redirect('/login', { notice: 'Your address is confirmed. Log in now.' }), { success: true });
    },
  );
}
