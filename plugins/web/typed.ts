import type { Http, Request, Response, Secrets } from '#core';
import type { Viewer } from '#plugins/access';
import { cookieOf } from './cookies.ts';

/** What was typed into a form before its sender had to give the password again. */
export interface Typed {
  /** Path of the page that the form stands on, without a query. */
  readonly page: string;
  /** Path that the form is sent to. */
  readonly action: string;
  readonly body: Readonly<Record<string, string>>;
}

const COOKIE = 'typed';
/** Milliseconds within which the member must be back. */
const WAITS = 900_000;
/** Characters: browsers drop a longer cookie. */
const LONGEST = 3_000;

/** Keeps what was typed in the sender's own browser, sealed: for one account, one page and one time. */
export class TypedForms {
  readonly #secrets: Secrets;
  readonly #http: Http;

  constructor({ secrets, http }: { readonly secrets: Secrets; readonly http: Http }) {
    this.#secrets = secrets;
    this.#http = http;
  }

  /** Only the fields that the form's route names are kept: others may be secrets. What is too long is not. */
  leave(req: Request, res: Response, { id }: Viewer, { body, fields, ...where }: Omit<Typed, 'body'> & { readonly body: unknown; readonly fields: readonly string[] }): void {
    const given = Object.entries((body ?? {}) as Readonly<Record<string, unknown>>);
    const kept = Object.fromEntries(given.filter(([name, value]) => fields.includes(name) && typeof value === 'string'));
    const value = this.#secrets.seal(JSON.stringify({ ...where, body: kept, account: id }));
    if (value.length > LONGEST || Object.keys(kept).length === 0) return;
    res.cookie(COOKIE, value, { path: '/', maxAge: WAITS, httpOnly: true, sameSite: 'lax', secure: this.#http.secure(req) });
  }

  /** What was typed on the page that is asked for, once; of another page's it says nothing, and it stays. */
  take(req: Request, res: Response, { id }: Viewer): Typed | undefined {
    const value = cookieOf(req.headers.cookie, COOKIE);
    if (value === undefined || value === '') return undefined;
    const typed = this.#read(value);
    if (typed && typed.account === id && typed.page !== req.path) return undefined;
    res.clearCookie(COOKIE, { path: '/' });
    return typed?.account === id ? typed : undefined;
  }

  #read(value: string): (Typed & { readonly account: unknown }) | undefined {
    try {
      return JSON.parse(this.#secrets.open(value)) as Typed & { readonly account: unknown };
    } catch {
      // Not ours, or sealed with a key that was replaced meanwhile.
      return undefined;
    }
  }
}
