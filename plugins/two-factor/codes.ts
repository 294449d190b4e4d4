import { hash, randomBytes } from 'node:crypto';

/** Codes that a member gets at a time. */
const CODE_COUNT = 10;
/** Each sign is five bits; without i, l, o and u, which are easily misread. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** 120 bits: too many to try, so a plain hash protects them. */
const CODE_LENGTH = 24;
const BACKUP_CODE = /^[0-9a-hjkmnp-tv-z]{24}$/;
const TIME_CODE = /^\d{6}$/;

const newCode = (): string =>
  [...randomBytes(CODE_LENGTH)]
    .map((byte) => ALPHABET[byte % ALPHABET.length])
    .join('')
    .replace(/(.{4})(?=.)/g, '$1-');

/** Fresh ones in groups of four signs. */
export const newBackupCodes = (): readonly string[] => Array.from({ length: CODE_COUNT }, newCode);

/** How a backup code is stored. */
export const digestOf = (code: string): string => hash('sha256', normalized(code));

/** What people add when they copy or type a code: spaces, dashes, capitals. */
const normalized = (code: string): string => code.replace(/[\s-]/g, '').toLowerCase();

/** What a typed code can be; `undefined`: neither, so that nothing needs to be looked up. */
export function parseCode(input: string): { readonly kind: 'time' | 'backup'; readonly code: string } | undefined {
  const code = normalized(input);
  if (TIME_CODE.test(code)) return { kind: 'time', code };
  return BACKUP_CODE.test(code) ? { kind: 'backup', code } : undefined;
}
