import type { PluginHandle } from 'parley-forum';
import { audited, auditRules } from 'parley-forum/ports/audit';
import {
  webhookDeleted,
  webhookDisabled,
  webhookRedelivered,
  webhookSaved,
  webhookSecretRotated,
  webhookTested,
} from 'parley-forum/plugins/webhooks';

const subject = (id: string): { readonly type: string; readonly id: string } => ({ type: 'webhook', id });

const RULES = [
  audited(webhookSaved, ['webhook.saved'], ({ actor, webhook: { id, ...details } }) => ({
    action: 'webhook.saved',
    actor,
    subject: subject(id),
    details,
  })),
  audited(webhookDeleted, ['webhook.deleted'], ({ actor, webhook: { id, name } }) => ({
    action: 'webhook.deleted',
    actor,
    subject: subject(id),
    details: { name },
  })),
  audited(webhookSecretRotated, ['webhook.secret-rotated'], ({ actor, webhook }) => ({
    action: 'webhook.secret-rotated',
    actor,
    subject: subject(webhook.id),
  })),
  audited(webhookTested, ['webhook.tested'], ({ actor, webhook }) => ({
    action: 'webhook.tested',
    actor,
    subject: subject(webhook.id),
  })),
  audited(webhookRedelivered, ['webhook.redelivered'], ({ actor, webhook, count }) => ({
    action: 'webhook.redelivered',
    actor,
    subject: webhook === undefined ? undefined : subject(webhook),
    details: { count },
  })),
  audited(webhookDisabled, ['webhook.disabled'], ({ webhook: { id, reason } }) => ({
    action: 'webhook.disabled',
    subject: subject(id),
    details: { reason },
  })),
];

/** Audit entries for administrators' changes to webhooks. */
export function addAuditRules(plugin: PluginHandle): void {
  for (const rule of RULES) plugin.extend(auditRules, rule);
}
