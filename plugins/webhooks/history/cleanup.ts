import { sql, type Clock, type Data } from 'parley-forum';

const DAY = 86_400_000;
/** Number of rows deleted by one statement. */
const BATCH_SIZE = 1_000;

/** Deletes deliveries older than this many days, in batches. Pending ones are kept. */
export async function deleteOldDeliveries(data: Data, clock: Clock, days: number): Promise<void> {
  const before = new Date(clock.now() - days * DAY);
  const gone = (rows: readonly unknown[]): boolean => rows.length < BATCH_SIZE;
  while (
    !gone(
      await data.all(sql`delete from webhook_delivery where id in
    (select id from webhook_delivery where created_at < ${before} and job is null
        order by created_at limit ${BATCH_SIZE}) returning 1`),
    )
  );
  while (
    !gone(
      await data.all(sql`delete from webhook_event
        where id in (select id from webhook_event e where created_at < ${before}
    and not exists (select 1 from webhook_delivery d where d.event_id = e.id) order by created_at limit ${BATCH_SIZE})
    returning 1`),
    )
  );
}
