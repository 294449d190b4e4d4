import { messageOf, type Logger } from 'parley-forum';
import type { Live } from 'parley-forum/ports/live';
import type { Presence } from 'parley-forum/plugins/presence';
import type { VisitorStore } from './visitor-store.ts';

/** Milliseconds between checks of the statistics. */
const INTERVAL = 5_000;
/** The name of the signal on the live stream. */
export const SIGNAL = 'presence';

/** Sends the statistics to open pages when they have changed; the first process that notices sends them. */
export function signalStatistics(
  live: Live,
  { presence, store, log }: { readonly presence: Presence; readonly store: VisitorStore; readonly log: Logger },
): () => void {
  const check = async (): Promise<void> => {
    const statistics = await presence.statistics();
    if (await store.claimChange(JSON.stringify(statistics))) live.send(SIGNAL, statistics);
  };
  const timer = setInterval(
    () =>
      void check().catch((error: unknown) =>
        log.debug({ error: messageOf(error) }, 'the presence statistics could not be sent'),
      ),
    INTERVAL,
  ).unref();
  return () => clearInterval(timer);
}
