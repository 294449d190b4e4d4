import { hash, randomBytes } from 'node:crypto';

/** Digest under which random secrets (session ids, tokens) are stored: hex SHA-256. */
export const digest = (secret: string): string => hash('sha256', secret);

/** 256 random bits for cookies, tokens and keys. */
export const randomToken = (): string => randomBytes(32).toString('base64url');
