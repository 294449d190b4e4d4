import type { Response } from 'parley-forum';
import { cookieName, cookieOf } from 'parley-forum/plugins/protection';

const NOTICE = 'notice';
/** Characters; a notice is one sentence. */
const MAX_LENGTH = 300;
/** After a redirect the next page follows at once. */
const REDIRECT_MAX_AGE = 60_000;

/** A sentence, and the path of the form that undoes what it reports, if there is one. */
export interface Notice {
  readonly text: string;
  /** `info` where it tells of nothing that the visitor has done, but what happened to them or is to be done; `success` without it. */
  readonly kind?: 'success' | 'info' | undefined;
  readonly undo?: string | undefined;
}

/** Sets a flash notice: shown on the next page this browser opens, within `maxAge` milliseconds. */
export function setNotice(
  res: Response,
  { text, kind, undo = '' }: Notice,
  { secure, maxAge = REDIRECT_MAX_AGE }: { readonly secure: boolean; readonly maxAge?: number },
): void {
  const line = text.replaceAll('\n', ' ').slice(0, MAX_LENGTH);
  const value = Buffer.from([line, undo, kind].join('\n').trimEnd()).toString('base64url');
  res.cookie(cookieName(NOTICE, secure), value, { path: '/', maxAge, httpOnly: true, sameSite: 'lax', secure });
}

/** A page with a notice must not come from the cache. */
export const hasNotice = (header: string | undefined, secure: boolean): boolean =>
  cookieOf(header, cookieName(NOTICE, secure)) !== undefined;

/** Returns the pending notice and clears it. Its sentence is untrusted text: it is escaped where it is printed. */
export function takeNotice(header: string | undefined, res: Response, secure: boolean): Notice | undefined {
  const name = cookieName(NOTICE, secure);
  const value = cookieOf(header, name);
  if (!value) return undefined;
  res.clearCookie(name, { path: '/', secure });
  return noticeOf(value);
}

/** Removes the notice that this response is about to set, to show it right away instead. */
export function takePendingNotice(res: Response, secure: boolean): Notice | undefined {
  const name = cookieName(NOTICE, secure);
  const lines = [res.getHeader('Set-Cookie') ?? []].flat().map(String);
  const left = lines.find((line) => line.startsWith(`${name}=`));
  if (left === undefined) return undefined;
  res.removeHeader('Set-Cookie');
  for (const line of lines) if (line !== left) res.append('Set-Cookie', line);
  return noticeOf(cookieOf(left, name) ?? '');
}

/** A path on this site: anything else in the cookie is ignored. */
const PATH = /^\/(?![/\\])[\x21-\x7e]*$/;

function noticeOf(value: string): Notice {
  const [text = '', undo = '', kind] = Buffer.from(value, 'base64url').toString().split('\n');
  return {
    text: text.slice(0, MAX_LENGTH),
    kind: kind === 'info' ? 'info' : 'success',
    undo: PATH.test(undo) ? undo : undefined,
  };
}
