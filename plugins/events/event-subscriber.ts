import type { Hooks, PluginHandle } from 'parley-forum';
import type { EventWriter } from './event-writer.ts';

/** Entries of one action in a batch at most. */
const BATCH_LIMIT = 16;

/** Records every public action, also of plugins that start later. */
export function subscribeToEvents(plugin: PluginHandle, hooks: Hooks, writer: EventWriter): void {
  plugin.onAny(
    (action) => action.public !== undefined,
    (payload, { id }, action) => writer.add({ id, event: action.id, data: hooks.publicData(action, payload) }),
    { durable: { limit: BATCH_LIMIT } },
  );
}
