import { HttpError, type Http, type PluginHandle } from 'parley-forum';
import { loginSteps, type Sessions, type PendingLogin } from 'parley-forum/plugins/accounts';
import { formErrors, negotiated, pages, phrase, redirect, view, type Retry, type View } from 'parley-forum/plugins/web';
import type { CodeVerifier } from './code-verifier.ts';
import type { TwoFactorService } from './service.ts';
import { Code, fieldProblem } from './settings-pages.ts';

export interface LoginPagesDeps {
  readonly service: TwoFactorService;
  readonly verifier: CodeVerifier;
  readonly sessions: Sessions;
  readonly http: Http;
}

const NAME = 'two_factor';
const PAGE = '/login/two-factor';

/** The login page that asks for the code, after the password and before the session. */
export function addLoginPages(plugin: PluginHandle, { service, verifier, sessions, http }: LoginPagesDeps): void {
  plugin.extend(loginSteps, {
    name: NAME,
    path: PAGE,
    required: ({ id }) => service.enabled(id),
    confirm: ({ id }, code, address) => fieldProblem(verifier.verify({ id, address }, code)),
  });

  const page = (retry?: Retry): View => {
    return view(
      '@two-factor/login',
      { name: 'login', title: phrase('two-factor:title'), noindex: true },
      formErrors(retry),
    );
  };
  const ours = (pending: PendingLogin | undefined): PendingLogin | undefined =>
    pending?.step === NAME ? pending : undefined;

  plugin.route(pages, { method: 'get', path: PAGE, can: 'public' })(async ({ req }) =>
    ours(await sessions.pendingLogin(req)) ? page() : redirect('/login'),
  );

  plugin.route(pages, { method: 'post', path: PAGE, can: 'public', body: Code, options: { rerender: page } })(
    async ({ req, res, body }) => {
      const pending = ours(await sessions.pendingLogin(req));
      if (!pending) {
        const error = 'There is no login waiting for a code, or it took more than ten minutes: log in again.';
        return negotiated(
          redirect('/login', { notice: phrase('two-factor:nobody-waits'), noticeKind: 'info' }),
          new HttpError(401, error, { code: 'login_needed' }),
        );
      }
      await verifier.verify({ id: pending.account.id, address: http.ip(req) }, body.code);
      const result = await sessions.completeStep(req, res, NAME);
      return negotiated(redirect(result.next ?? pending.returnTo), result);
    },
  );
}
