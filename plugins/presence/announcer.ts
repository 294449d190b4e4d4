import { messageOf, type Logger } from 'parley-forum';
import type { Live } from 'parley-forum/plugins/live';
import type { Presence } from 'parley-forum/plugins/presence';
import type { Visits } from './visits.ts';

/** Milliseconds between two looks at the numbers. */
const EVERY = 5_000;
/** The name of the signal on the streams. */
export const SIGNAL = 'presence';

/** Tells open pages the numbers when they have changed; of several processes the first that notices tells all pages. */
export function announce(
  live: Live,
  { presence, visits, log }: { readonly presence: Presence; readonly visits: Visits; readonly log: Logger },
): () => void {
  const look = async (): Promise<void> => {
    const statistics = await presence.statistics();
    if (await visits.isNews(JSON.stringify(statistics))) live.send(SIGNAL, statistics);
  };
  const timer = setInterval(
    () => void look().catch((error: unknown) => log.debug({ error: messageOf(error) }, 'who is here cannot be told')),
    EVERY,
  ).unref();
  return () => clearInterval(timer);
}
