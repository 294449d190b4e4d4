import { pluginChanged, type Extension, type PluginHandle } from 'parley-forum';
import { auditRules, type AuditEntry, type AuditRule } from 'parley-forum/plugins/audit';

/** How many entries of one action may gather in a batch. */
const TOGETHER = 16;

/** Hears durably of every action that has a rule, also of plugins that come later. */
export function collect(plugin: PluginHandle, add: (id: string, entry: AuditEntry) => Promise<void>): void {
  // By the hook's id, as last seen: work may still be stored for an action whose plugin has been switched off.
  const rules = new Map<string, AuditRule>();
  const hear = async (id: string, hook: string, payload: unknown): Promise<void> => {
    const entry = rules.get(hook)!.entry(payload);
    if (entry) await add(id, entry);
  };
  const learn = ({ plugin: owner, value: rule }: Extension<AuditRule>): void => {
    const known = rules.has(rule.hook.id);
    rules.set(rule.hook.id, rule);
    if (known) return;
    plugin.log.debug({ hook: rule.hook.id, owner }, 'an action leaves entries');
    plugin.on(rule.hook, (payload: unknown, { id }) => hear(id, rule.hook.id, payload), {
      durable: { limit: TOGETHER },
    });
  };
  const look = (): void => plugin.extensions(auditRules).forEach(learn);
  look();
  plugin.on(pluginChanged, look);
}
