import type { Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';

const NOTICE = 'notice';
/** Characters; a notice is one sentence. */
const LONGEST = 300;
/** The next page of a redirect comes at once. */
const WAITS = 60_000;

/** Leaves a sentence for the next page this browser opens. `waits`: milliseconds within which that must be. */
export function leaveNotice(
  res: Response,
  text: string,
  { secure, waits = WAITS }: { readonly secure: boolean; readonly waits?: number },
): void {
  const value = Buffer.from(text.slice(0, LONGEST)).toString('base64url');
  res.cookie(cookieName(NOTICE, secure), value, { path: '/', maxAge: waits, httpOnly: true, sameSite: 'lax', secure });
}

/** Such a page is not like everyone's. */
export const hasNotice = (header: string | undefined, secure: boolean): boolean =>
  cookieOf(header, cookieName(NOTICE, secure)) !== undefined;

/** The waiting sentence, shown once. It is text like any other: escaped where it is printed. */
export function takeNotice(header: string | undefined, res: Response, secure: boolean): string | undefined {
  const name = cookieName(NOTICE, secure);
  const value = cookieOf(header, name);
  if (!value) return undefined;
  res.clearCookie(name, { path: '/', secure });
  return textOf(value);
}

/** What this very answer was leaving for the next page, which shows it now instead. */
export function withdrawNotice(res: Response, secure: boolean): string | undefined {
  const name = cookieName(NOTICE, secure);
  const lines = [res.getHeader('Set-Cookie') ?? []].flat().map(String);
  const left = lines.find((line) => line.startsWith(`${name}=`));
  if (left === undefined) return undefined;
  res.removeHeader('Set-Cookie');
  for (const line of lines) if (line !== left) res.append('Set-Cookie', line);
  return textOf(cookieOf(left, name) ?? '');
}

const textOf = (value: string): string => Buffer.from(value, 'base64url').toString().slice(0, LONGEST);
