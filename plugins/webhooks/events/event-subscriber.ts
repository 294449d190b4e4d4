import { check, pluginChanged, type Action, type Hooks, type PluginHandle } from 'parley-forum';
import type { Raised } from './fan-out.ts';

/** How many events of one kind may gather in a batch. */
const TOGETHER = 16;
/** What the specification names comes first in lists. */
const FIRST = ['discussion.created', 'post.created', 'user.registered', 'report.created'];

/** The names of all events that a webhook may ask for now. */
export function subscribable(hooks: Hooks): readonly string[] {
  const names = hooks
    .hooks()
    .filter(({ hook }) => hook.kind === 'action' && hook.public)
    .map(({ hook }) => hook.id)
    .sort();
  return [...FIRST.filter((name) => names.includes(name)), ...names.filter((name) => !FIRST.includes(name))];
}

/** Hears durably of every action that integrators may know, also of plugins that come later. */
export function collect(plugin: PluginHandle, hooks: Hooks, add: (raised: Raised) => Promise<void>): void {
  // By id, as last seen: work may still be stored for an action whose plugin has been switched off.
  const actions = new Map<string, Action<object>>();
  const hear = (event: string, id: string, payload: object): Promise<void> => {
    const checked = check(actions.get(event)!.public!, payload);
    if (checked.ok) return add({ id, event, payload, data: checked.value as object });
    const problems = checked.problems.map(({ field, message }) => `${field} ${message}`).join(', ');
    throw new Error(
      `"${event}" was raised with a payload that does not fit its public schema: ${problems}; correct one of the two`,
    );
  };
  const look = (): void => {
    for (const { hook } of hooks.hooks()) {
      if (hook.kind !== 'action' || !hook.public) continue;
      const known = actions.has(hook.id);
      actions.set(hook.id, hook);
      if (!known)
        plugin.on(hook, (payload: object, { id }) => hear(hook.id, id, payload), { durable: { limit: TOGETHER } });
    }
  };
  look();
  plugin.on(pluginChanged, look);
}
