import { Cron } from 'croner';
import type { Digest } from 'parley-forum/plugins/notifications';

/** At seven in the morning, daily or on Mondays. */
const MORNINGS = { daily: '0 7 * * *', weekly: '0 7 * * 1' };

/** When the next digest after `moment` is due in the time zone `zone`; undefined if there is none. */
export const nextDigest = (digest: Digest, zone: string, moment: Date): Date | undefined =>
  digest === 'none'
    ? undefined
    : (new Cron(MORNINGS[digest], { timezone: zone, paused: true }).nextRun(moment) ?? undefined);
