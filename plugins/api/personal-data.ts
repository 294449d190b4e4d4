import { sql, type Data } from 'parley-forum';
import type { PersonalData } from 'parley-forum/ports/personal-data';

/** Responses stored for repeated requests. */
export const answersData = (data: Data): PersonalData => ({
  name: 'kept answers',
  async erase(accountId) {
    await data.all(sql`delete from api_answer where account_id = ${accountId}`);
  },
});
