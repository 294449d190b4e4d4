import { defineAction } from 'parley-forum';

/** The account concerned, and the IP address of the request. */
interface AboutAccount {
  readonly account: string;
  readonly address: string;
}

/** `recovery.asked`: a member is being sent a link to set a new password. */
export const resetRequested = defineAction<AboutAccount>('recovery.asked');
/** `recovery.password-reset`: a member set a new password with such a link. All their sessions have ended. */
export const passwordReset = defineAction<AboutAccount>('recovery.password-reset');
/**
 * `recovery.email-confirmed`: a member confirmed an e-mail address, either as a new member, who can log in now, or when
 * changing it.
 */
export const emailConfirmed = defineAction<AboutAccount>('recovery.email-confirmed');
