import { messageOf, type Logger } from 'parley-forum';
import type { Live } from 'parley-forum/ports/live';
import type { Presence } from 'parley-forum/plugins/presence';
import type { VisitorStore } from './visitor-store.ts';

/** Milliseconds between two checks of the numbers. */
const INTERVAL = 5_000;
/** The name of the signal on the streams. */
export const SIGNAL = 'presence';

/** Sends the numbers to open pages when they have changed; of several processes the first that notices sends them. */
export function signalStatistics(
  live: Live,
  { presence, store, log }: { readonly presence: Presence; readonly store: VisitorStore; readonly log: Logger },
): () => void {
  const check = async (): Promise<void> => {
    const statistics = await presence.statistics();
    if (await store.claimChange(JSON.stringify(statistics))) live.send(SIGNAL, statistics);
  };
  const timer = setInterval(
    () => void check().catch((error: unknown) => log.debug({ error: messageOf(error) }, 'who is here cannot be told')),
    INTERVAL,
  ).unref();
  return () => clearInterval(timer);
}
