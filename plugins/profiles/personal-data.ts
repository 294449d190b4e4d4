import type { PersonalData } from 'parley-forum/ports/personal-data';
import type { ProfileService } from './profile-service.ts';
import { isEmpty } from './rows.ts';

/** Exports what a member says about themselves. */
export const profilePersonalData = (profiles: ProfileService): PersonalData => ({
  name: 'profiles',
  async *entries(accountId) {
    const profile = await profiles.find(accountId);
    if (isEmpty(profile)) return;
    const { about, place, links, updatedAt } = profile;
    yield {
      path: 'profile.json',
      content: JSON.stringify({ about, place, links, updated_at: updatedAt }, undefined, 2),
    };
  },
  erase: (accountId) => profiles.erase(accountId),
});
