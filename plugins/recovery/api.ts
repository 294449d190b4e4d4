import { defineAction } from 'parley-forum';

/** What happened to `account`, asked for from this IP address. */
interface AboutAccount {
  readonly account: string;
  readonly address: string;
}

/** `recovery.asked`: a link to set a new password is on its way to a member. */
export const resetRequested = defineAction<AboutAccount>('recovery.asked');
/** `recovery.password-reset`: a member has set a new password by such a link. All their sessions have ended. */
export const passwordReset = defineAction<AboutAccount>('recovery.password-reset');
/**
 * `recovery.email-confirmed`: a member has confirmed an e-mail address: a new member, who can log in now, or one who
 * changes it.
 */
export const emailConfirmed = defineAction<AboutAccount>('recovery.email-confirmed');
