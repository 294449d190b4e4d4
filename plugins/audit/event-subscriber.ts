import type { PluginHandle } from 'parley-forum';
import { auditRules, type AuditEntry, type AuditRule } from 'parley-forum/ports/audit';

/** Maximum number of entries of one action in a batch. */
const BATCH_LIMIT = 16;

/** Adds an entry for every action that has a rule, including those of plugins that start later. */
export function subscribe(plugin: PluginHandle, add: (id: string, entry: AuditEntry) => Promise<void>): void {
  // The latest rule by the action's id: jobs may still be stored for an action whose plugin, and rule, are gone.
  const rules = new Map<string, AuditRule>();
  plugin.onAny(
    ({ id }) => {
      const rule = plugin.extensions(auditRules).find(({ value }) => value.hook.id === id);
      if (rule) rules.set(id, rule.value);
      return rule !== undefined;
    },
    async (payload, { id }, action) => {
      const entry = rules.get(action.id)!.entry(payload);
      if (entry) await add(id, entry);
    },
    { durable: { limit: BATCH_LIMIT } },
  );
}
