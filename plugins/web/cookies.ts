import type { Response } from '#core';

/** One cookie of a raw Cookie header, without decoding. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  if (!header?.includes(`${name}=`)) return undefined;
  const found = header.split(';').find((pair) => pair.trimStart().startsWith(`${name}=`));
  return found?.slice(found.indexOf('=') + 1).trim();
}

const NOTICE = 'notice';
/** Characters; a notice is one sentence. */
const LONGEST = 300;
/** Milliseconds within which the next page must come. */
const WAITS = 60_000;

/** Leaves a sentence for the next page this browser opens. */
export function leaveNotice(res: Response, text: string, secure: boolean): void {
  const value = Buffer.from(text.slice(0, LONGEST)).toString('base64url');
  res.cookie(NOTICE, value, { path: '/', maxAge: WAITS, httpOnly: true, sameSite: 'lax', secure });
}

/** Such a page is not like everyone's. */
export const hasNotice = (header: string | undefined): boolean => cookieOf(header, NOTICE) !== undefined;

/** The waiting sentence, shown once. It is text like any other: escaped where it is printed. */
export function takeNotice(header: string | undefined, res: Response): string | undefined {
  const value = cookieOf(header, NOTICE);
  if (!value) return undefined;
  res.clearCookie(NOTICE, { path: '/' });
  return Buffer.from(value, 'base64url').toString().slice(0, LONGEST);
}
