import { limitFor, memberKey, type Member } from 'parley-forum/plugins/access';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';

/** The rate limit bucket shared by API and pages. */
export const UPLOAD_BUCKET: Bucket = { name: 'uploads', window: 600 };

/**
 * Consumes one upload of the member's rate limit, for pages; the API surface does so itself. Throws 429 when it is used
 * up.
 */
export async function consumeUpload(limits: Limits, viewer: Member, rate: number): Promise<void> {
  const allowance = await limits.consume(UPLOAD_BUCKET, memberKey(viewer.id), limitFor(viewer, rate));
  assertAllowed(allowance, (seconds) => `You have uploaded many files; wait ${seconds} s before the next`);
}
