import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';

/** Seconds. */
const HOUR = 3_600;
export const RESETS_PER_IP: Bucket = { name: 'password_reset', window: HOUR };
export const RESETS_PER_ACCOUNT: Bucket = { name: 'password_reset_account', window: HOUR };
export const CONFIRMATIONS: Bucket = { name: 'email_verification', window: HOUR };

/** Throws 429 with the time to wait when the limit is exceeded. */
export async function consume(limits: Limits, bucket: Bucket, key: string, limit: number): Promise<void> {
  const message = (seconds: number): string =>
    `You have requested several e-mails; wait ${Math.ceil(seconds / 60)} min before the next`;
  assertAllowed(await limits.consume(bucket, key, limit), message);
}
