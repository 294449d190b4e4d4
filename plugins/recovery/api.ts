import { defineAction } from 'parley-forum';

/** What happened to `account`, asked for from this network address. */
interface AboutAccount {
  readonly account: string;
  readonly address: string;
}

/** `recovery.asked`: a link to set a new password is on its way to a member. */
export const resetAsked = defineAction<AboutAccount>('recovery.asked');
/** `recovery.password-reset`: a member has set a new password by such a link. All their sessions have ended. */
export const passwordReset = defineAction<AboutAccount>('recovery.password-reset');
/**
 * `recovery.email-confirmed`: a member has shown that an address is theirs: a new one, who can log in now, or one who
 * wanted another.
 */
export const emailConfirmed = defineAction<AboutAccount>('recovery.email-confirmed');
