import { notFound, type PluginHandle } from 'parley-forum';
import { sessionsRevoked } from 'parley-forum/plugins/accounts';
import { negotiated, pages, phrase, redirect } from 'parley-forum/plugins/web';
import { SECURITY, SessionForm, type Forms } from '../forms.ts';
import type { SessionSummary, AccountSessions } from './account-sessions.ts';
import type { AccountsService } from '../accounts/service.ts';
import { loginOf } from './session-rules.ts';
import type { SessionsService } from './sessions.ts';

const PATH = `${SECURITY}/sessions`;

const plain = ({ id, device, address, startedAt, seenAt, current }: SessionSummary): object => ({
  id,
  device,
  address,
  created_at: new Date(startedAt).toISOString(),
  last_seen_at: new Date(seenAt).toISOString(),
  current,
});

export interface SessionPagesDeps {
  readonly accounts: AccountsService;
  readonly sessions: SessionsService;
  readonly accountSessions: AccountSessions;
  readonly forms: Forms;
}

/** The page that lists a member's sessions and lets them end these. */
export function addSessionPages(
  plugin: PluginHandle,
  { accounts, sessions, accountSessions, forms }: SessionPagesDeps,
): void {
  plugin.route(pages, { method: 'get', path: PATH, can: 'member' })(async ({ actor, req }) => {
    const listed = await accountSessions.list((await accounts.find(actor.id))!, loginOf(req));
    return negotiated(forms.sessions({ sessions: listed }), { success: true, sessions: listed.map(plain) });
  });

  const confirmed = { confirm: true };
  plugin.route(pages, {
    method: 'post',
    path: `${PATH}/revoke`,
    can: 'member',
    summary: 'accounts:does.end-session',
    body: SessionForm,
    options: confirmed,
  })(async ({ actor, body }) => {
    if (!(await accountSessions.revoke(actor.id, body.id))) throw notFound('This session has already ended');
    await plugin.emit(sessionsRevoked, { id: actor.id, by: actor.id, which: 'one', session: body.id });
    return negotiated(redirect(PATH, { notice: phrase('accounts:sessions.ended') }), { success: true });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${PATH}/revoke-others`,
    can: 'member',
    summary: 'accounts:sessions.end-others',
    options: confirmed,
  })(async ({ actor, req }) => {
    await sessions.endOthers(req, () => accounts.endOtherSessions(actor.id, sessions.sessionOf(req)?.id));
    return negotiated(redirect(PATH, { notice: phrase('accounts:sessions.others-ended') }), { success: true });
  });
}
