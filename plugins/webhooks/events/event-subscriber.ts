import type { Hooks, PluginHandle } from 'parley-forum';
import type { RaisedEvent } from './fan-out.ts';

/** Maximum number of events of one kind in a batch. */
const BATCH_SIZE = 16;
/** Events shown first in lists. */
const LISTED_FIRST = ['discussion.created', 'post.created', 'user.registered', 'report.created'];

/** The names of all events that a webhook can currently subscribe to. */
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

/** Calls `add` for every action with a public schema, including those of plugins that start later. */
export function subscribeToEvents(
  plugin: PluginHandle,
  hooks: Hooks,
  add: (raised: RaisedEvent) => Promise<void>,
): void {
  plugin.onAny(
    (action) => action.public !== undefined,
    (payload: object, { id }, action) =>
      add({ id, event: action.id, payload, data: hooks.publicData(action, payload) }),
    { durable: { limit: BATCH_SIZE } },
  );
}
