import type { PluginHandle } from 'parley-forum';
import {
  ipAddressesViewed,
  emailChanged,
  groupChanged,
  identityConfirmed,
  loggedIn,
  loggedOut,
  loginRefused,
  passwordChanged,
  sessionEnded,
  sessionsRevoked,
  statusChanged,
  tokenIssued,
  tokenRevoked,
  userRegistered,
} from 'parley-forum/plugins/accounts';
import { auditRules, audited, type AuditEntry } from 'parley-forum/ports/audit';

const member = (id: string): NonNullable<AuditEntry['subject']> => ({ type: 'account', id });
/** An entry about a change of an account, possibly one's own. */
const about = <A extends string>(
  action: A,
  { id, by }: { readonly id: string; readonly by?: string | undefined },
  details?: AuditEntry['details'],
): AuditEntry<A> => ({
  action,
  ...(by !== undefined && { actor: by }),
  subject: member(id),
  ...(details && { details }),
});
/** An entry about something a member did, with their IP address. */
const byMember = <A extends string>(
  action: A,
  { id, address }: { readonly id: string; readonly address: string },
): AuditEntry<A> => ({ action, actor: id, subject: member(id), address });

const RULES = [
  audited(loggedIn, ['account.logged-in'], (from) => byMember('account.logged-in', from)),
  audited(loggedOut, ['account.logged-out'], (from) => byMember('account.logged-out', from)),
  audited(identityConfirmed, ['account.confirmed'], (from) => byMember('account.confirmed', from)),
  // The actor is unknown, and the text entered as a name may be a password.
  audited(loginRefused, ['account.login-refused'], ({ id, address, confirming }) => ({
    action: 'account.login-refused',
    ...(id !== undefined && { subject: member(id) }),
    address,
    details: { confirming },
  })),
  audited(sessionEnded, ['account.session-ended'], ({ id, address, cause }) => ({
    action: 'account.session-ended',
    subject: member(id),
    address,
    details: { cause },
  })),
  audited(sessionsRevoked, ['account.sessions-revoked'], (change) =>
    about('account.sessions-revoked', change, { which: change.which }),
  ),
  audited(passwordChanged, ['account.password-changed'], (change) => about('account.password-changed', change)),
  audited(emailChanged, ['account.email-changed'], (change) => about('account.email-changed', change)),
  audited(tokenIssued, ['account.token-issued'], (change) => about('account.token-issued', change)),
  audited(tokenRevoked, ['account.token-revoked'], (change) => about('account.token-revoked', change)),
  audited(groupChanged, ['account.group-changed'], (change) =>
    about('account.group-changed', change, { from: change.from, to: change.to }),
  ),
  audited(statusChanged, ['account.status-changed'], (change) =>
    about('account.status-changed', change, { from: change.from, to: change.to }),
  ),
  audited(ipAddressesViewed, ['account.addresses-viewed'], ({ ids, by }) => ({
    action: 'account.addresses-viewed',
    actor: by,
    ...(ids.length === 1 ? { subject: member(ids[0]!) } : { details: { members: ids.join(' ') } }),
  })),
  audited(userRegistered, ['account.registered'], ({ user, by }) =>
    about('account.registered', { id: user.id, by: by ?? user.id }),
  ),
];

/** The hooks of all audited actions owned by this plugin. */
export const auditedHooks = RULES.map(({ hook }) => hook);

/** Adds the rules for what the audit log records about logins and accounts. */
export function addAuditRules(plugin: PluginHandle): void {
  for (const rule of RULES) plugin.extend(auditRules, rule);
}
