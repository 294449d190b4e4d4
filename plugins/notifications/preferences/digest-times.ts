import { Cron } from 'croner';
import type { Digest } from 'parley-forum/plugins/notifications';

/** Seven in the morning, each day or on Mondays. */
const MORNINGS = { daily: '0 7 * * *', weekly: '0 7 * * 1' };

/** When the next digest after `moment` is due where the clocks show the time of `zone`; undefined for none. */
export const nextDigest = (digest: Digest, zone: string, moment: Date): Date | undefined =>
  digest === 'none'
    ? undefined
    : (new Cron(MORNINGS[digest], { timezone: zone, paused: true }).nextRun(moment) ?? undefined);
