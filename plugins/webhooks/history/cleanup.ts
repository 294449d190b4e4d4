import { sql, type Clock, type Data } from 'parley-forum';
import { repeatInBatches } from 'parley-forum/ports/personal-data';

const DAY = 86_400_000;
interface CleanupDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Deletes deliveries older than this many days, and the events of which no delivery is left. Pending ones are kept. */
export async function deleteOldDeliveries({ data, clock, signal }: CleanupDeps, days: number): Promise<void> {
  const before = new Date(clock.now() - days * DAY);
  await repeatInBatches(signal, async (limit) => {
    const gone = await data.all(sql`delete from webhook_delivery where id in (
      select id from webhook_delivery where created_at < ${before} and job is null
      order by created_at limit ${limit}) returning 1`);
    return gone.length;
  });
  await repeatInBatches(signal, async (limit) => {
    const gone = await data.all(sql`delete from webhook_event where id in (
      select id from webhook_event e where created_at < ${before}
        and not exists (select 1 from webhook_delivery d where d.event_id = e.id)
      order by created_at limit ${limit}) returning 1`);
    return gone.length;
  });
}
