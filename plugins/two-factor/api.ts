import { defineAction, defineToken } from 'parley-forum';

/**
 * `code-used`: a backup code was used. `reset`: an administrator, or an operator on the command line, switched it off.
 */
export type TwoFactorEvent = 'enabled' | 'disabled' | 'reset' | 'codes-renewed' | 'code-used';

/** `actor` is the id of an account, or `commandLine`. */
export interface TwoFactorChange {
  readonly account: string;
  readonly event: TwoFactorEvent;
  readonly actor?: string;
  readonly address?: string;
}
/** `two-factor.changed`: raised in the transaction of the change. */
export const twoFactorChanged = defineAction<TwoFactorChange>('two-factor.changed');
/** `two-factor.refused`: after the right password, a code was wrong or had been used before. */
export const twoFactorRefused = defineAction<{ readonly account: string; readonly address: string }>(
  'two-factor.refused',
);

/** Tells whether members have a second factor, and resets it. */
export interface TwoFactor {
  /** Whether logging in to this account requires a code in addition to the password. */
  enabled(accountId: string): Promise<boolean>;
  /**
   * Switches the second factor off for a member who has lost their device and backup codes. Resolves to false if it was
   * not on.
   */
  reset(accountId: string, actor?: string): Promise<boolean>;
}
export const TwoFactor = defineToken<TwoFactor>('TwoFactor');
