import { defineAction, defineExtensionPoint, definePermission, defineQuery, defineToken, Type, type Request, type RequestHandler, type Response, type TSchema } from '#core';
import type { Viewer } from '#plugins/access';
import type { SafeHtml } from '#plugins/web';

/** `disabled` accounts cannot log in, and their sessions and tokens count for nothing. */
export type AccountStatus = 'active' | 'disabled';

/** A member as the database has them. Nothing here may reach a client unasked: /api/users says what may. */
export interface Account {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly groupId: string;
  readonly bio: string;
  readonly avatarUrl: string | null;
  readonly status: AccountStatus;
  /** Changes with group, password and status; a session that saw another value is over. */
  readonly permissionsVersion: number;
  readonly joinedAt: Date;
}

/** How a person appears beside what they wrote. */
export const Author = Type.Object({ id: Type.String(), username: Type.String(), avatar_url: Type.Union([Type.String(), Type.Null()]) });
export interface Author {
  readonly id: string;
  readonly username: string;
  readonly avatar_url: string | null;
}

/** `user.registered`: somebody signed up. Raised at sign-up, also while their e-mail is not verified yet. */
export const userRegistered = defineAction<{ readonly user: { readonly id: string; readonly username: string; readonly joined_at: string } }>('user.registered', {
  public: Type.Object({ user: Type.Object({ id: Type.String(), username: Type.String(), joined_at: Type.String() }) }),
});
/** Group, name, status, password or profile of an account changed, or it was removed. */
export const userChanged = defineAction<{ readonly id: string }>('user.changed');
/** Does this domain take mail? Asked at registration; without an answer the DNS is. */
export const mailDomainAccepted = defineQuery<{ readonly domain: string }, boolean>('user.mail-domain-accepted');

/** Cache tag of whatever shows this account: purged when it changes. */
export const accountTag = (id: string): string => `account:${id}`;

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
  /** Checks policy and uniqueness (400 naming the field) and raises `user.registered`. Reserved names and the MX look-up are the form's. */
  create(account: NewAccount): Promise<Account>;
  /** Held in memory; `undefined` also for a malformed id. */
  find(id: string): Promise<Account | undefined>;
  /** As whom these accounts would come in now, for work done on their behalf in the background; those that are not active are missing. One statement. */
  viewers(ids: readonly string[]): Promise<ReadonlyMap<string, Viewer>>;
  /** Where mail reaches these accounts; those that are not active are missing. One statement. Never to be shown or logged. */
  addresses(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The ids of active accounts by username in lower case. One statement. */
  named(usernames: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** By username or e-mail, regardless of case. Always asks the database. */
  findByName(identifier: string): Promise<Account | undefined>;
  /** The authors of a page of posts by id, held in memory: at most one statement. Unknown ids are missing from the map. */
  authors(ids: readonly string[]): Promise<ReadonlyMap<string, Author>>;
  /** Whose name contains `text`, in any case: those that begin with it first, then by name. */
  searchNames(find: { readonly text: string; readonly limit: number; readonly offset: number }): Promise<readonly Account[]>;
  /** For administrators: whose name or address contains `text`, by name; `total` counts all of them. */
  search(find: { readonly text: string; readonly groupId?: string; readonly limit: number; readonly offset: number }): Promise<{ readonly accounts: readonly Account[]; readonly total: number }>;
  /** Ends every session of the account at its next request. 404 for an unknown account, 400 for an unknown group. */
  setGroup(id: string, groupId: string): Promise<void>;
  /** Ends every session of the account. 400 when the policy refuses the password. */
  setPassword(id: string, password: string): Promise<void>;
  /** Thousands at once in a few statements: no event, no mail, no policy. Resolves to their ids, in order. 400 for a name or address that is taken. */
  importAccounts(accounts: readonly ImportedAccount[]): Promise<readonly string[]>;
  /** Ends every session of the account. */
  setStatus(id: string, status: AccountStatus): Promise<void>;
}
export const Accounts = defineToken<Accounts>('Accounts');

/** Login sessions and bearer tokens. */
export interface Sessions {
  /** To run before `identify`; costs nothing for a request without a session cookie. */
  readonly middleware: RequestHandler;
  /**
   * The session's member, or the guest. Ends a session that broke its rules (fingerprint, address, version, age) and clears its cookie.
   * `idle`: the page asks by itself, so the session does not last longer for it and the member was not seen.
   */
  identify(req: Request, res: Response, options?: { readonly idle?: boolean }): Promise<Viewer>;
  /** True when `identify` found a session and ended it: reads go on as a guest, everything else is 401. */
  ended(req: Request): boolean;
  /** For answers that go on after `identify`: as whom the same request would come in now; undefined once its session is over. Changes nothing. */
  again(req: Request): Promise<Viewer | undefined>;
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
  /** For answers from stored bytes: the guest's token for a raw Cookie header, and the Set-Cookie value to send where one is needed. `overHttps`: the request did; the site's origin may say so too. */
  guestToken(cookieHeader: string | undefined, overHttps?: boolean): { readonly token: string; readonly setCookie: string | undefined };
}
export const Csrf = defineToken<Csrf>('Csrf');

/** A field that another plugin adds to the user record. `loadMany` gets all ids of an answer at once and answers for each, in order. */
export interface UserField {
  readonly name: string;
  readonly result: TSchema;
  loadMany(ids: readonly string[], viewer: Viewer): Promise<readonly unknown[]>;
}
export const userFields = defineExtensionPoint<UserField>('accounts.user-fields');

/** A tab of the profile page, at /u/{username}/{id}; the first one also at /u/{username}. */
export interface ProfileTab {
  readonly id: string;
  readonly label: string;
  /** The number beside the label. */
  count?(profile: Author, viewer: Viewer): Promise<number>;
  /** `query` is the page's own, for paging. */
  render(profile: Author, viewer: Viewer, query: Readonly<Record<string, string | undefined>>): Promise<SafeHtml>;
}
export const profileTabs = defineExtensionPoint<ProfileTab>('accounts.profile-tabs');

export const seeAddresses = definePermission('accounts.see-addresses', { label: 'see members’ e-mail and IP addresses', default: 'admin' });
export const manageAccounts = definePermission('accounts.manage', { label: 'manage members', default: 'admin' });
