import { sql, type Data } from 'parley-forum';
import type { PersonalData } from 'parley-forum/ports/personal-data';

/** Deliveries that mention a member: pending ones are cancelled, and all are deleted from the history. */
export const deliveriesData = (data: Data): PersonalData => ({
  name: 'deliveries to webhooks',
  async erase(accountId) {
    await data.transaction(async () => {
      const about = sql`select id from webhook_event where body like ${`%"${accountId}"%`}`;
      // Lock webhooks before their deliveries and in order, as the queue does.
      await data.all(sql`select 1 from webhook
        where id in (select webhook_id from webhook_delivery where event_id in (${about}))
        order by id for no key update`);
      await data.all(sql`delete from webhook_delivery where event_id in (${about})`);
      await data.all(
        sql`delete from webhook_event e where id in (${about})
          and not exists (select 1 from webhook_delivery d where d.event_id = e.id)`,
      );
    });
  },
});
