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
/** The next page of a redirect comes at once. */
const WAITS = 60_000;

/** Leaves a sentence for the next page this browser opens. `waits`: milliseconds within which that must be. */
export function leaveNotice(res: Response, text: string, { secure, waits = WAITS }: { readonly secure: boolean; readonly waits?: number }): void {
  const value = Buffer.from(text.slice(0, LONGEST)).toString('base64url');
  res.cookie(NOTICE, value, { path: '/', maxAge: waits, httpOnly: true, sameSite: 'lax', secure });
}

/** Such a page is not like everyone's. */
export const hasNotice = (header: string | undefined): boolean => cookieOf(header, NOTICE) !== undefined;

/** The waiting sentence, shown once. It is text like any other: escaped where it is printed. */
export function takeNotice(header: string | undefined, res: Response): string | undefined {
  const value = cookieOf(header, NOTICE);
  if (!value) return undefined;
  res.clearCookie(NOTICE, { path: '/' });
  return textOf(value);
}

/** What this very answer was leaving for the next page, which shows it now instead. */
export function withdrawNotice(res: Response): string | undefined {
  const lines = [res.getHeader('Set-Cookie') ?? []].flat().map(String);
  const left = lines.find((line) => line.startsWith(`${NOTICE}=`));
  if (left === undefined) return undefined;
  res.removeHeader('Set-Cookie');
  for (const line of lines) if (line !== left) res.append('Set-Cookie', line);
  return textOf(cookieOf(left, NOTICE) ?? '');
}

const textOf = (value: string): string => Buffer.from(value, 'base64url').toString().slice(0, LONGEST);
