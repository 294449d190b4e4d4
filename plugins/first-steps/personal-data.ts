import type { PersonalData } from 'parley-forum/ports/personal-data';
import type { HiddenSteps } from './hidden-steps.ts';

/** Exports when a member dismissed the first steps. */
export const firstStepsPersonalData = (hidden: HiddenSteps): PersonalData => ({
  name: 'first-steps',
  async *entries(accountId) {
    const at = await hidden.at(accountId);
    if (at) yield { path: 'first-steps.json', content: JSON.stringify({ hidden_at: at }) };
  },
  erase: (accountId) => hidden.remove(accountId),
});
