import type { Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';
import { COOKIE_AGE } from './preferences.ts';

const COOKIE = 'language';

/** The language that a visitor chose on this device, which may no longer be offered; undefined: as the browser asks. */
export const readLanguage = (header: string | undefined, secure: boolean): string | undefined =>
  cookieOf(header, cookieName(COOKIE, secure));

/** The cookie cannot be read by scripts and identifies no one. `undefined` clears the choice. */
export function writeLanguage(res: Response, language: string | undefined, secure: boolean): void {
  const name = cookieName(COOKIE, secure);
  if (language === undefined) return void res.clearCookie(name, { path: '/', secure });
  res.cookie(name, language, { path: '/', maxAge: COOKIE_AGE * 1000, httpOnly: true, sameSite: 'lax', secure });
}

/** Options for a select: each language under the name its own speakers use, such as "Deutsch". */
export const languageOptions = (ids: readonly string[]) =>
  ids.map((id) => ({ value: id, label: new Intl.DisplayNames([id], { type: 'language' }).of(id) ?? id }));
