import { createHash, randomBytes, randomFillSync } from 'node:crypto';

export { createId as newId, isId } from '#plugins/api';

/** How secrets that are random themselves (session ids, tokens) are kept: hex SHA-256. */
export const digest = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** 256 random bits for cookies, tokens and keys. */
export const randomToken = (): string => randomBytes(32).toString('base64url');

const POOL = Buffer.alloc(32 * 256);
let used = POOL.length;

/** As `randomToken`, for what is made with most answers: drawn many at a time, because each draw costs more than its bytes. */
export function pooledToken(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  return POOL.toString('base64url', used, (used += 32));
}
