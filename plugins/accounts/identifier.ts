import { createHash, randomBytes, randomFillSync } from 'node:crypto';

/** UUIDv7: ordered by `time` (epoch milliseconds), random otherwise. */
export function newId(time: number): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(time, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** False for what PostgreSQL would refuse to read as a UUID: such an id names nothing. */
export const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);

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
