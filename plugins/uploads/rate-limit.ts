import { isStaff, type Viewer } from 'parley-forum/plugins/access';
import { demand, type Bucket, type Limits } from 'parley-forum/plugins/limits';

/** What API and pages count together. */
export const UPLOADS: Bucket = { name: 'uploads', window: 600 };
/** Moderators may upload this many times as much. */
const STAFF = 5;

/** Takes one from the member's share, for pages: the API does it by itself. Throws 429 when there is none left. */
export async function spend(limits: Limits, viewer: Viewer, rate: number): Promise<void> {
  const allowance = await limits.consume(UPLOADS, `user:${viewer.id}`, isStaff(viewer) ? rate * STAFF : rate);
  demand(allowance, (seconds) => `You have uploaded many files; wait ${seconds} s before the next`);
}
