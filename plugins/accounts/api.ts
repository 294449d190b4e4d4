import { defineAction, definePermission, defineToken, Type, type Request, type RequestHandler, type Response } from '#core';
import type { Viewer } from '#plugins/access';

/** A member as the database has them. Nothing here may reach a client unasked; `publicUser` says what may. */
export interface Account {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly groupId: string;
  readonly bio: string;
  readonly avatarUrl: string | null;
  /** Changes with group and password; a session that saw another value is over. */
  readonly permissionsVersion: number;
  readonly joinedAt: Date;
  readonly lastSeenAt: Date | null;
}

/** How a person appears beside what they wrote. */
export const Author = Type.Object({ id: Type.String(), username: Type.String(), avatar_url: Type.Union([Type.String(), Type.Null()]) });

/** `user.registered`: somebody signed up. Raised at sign-up, also while their e-mail is not verified yet. */
export const userRegistered = defineAction<{ readonly user: { readonly id: string; readonly username: string; readonly joined_at: string } }>('user.registered', {
  public: Type.Object({ user: Type.Object({ id: Type.String(), username: Type.String(), joined_at: Type.String() }) }),
});
/** Group, name, status or profile of an account changed, or it was removed. */
export const userChanged = defineAction<{ readonly id: string }>('user.changed');

export interface NewAccount {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  readonly groupId?: string;
  readonly bio?: string;
  readonly joinedAt?: Date;
  /** Address at sign-up, kept once; 0.0.0.0 is not stored. */
  readonly ip?: string;
}

/** Somebody who comes from elsewhere. Nobody can log in as them until a password is set. */
export interface ImportedAccount {
  readonly username: string;
  readonly email: string;
  /** Default: the group of members. */
  readonly groupId?: string;
  readonly bio?: string;
  readonly joinedAt?: Date;
}

export interface Accounts {
  /** Checks policy and uniqueness (400 naming the field) and raises `user.registered`. No MX look-up: that is the form's. */
  create(account: NewAccount): Promise<Account>;
  find(id: string): Promise<Account | undefined>;
  /** By username or e-mail, regardless of case. */
  findByName(identifier: string): Promise<Account | undefined>;
  setGroup(id: string, groupId: string): Promise<void>;
  /** Ends every session of the account. 400 when the policy refuses the password. */
  setPassword(id: string, password: string): Promise<void>;
  /** Thousands at once in a few statements: no event, no mail, no policy. Resolves to their ids, in order. 400 for a name or address that is taken. */
  importAccounts(accounts: readonly ImportedAccount[]): Promise<readonly string[]>;
}
export const Accounts = defineToken<Accounts>('Accounts');

/** Login sessions and bearer tokens. */
export interface Sessions {
  /** To run before `identify`; costs nothing for a request without a session cookie. */
  readonly middleware: RequestHandler;
  /** The session's member, or the guest. Ends a session that broke its rules (fingerprint, address, version, age) and clears its cookie. */
  identify(req: Request, res: Response): Promise<Viewer>;
  /** True when `identify` found a session and ended it: reads go on as a guest, everything else is 401. */
  ended(req: Request): boolean;
  /** The token's owner; `undefined`: 401. */
  bearer(token: string): Promise<Viewer | undefined>;
  /** True when the request carries a cookie that could be a session's: it must not be served as a guest's without asking. */
  hasCookie(header: string | undefined): boolean;
}
export const Sessions = defineToken<Sessions>('Sessions');

/** Forgery protection for members (bound to the session) and guests (bound to a signed cookie, no session). */
export interface Csrf {
  /** The token for this visitor's forms and meta tag; sets the guest cookie where there is none. */
  token(req: Request, res: Response): string;
  /** Checks the header X-CSRF-Token, or `given` (a form's `_csrf`), against the visitor, and the Origin of the request. */
  valid(req: Request, given?: string): boolean;
  /** For answers from stored bytes: the guest's token for a raw Cookie header, and the Set-Cookie value to send where one is needed. */
  guestToken(cookieHeader: string | undefined): { readonly token: string; readonly setCookie: string | undefined };
}
export const Csrf = defineToken<Csrf>('Csrf');

export const seeAddresses = definePermission('accounts.see-addresses', { label: 'see members’ e-mail and IP addresses', default: 'admin' });
export const manageAccounts = definePermission('accounts.manage', { label: 'manage members', default: 'admin' });
