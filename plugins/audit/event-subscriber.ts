import type { PluginHandle } from 'parley-forum';
import { auditRules, type AuditEntry, type AuditRule } from 'parley-forum/ports/audit';

/** Entries of one action in a batch at most. */
const BATCH_LIMIT = 16;

/** Adds an entry for every action that has a rule, also of plugins that start later. */
export function subscribe(plugin: PluginHandle, add: (id: string, entry: AuditEntry) => Promise<void>): void {
  // By the action's id, as last seen: work may still be stored for one whose plugin, and rule, are gone.
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
