import { demand, type Bucket, type Limits } from 'parley-forum/plugins/limits';

/** Seconds. */
const HOUR = 3_600;
export const PER_ADDRESS: Bucket = { name: 'password_reset', window: HOUR };
export const PER_ACCOUNT: Bucket = { name: 'password_reset_account', window: HOUR };
export const CONFIRMATIONS: Bucket = { name: 'email_verification', window: HOUR };

/** Throws 429 that says when to come back. */
export async function take(limits: Limits, bucket: Bucket, key: string, limit: number): Promise<void> {
  const says = (seconds: number): string =>
    `You have asked for several mails; wait ${Math.ceil(seconds / 60)} min before the next`;
  demand(await limits.consume(bucket, key, limit), says);
}
