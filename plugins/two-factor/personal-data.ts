import { sql, type Data } from 'parley-forum';
import type { PersonalData } from 'parley-forum/ports/personal-data';
import type { TwoFactorService } from './service.ts';

/** Exports whether a member has a second factor. Its secret and the codes are not exported. */
export const twoFactorData = (data: Data, service: TwoFactorService): PersonalData => ({
  name: 'two-factor login',
  async *entries(accountId) {
    const { enabled, codesLeft } = await service.state(accountId);
    yield { path: 'two-factor.json', content: JSON.stringify({ enabled, backup_codes_left: codesLeft }, undefined, 2) };
  },
  async erase(accountId) {
    await data.all(sql`delete from two_factor where account_id = ${accountId}`);
  },
});
