import { commandLine, type PluginHandle } from 'parley-forum';
import { audited, auditRules } from 'parley-forum/ports/audit';
import {
  identityLinked,
  identityUnlinked,
  providerChecked,
  providerRemoved,
  providerSaved,
  signOnRefused,
} from 'parley-forum/plugins/single-sign-on';

const provider = (id: string) => ({ type: 'identity-provider', id });
const member = (id: string) => ({ type: 'account', id });

const RULES = [
  audited(providerSaved, ['single-sign-on.provider-saved'], ({ actor, provider: { id, ...details } }) => ({
    action: 'single-sign-on.provider-saved',
    actor,
    subject: provider(id),
    details,
  })),
  audited(providerChecked, ['single-sign-on.provider-checked'], ({ actor, provider: { id, name } }) => ({
    action: 'single-sign-on.provider-checked',
    actor,
    subject: provider(id),
    details: { name },
  })),
  audited(providerRemoved, ['single-sign-on.provider-removed'], ({ actor, provider: { id, name }, members }) => ({
    action: 'single-sign-on.provider-removed',
    actor,
    subject: provider(id),
    details: { name, members },
  })),
  audited(identityLinked, ['single-sign-on.linked'], ({ account, provider: id, address }) => ({
    action: 'single-sign-on.linked',
    actor: account,
    subject: member(account),
    address,
    details: { provider: id },
  })),
  audited(identityUnlinked, ['single-sign-on.unlinked'], ({ account, provider: id, cause }) => ({
    action: 'single-sign-on.unlinked',
    actor: cause === 'operator' ? commandLine : account,
    subject: member(account),
    details: { provider: id, cause },
  })),
  // The actor is unknown.
  audited(signOnRefused, ['single-sign-on.refused'], ({ provider: id, reason, address }) => ({
    action: 'single-sign-on.refused',
    subject: provider(id),
    address,
    details: { reason },
  })),
];

/** The hooks of this plugin; all of them are audited. */
export const auditedHooks = RULES.map(({ hook }) => hook);

/** The audit log's entries about providers, and about logins by them. */
export function addAuditRules(plugin: PluginHandle): void {
  for (const rule of RULES) plugin.extend(auditRules, rule);
}
