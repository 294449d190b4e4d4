import type { Hooks, PluginHandle } from 'parley-forum';
import type { EventWriter } from './event-writer.ts';

/** Jobs per action that run at once, and so the maximum number of its entries in a batch. */
const BATCH_LIMIT = 16;

/** Records every public action, including those of plugins that start later. */
export function subscribeToEvents(plugin: PluginHandle, hooks: Hooks, writer: EventWriter): void {
  plugin.onAny(
    (action) => action.public !== undefined,
    (payload, { id }, action) => writer.add({ id, event: action.id, data: hooks.publicData(action, payload) }),
    { durable: { limit: BATCH_LIMIT } },
  );
}
