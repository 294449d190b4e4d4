import type { Environment, Logger } from 'parley-forum';
import type { PasswordSettings } from './passwords.ts';

/** The lowest bcrypt cost at which cracking a stolen table of hashes still takes long. */
export const MIN_COST = 10;

/** The effective password settings: a cost stored by an earlier version below the minimum is raised to it. */
export function passwordSettings(
  settings: PasswordSettings,
  { production, quickHashes = 0 }: Environment,
  log: Logger,
): PasswordSettings {
  const stored = settings['security.bcrypt_cost'];
  if (stored < MIN_COST)
    log.warn(
      { setting: 'security.bcrypt_cost', stored, used: MIN_COST },
      'the stored cost of password hashes is too low, so the minimum is used',
    );
  return {
    get 'security.password_min_length'() {
      return settings['security.password_min_length'];
    },
    get 'security.bcrypt_cost'() {
      return Math.max(MIN_COST, settings['security.bcrypt_cost']) - (production ? 0 : quickHashes);
    },
  };
}
