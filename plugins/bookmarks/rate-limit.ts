import { limitFor, memberKey, type Member } from 'parley-forum/plugins/access';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';

/** The bucket shared by the API and the pages. */
const BUCKET: Bucket = { name: 'bookmarks', window: 600 };
export const API_BUCKET = { ...BUCKET, limit: 'bookmarks.rate_limit' };

/**
 * Consumes one change of the member's rate limit, for pages; the API surface does this by itself. Throws 429 when the
 * limit is exceeded.
 */
export async function consumeChange(limits: Limits, viewer: Member, rate: number): Promise<void> {
  const allowance = await limits.consume(BUCKET, memberKey(viewer.id), limitFor(viewer, rate));
  assertAllowed(
    allowance,
    (seconds) => `You have changed too many bookmarks; wait ${seconds} s before the next change`,
  );
}
