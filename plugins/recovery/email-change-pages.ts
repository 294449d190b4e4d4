import { HttpError, type Http, type PluginHandle } from 'parley-forum';
import { securitySettingsEmail, type Account, type Accounts } from 'parley-forum/plugins/accounts';
import {
  fill,
  formErrors,
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
import type { EmailChanges } from './email-changes.ts';
import { invalidLink, protectPage, Token } from './reset-pages.ts';

export interface EmailChangePagesDeps {
  readonly changes: EmailChanges;
  readonly accounts: Pick<Accounts, 'find'>;
  readonly http: Http;
  readonly web: Web;
  /** Called when a member has followed a link sent to their address, which proves that it is theirs. */
  emailProven(account: Account): Promise<void>;
}

const SECURITY = '/settings/security';
const EMAIL = `${SECURITY}/email`;
const head = (key: string) => ({
  name: 'settings',
  title: phrase(`recovery:${key}`),
  noindex: true,
  current: SECURITY,
});

/** Shown for a link of another member. Only the member who requested an address can confirm it. */
function otherMembersLink(): Negotiated {
  const error = 'Another member requested this link; log in as that member to use it';
  return negotiated(view('@recovery/foreign', head('foreign.title'), {}, 403), new HttpError(403, error));
}

/**
 * The page that the mail to a new address links to, and a notice about the pending change next to the member's address.
 */
export function addEmailChangePages(
  plugin: PluginHandle,
  { changes, accounts, http, web, emailProven }: EmailChangePagesDeps,
): void {
  plugin.extend(
    slotFillings,
    fill(securitySettingsEmail, async (contexts, viewer) => {
      const account = viewer.id === undefined ? undefined : await accounts.find(viewer.id);
      const email = account && (await changes.pendingEmail(account));
      if (email === undefined) return [];
      const notice = await web.fragment(viewer, '@recovery/pending', { email });
      return contexts.map(() => notice);
    }),
  );

  const changeView = async (token: string, account: Account, retry?: Retry): Promise<View> => {
    const model = {
      action: `${EMAIL}/confirm/${token}`,
      username: account.username,
      email: await changes.pendingEmail(account),
      ...formErrors(retry),
    };
    return view('@recovery/change', head('change.title'), model);
  };
  const rerender = async (retry: Retry): Promise<View> => {
    protectPage(retry.res);
    const { token = '' } = retry.params;
    const account = await changes.find(token);
    if (!account) return invalidLink(EMAIL).page as View;
    return account.id === retry.actor.id ? changeView(token, account, retry) : (otherMembersLink().page as View);
  };

  // GET changes nothing, because mail scanners open links.
  const path = `${EMAIL}/confirm/:token`;
  plugin.route(pages, { method: 'get', path, can: 'member', params: Token })(
    async ({ actor, params: { token }, res }) => {
      protectPage(res);
      const account = await changes.find(token);
      if (!account) return invalidLink(EMAIL);
      return account.id === actor.id ? changeView(token, account) : otherMembersLink();
    },
  );

  plugin.route(pages, { method: 'post', path, can: 'member', params: Token, options: { rerender } })(
    async ({ actor, params: { token }, req, res }) => {
      protectPage(res);
      const account = await changes.find(token);
      if (account && account.id !== actor.id) return otherMembersLink();
      if (!account || !(await changes.finish(token, http.ip(req)))) return invalidLink(EMAIL);
      await emailProven(account);
      return negotiated(redirect(SECURITY, { notice: phrase('recovery:change.done') }), { success: true });
    },
  );
}
