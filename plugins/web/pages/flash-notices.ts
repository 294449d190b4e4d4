import type { Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';

const NOTICE = 'notice';
/** Characters; a notice is one sentence. */
const MAX_LENGTH = 300;
/** The next page of a redirect comes at once. */
const REDIRECT_MAX_AGE = 60_000;

/** Sets a flash notice: a sentence shown on the next page this browser opens, within `maxAge` milliseconds. */
export function setNotice(
  res: Response,
  text: string,
  { secure, maxAge = REDIRECT_MAX_AGE }: { readonly secure: boolean; readonly maxAge?: number },
): void {
  const value = Buffer.from(text.slice(0, MAX_LENGTH)).toString('base64url');
  res.cookie(cookieName(NOTICE, secure), value, { path: '/', maxAge, httpOnly: true, sameSite: 'lax', secure });
}

/** A page with a notice must not come from the cache. */
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

/** Takes back the notice that this same response was setting, to show it now instead. */
export function takePendingNotice(res: Response, secure: boolean): string | undefined {
  const name = cookieName(NOTICE, secure);
  const lines = [res.getHeader('Set-Cookie') ?? []].flat().map(String);
  const left = lines.find((line) => line.startsWith(`${name}=`));
  if (left === undefined) return undefined;
  res.removeHeader('Set-Cookie');
  for (const line of lines) if (line !== left) res.append('Set-Cookie', line);
  return textOf(cookieOf(left, name) ?? '');
}

const textOf = (value: string): string => Buffer.from(value, 'base64url').toString().slice(0, MAX_LENGTH);
