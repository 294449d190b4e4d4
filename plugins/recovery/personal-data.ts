import { sql, type Data } from 'parley-forum';
import type { PersonalData } from 'parley-forum/ports/personal-data';

/** A member's unused links, and the address of a pending change. */
export const linksData = (data: Data): PersonalData => ({
  name: 'links by mail',
  async *entries(accountId) {
    const row = await data.one(
      sql<{ email: string; since: Date }>`select email, since from recovery_address where account_id = ${accountId}`,
    );
    if (row)
      yield { path: 'new-address.json', content: JSON.stringify({ email: row.email, since: row.since.toISOString() }) };
  },
  async erase(accountId) {
    await data.transaction(async () => {
      await data.all(sql`delete from recovery_link where account_id = ${accountId}`);
      await data.all(sql`delete from recovery_address where account_id = ${accountId}`);
      await data.all(sql`delete from recovery_unconfirmed where account_id = ${accountId}`);
    });
  },
});
