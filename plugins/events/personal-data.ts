import { sql, type Cache, type Data } from 'parley-forum';
import { eventsTag } from 'parley-forum/plugins/events';
import type { PersonalData } from 'parley-forum/ports/personal-data';

/** Removes the entries that name a member. Entries about the deletion of their content name nobody and are kept. */
export const eventsPersonalData = (data: Data, cache: Cache): PersonalData => ({
  name: 'event log',
  async erase(accountId) {
    await data.all(sql`delete from event_log where data::text like ${`%"${accountId}"%`}`);
    await cache.purge(eventsTag);
  },
});
