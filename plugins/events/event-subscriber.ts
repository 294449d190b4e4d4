import { check, pluginChanged, type Action, type Hooks, type PluginHandle } from 'parley-forum';
import type { EventWriter } from './event-writer.ts';

/** Entries of one action in a batch at most. */
const BATCH_LIMIT = 16;

/** Subscribes durably to every public action, also of plugins that start later. */
export function subscribeToEvents(plugin: PluginHandle, hooks: Hooks, writer: EventWriter): void {
  // By id, as last seen: work may still be stored for an action whose plugin has been switched off.
  const actions = new Map<string, Action<object>>();
  const record = (name: string, id: string, payload: object): Promise<void> => {
    const { public: schema } = actions.get(name)!;
    const checked = check(schema!, payload);
    if (checked.ok) return writer.add({ id, event: name, data: checked.value as object });
    const problems = checked.problems.map(({ field, message }) => `${field} ${message}`).join(', ');
    throw new Error(
      `"${name}" was raised with a payload that does not fit its public schema: ${problems}; correct one of the two`,
    );
  };
  const subscribe = (): void => {
    for (const { hook } of hooks.hooks()) {
      if (hook.kind !== 'action' || !hook.public) continue;
      const known = actions.has(hook.id);
      actions.set(hook.id, hook);
      if (!known)
        plugin.on(hook, (payload: object, { id }) => record(hook.id, id, payload), { durable: { limit: BATCH_LIMIT } });
    }
  };
  subscribe();
  plugin.on(pluginChanged, subscribe);
}
