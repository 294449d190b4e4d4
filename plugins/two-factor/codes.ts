import { hash, randomBytes } from 'node:crypto';

/** The number of codes in a set. */
const CODE_COUNT = 10;
/** Each character carries five bits; i, l, o and u are left out because they are easily misread. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** 120 bits: too many to brute-force, so a plain hash is enough. */
const CODE_LENGTH = 24;
const BACKUP_CODE = /^[0-9a-hjkmnp-tv-z]{24}$/;
const TIME_CODE = /^\d{6}$/;

const newCode = (): string =>
  [...randomBytes(CODE_LENGTH)]
    .map((byte) => ALPHABET[byte % ALPHABET.length])
    .join('')
    .replace(/(.{4})(?=.)/g, '$1-');

/** New codes, in groups of four characters. */
export const newBackupCodes = (): readonly string[] => Array.from({ length: CODE_COUNT }, newCode);

/** The hash under which a backup code is stored. */
export const digestOf = (code: string): string => hash('sha256', normalized(code));

/** Removes the spaces, dashes and capitals that people add when they copy or type a code. */
const normalized = (code: string): string => code.replace(/[\s-]/g, '').toLowerCase();

/** Which kind of code the input can be; undefined if neither, so that no query is needed. */
export function parseCode(input: string): { readonly kind: 'time' | 'backup'; readonly code: string } | undefined {
  const code = normalized(input);
  if (TIME_CODE.test(code)) return { kind: 'time', code };
  return BACKUP_CODE.test(code) ? { kind: 'backup', code } : undefined;
}
