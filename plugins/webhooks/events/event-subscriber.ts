import { check, pluginChanged, type Action, type Hooks, type PluginHandle } from 'parley-forum';
import type { RaisedEvent } from './fan-out.ts';

/** Most events of one kind in a batch. */
const BATCH_SIZE = 16;
/** Shown first in lists. */
const LISTED_FIRST = ['discussion.created', 'post.created', 'user.registered', 'report.created'];

/** The names of all events that a webhook may subscribe to now. */
export function subscribableEvents(hooks: Hooks): readonly string[] {
  const names = hooks
    .hooks()
    .filter(({ hook }) => hook.kind === 'action' && hook.public)
    .map(({ hook }) => hook.id)
    .sort();
  return [
    ...LISTED_FIRST.filter((name) => names.includes(name)),
    ...names.filter((name) => !LISTED_FIRST.includes(name)),
  ];
}

/** Subscribes durably to every action with a public schema, including those of plugins that start later. */
export function subscribeToEvents(
  plugin: PluginHandle,
  hooks: Hooks,
  add: (raised: RaisedEvent) => Promise<void>,
): void {
  // By id, as last seen: work may still be stored for an action whose plugin has been switched off.
  const actions = new Map<string, Action<object>>();
  const handle = (event: string, id: string, payload: object): Promise<void> => {
    const checked = check(actions.get(event)!.public!, payload);
    if (checked.ok) return add({ id, event, payload, data: checked.value as object });
    const problems = checked.problems.map(({ field, message }) => `${field} ${message}`).join(', ');
    throw new Error(
      `"${event}" was raised with a payload that does not fit its public schema: ${problems}; correct one of the two`,
    );
  };
  const subscribe = (): void => {
    for (const { hook } of hooks.hooks()) {
      if (hook.kind !== 'action' || !hook.public) continue;
      const known = actions.has(hook.id);
      actions.set(hook.id, hook);
      if (!known)
        plugin.on(hook, (payload: object, { id }) => handle(hook.id, id, payload), { durable: { limit: BATCH_SIZE } });
    }
  };
  subscribe();
  plugin.on(pluginChanged, subscribe);
}
