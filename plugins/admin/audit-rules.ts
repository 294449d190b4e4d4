import { commandLine, operated, type PluginHandle } from 'parley-forum';
import { pluginReleased, pluginStayed, pluginSwitched, settingsChanged, workRetried } from 'parley-forum/plugins/admin';
import { audited, auditRules } from 'parley-forum/ports/audit';

const subject = (type: string, id: string): { readonly type: string; readonly id: string } => ({ type, id });

const RULES = [
  audited(settingsChanged, ['settings.saved', 'settings.reset'], ({ actor, keys, reset }) => ({
    action: reset ? 'settings.reset' : 'settings.saved',
    actor,
    details: { keys: keys.join(', ') },
  })),
  audited(pluginSwitched, ['plugin.enabled', 'plugin.disabled'], ({ actor, plugin, on, others }) => ({
    action: on ? 'plugin.enabled' : 'plugin.disabled',
    actor,
    subject: subject('plugin', plugin),
    details: others.length > 0 ? { others: others.join(', ') } : {},
  })),
  audited(pluginStayed, ['plugin.stayed'], ({ actor, plugin }) => ({
    action: 'plugin.stayed',
    actor,
    subject: subject('plugin', plugin),
  })),
  audited(pluginReleased, ['plugin.released'], ({ actor, plugin }) => ({
    action: 'plugin.released',
    actor,
    subject: subject('plugin', plugin),
  })),
  audited(workRetried, ['work.retried'], ({ actor, listener, count }) => ({
    action: 'work.retried',
    actor,
    subject: subject('listener', listener),
    details: { count },
  })),
  // The kernel's commands do the same things, but outside the panel.
  audited(
    operated,
    [
      'settings.saved',
      'plugin.installed',
      'plugin.removed',
      'plugin.enabled',
      'plugin.disabled',
      'plugin.uninstalled',
      'plugin.stayed',
      'site.backed-up',
    ],
    ({ done, subject: what, others = [] }) => {
      if (done === 'set') return { action: 'settings.saved', actor: commandLine, details: { keys: what } };
      if (done === 'backed-up') return { action: 'site.backed-up', actor: commandLine, details: { file: what } };
      return {
        action: `plugin.${done}`,
        actor: commandLine,
        subject: subject('plugin', what),
        details: others.length > 0 ? { others: others.join(', ') } : {},
      };
    },
  ),
];

/** Records in the audit log what is done in the panel or by the kernel's commands. */
export function addAuditRules(plugin: PluginHandle): void {
  for (const rule of RULES) plugin.extend(auditRules, rule);
}
