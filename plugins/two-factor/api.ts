import { defineAction, defineToken } from 'parley-forum';

/**
 * `code-used`: a backup code was. `reset`: somebody else switched it off, an administrator or an operator at the shell.
 */
export type TwoFactorEvent = 'enabled' | 'disabled' | 'reset' | 'codes-renewed' | 'code-used';

/** `actor`: an account or `commandLine`. */
export interface TwoFactorChange {
  readonly account: string;
  readonly event: TwoFactorEvent;
  readonly actor?: string;
  readonly address?: string;
}
/** `two-factor.changed`: raised in the transaction of the change. */
export const twoFactorChanged = defineAction<TwoFactorChange>('two-factor.changed');
/** `two-factor.refused`: a code was wrong or used before, after the right password. */
export const twoFactorRefused = defineAction<{ readonly account: string; readonly address: string }>(
  'two-factor.refused',
);

/** Whether members have a second factor. */
export interface TwoFactor {
  /** Whether a login of this account needs a code besides the password. */
  enabled(accountId: string): Promise<boolean>;
  /** Switches it off for a member who has lost their device and their codes. False where it was not on. */
  reset(accountId: string, actor?: string): Promise<boolean>;
}
export const TwoFactor = defineToken<TwoFactor>('TwoFactor');
