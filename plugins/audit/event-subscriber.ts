import { pluginChanged, type Extension, type PluginHandle } from 'parley-forum';
import { auditRules, type AuditEntry, type AuditRule } from 'parley-forum/plugins/audit';

/** Entries of one action in a batch at most. */
const BATCH_LIMIT = 16;

/** Subscribes durably to every action that has a rule, also of plugins that start later. */
export function subscribe(plugin: PluginHandle, add: (id: string, entry: AuditEntry) => Promise<void>): void {
  // By the hook's id, as last seen: work may still be stored for an action whose plugin has been switched off.
  const rules = new Map<string, AuditRule>();
  const handle = async (id: string, hook: string, payload: unknown): Promise<void> => {
    const entry = rules.get(hook)!.entry(payload);
    if (entry) await add(id, entry);
  };
  const subscribeTo = ({ plugin: owner, value: rule }: Extension<AuditRule>): void => {
    const known = rules.has(rule.hook.id);
    rules.set(rule.hook.id, rule);
    if (known) return;
    plugin.log.debug({ hook: rule.hook.id, owner }, 'an action leaves entries');
    plugin.on(rule.hook, (payload: unknown, { id }) => handle(id, rule.hook.id, payload), {
      durable: { limit: BATCH_LIMIT },
    });
  };
  const subscribeAll = (): void => plugin.extensions(auditRules).forEach(subscribeTo);
  subscribeAll();
  plugin.on(pluginChanged, subscribeAll);
}
