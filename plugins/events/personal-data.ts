import { sql, type Cache, type Data } from 'parley-forum';
import { eventsTag } from 'parley-forum/plugins/events';
import type { PersonalData } from 'parley-forum/ports/personal-data';

/** Entries that name a member leave the log: that something of theirs was deleted names nobody, and stays. */
export const eventsPersonalData = (data: Data, cache: Cache): PersonalData => ({
  name: 'event log',
  async erase(accountId) {
    await data.all(sql`delete from event_log where data::text like ${`%"${accountId}"%`}`);
    await cache.purge(eventsTag);
  },
});
