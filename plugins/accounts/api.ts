import {
  defineAction,
  defineExtensionPoint,
  definePermission,
  defineQuery,
  defineToken,
  HttpError,
  Type,
  type Permission,
  type RawBuilder,
  type Request,
  type RequestHandler,
  type Response,
  type Static,
  type TSchema,
} from 'parley-forum';
import type { Access, Requirement, Viewer } from 'parley-forum/plugins/access';
import { nullable, Time, type Page } from 'parley-forum/plugins/api';
import { defineSlot, type SafeHtml } from 'parley-forum/plugins/web';

/** Accounts that are `disabled` cannot log in, and their sessions and tokens are not accepted. */
export type AccountStatus = 'active' | 'disabled';

/** A member as stored. The schema of /api/users determines what may be sent to clients. */
export interface Account {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly groupId: string;
  /** A name chosen by the member, shown instead of the username. */
  readonly displayName: string | null;
  readonly bio: string;
  readonly avatarUrl: string | null;
  /** Language of pages and mails; null to follow the browser on pages, and the site's language in mails. */
  readonly language: string | null;
  /** Time zone in which times are shown; null for the site's. */
  readonly timezone: string | null;
  readonly status: AccountStatus;
  /** Changes with group, password and status; sessions with another value are no longer valid. */
  readonly permissionsVersion: number;
  readonly joinedAt: Date;
}

/**
 * A person as shown next to what they wrote: by `display_name` if they chose one. URLs and mentions use the username,
 * which is unique.
 */
export const Author = Type.Object({
  id: Type.String(),
  username: Type.String(),
  display_name: Type.Union([Type.String(), Type.Null()]),
  avatar_url: Type.Union([Type.String(), Type.Null()]),
});
export interface Author {
  readonly id: string;
  readonly username: string;
  readonly display_name: string | null;
  readonly avatar_url: string | null;
}

/**
 * Control characters, line breaks, characters that change the text direction or are invisible, unassigned code points,
 * and long runs of combining marks. Emoji variation selectors are allowed.
 */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}[\p{Default_Ignorable_Code_Point}--[\u{FE0E}\u{FE0F}]]]|\p{M}{5}/v;
/**
 * Whether a name or another short text by a member is a single line of visible characters that does not affect the text
 * around it.
 */
export const isPlainLine = (text: string): boolean => !UNSEEN.test(text);

/** A member's name for use in sentences: the display name, if there is one, followed by the username. */
export const nameOf = ({ username, display_name: name }: Pick<Author, 'username' | 'display_name'>): string =>
  name === null ? username : `${name} (@${username})`;

/** A user as the API returns them to a viewer, before the fields of other plugins are added. */
export const UserRecord = Type.Object({
  id: Type.String(),
  username: Type.String(),
  display_name: nullable(Type.String({ description: 'Chosen by the user and not unique; show the username with it' })),
  avatar_url: nullable(Type.String()),
  group: Type.Object({ id: Type.String(), name: Type.String() }),
  bio: Type.String(),
  joined_at: Time,
  last_seen_at: nullable(Time),
  language: Type.Optional(
    nullable(Type.String({ description: 'Owner only; null: the language that the browser requests' })),
  ),
  timezone: Type.Optional(nullable(Type.String({ description: 'Owner only; null: the time zone of the site' }))),
  email: Type.Optional(Type.String({ description: 'Only for the owner and callers who may see addresses' })),
  registration_ip: Type.Optional(nullable(Type.String())),
  last_ip: Type.Optional(nullable(Type.String())),
});
export type UserRecord = Static<typeof UserRecord>;

/** `last_seen` omits members who hide when they were last here. */
export const MEMBER_SORTS = ['newest', 'name', 'last_seen'] as const;
export interface MemberListRequest {
  readonly sort: (typeof MEMBER_SORTS)[number];
  /** Only members whose username or display name starts with this, ignoring case. */
  readonly name?: string | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * `user.registered`: a member signed up, although their e-mail address may not be confirmed yet. `by` is set if someone
 * else created the account.
 */
export const userRegistered = defineAction<{
  readonly user: { readonly id: string; readonly username: string; readonly joined_at: string };
  readonly by?: string;
}>('user.registered', {
  public: Type.Object({ user: Type.Object({ id: Type.String(), username: Type.String(), joined_at: Type.String() }) }),
});
/** The group, name, status, password or profile of an account changed, or the account was removed. */
export const userChanged = defineAction<{ readonly id: string }>('user.changed');

/**
 * A change of an account. `by` is the account that made it, or `commandLine`; absent if the forum did it automatically.
 */
export interface AccountChangePayload {
  /** The account that was changed. */
  readonly id: string;
  readonly by?: string | undefined;
}
/** The client's IP address. */
type RequestOrigin = Readonly<{ address: string }>;
/** A session of a member started, after the password and all further steps were accepted. */
export const loggedIn = defineAction<{ readonly id: string } & RequestOrigin>('account.logged-in');
/**
 * A password was rejected, at login or (`confirming`) when a member had to enter it again. `id` is absent if there is
 * no such account.
 */
export const loginRefused = defineAction<
  { readonly id?: string | undefined; readonly confirming: boolean } & RequestOrigin
>('account.login-refused');
/**
 * A member confirmed their identity again in a session, by password or another method, and by a second factor if they
 * use one.
 */
export const identityConfirmed = defineAction<{ readonly id: string } & RequestOrigin>('account.confirmed');
/** A member logged out. */
export const loggedOut = defineAction<{ readonly id: string } & RequestOrigin>('account.logged-out');
/**
 * A session was ended because of a violated rule: `fingerprint`, `address`, `idle`, `lifetime`, `permissions changed`,
 * `account disabled` and so on.
 */
export const sessionEnded = defineAction<{ readonly id: string; readonly cause: string } & RequestOrigin>(
  'account.session-ended',
);
/**
 * Sessions were revoked: one of the member's own, all of their own except the current one, or all. `session`: the
 * `BrowserSession.id` of the one that was revoked, or with `others` of the one that was kept.
 */
export const sessionsRevoked = defineAction<
  AccountChangePayload & { readonly which: 'one' | 'others' | 'all'; readonly session?: string | undefined }
>('account.sessions-revoked');
/**
 * The password of an account was changed by its owner, through a link in a mail, or on the command line. All sessions
 * end except `session`, the `BrowserSession.id` of the one in which its owner changed it.
 */
export const passwordChanged = defineAction<AccountChangePayload & { readonly session?: string | undefined }>(
  'account.password-changed',
);
/** The e-mail address of an account was changed. */
export const emailChanged = defineAction<AccountChangePayload>('account.email-changed');
/** A new API token was issued for an account. */
export const tokenIssued = defineAction<AccountChangePayload>('account.token-issued');
/** The API token of an account was revoked. */
export const tokenRevoked = defineAction<AccountChangePayload>('account.token-revoked');
/**
 * An account was moved to another group. `partOf` names the plugin whose action caused this, such as a ban; that plugin
 * notifies the member itself.
 */
export const groupChanged = defineAction<
  AccountChangePayload & {
    readonly address?: string | undefined;
    readonly from: string;
    readonly to: string;
    readonly partOf?: string | undefined;
  }
>('account.group-changed');
/** An account was disabled or enabled again. */
export const statusChanged = defineAction<
  AccountChangePayload & { readonly from: AccountStatus; readonly to: AccountStatus }
>('account.status-changed');
/** The IP addresses of these members were shown to `by`. */
export const ipAddressesViewed = defineAction<{ readonly ids: readonly string[]; readonly by: string }>(
  'account.addresses-viewed',
);

/** Whether a domain accepts mail. Asked at registration; if there is no answer, the DNS is queried. */
export const mailDomainAccepted = defineQuery<{ readonly domain: string }, boolean>('user.mail-domain-accepted');

/**
 * Whether the site has pages in a language. Asked before a member chooses it; if there is no answer, it is not offered.
 */
export const languageOffered = defineQuery<{ readonly language: string }, boolean>('user.language-offered');

/** Names of the time zones known to the runtime. */
export const timezones = (): readonly string[] => [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])];
/**
 * Resolves the name of a time zone, which may be an alias such as Asia/Kolkata, to the one in `timezones`; undefined if
 * there is none.
 */
export function timezoneNamed(name: string): string | undefined {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return timezones().find((zone) => zone === timeZone);
  } catch {
    return undefined;
  }
}

/** Cache tag of everything that shows this account; purged when it changes. */
export const accountTag = (id: string): string => `account:${id}`;
/** Cache tag of everything that shows accounts that are not known in advance. */
export const accountsTag = 'accounts';

export interface NewAccount {
  readonly username: string;
  readonly email: string;
  /** If omitted, the account has no password, and its owner logs in by another of the `loginMethods`. */
  readonly password?: string;
  readonly groupId?: string;
  readonly bio?: string;
  readonly joinedAt?: Date;
  /** Throws 400 for a language that the site does not offer. */
  readonly language?: string | undefined;
  /** IP address of the sign-up; 0.0.0.0 is not stored. */
  readonly ip?: string;
  /** The creator of the account, if not its owner: another account or `commandLine`. */
  readonly by?: string | undefined;
}

/** A member imported from another forum. No one can log in as them until a password is set. */
export interface ImportedAccount {
  readonly username: string;
  readonly email: string;
  /** Defaults to the members' group. */
  readonly groupId?: string;
  readonly displayName?: string;
  readonly bio?: string;
  readonly joinedAt?: Date;
}

/** The parts of a profile, other than username and picture, that others can see. */
export interface ProfileChanges {
  readonly displayName?: string | undefined;
  readonly bio?: string | undefined;
}

/** The language and time zone of a member. */
export type LocaleSettings = Pick<Account, 'language' | 'timezone'>;
/** Undefined properties are left as they are; null removes a value. */
export interface LocaleChanges {
  readonly language?: string | null | undefined;
  readonly timezone?: string | null | undefined;
}

/** The rules for new passwords, for forms that ask for one. */
export interface PasswordPolicy {
  /** Minimum length in characters. */
  readonly minimum: number;
  /** Regular expression for the `pattern` attribute. */
  readonly pattern: string;
  /**
   * The rules as a checklist to show next to the field. Patterns use the `v` flag. Labels are text keys, which get
   * `minimum` as a parameter.
   */
  readonly rules: readonly { readonly pattern: string; readonly label: string }[];
}

/** Finds, creates, changes and lists members. */
export interface Accounts {
  readonly passwordPolicy: PasswordPolicy;
  /**
   * Checks policy and uniqueness (400 naming the field) and raises `user.registered`. Reserved names and the mail
   * domain are only checked by the sign-up form.
   */
  create(account: NewAccount): Promise<Account>;
  /** Cached; resolves to `undefined` also for a malformed id. */
  find(id: string): Promise<Account | undefined>;
  /**
   * The viewers that these accounts would be now, for background work on their behalf; inactive accounts are missing.
   * One statement, plus the checks of the staff requirements for staff.
   */
  viewers(ids: readonly string[]): Promise<ReadonlyMap<string, Viewer>>;
  /** Those of the accounts that can log in: they are active, with a password or another of the `loginMethods`. */
  ableToLogIn(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Those of the accounts that have a password. One statement. */
  withPassword(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * The e-mail addresses of these accounts. Inactive accounts and those with an unconfirmed address are missing. One
   * statement, plus the check for confirmation. Never show or log these addresses.
   */
  emails(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Ids of active accounts by username in lower case. One statement. */
  idsByUsername(usernames: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * The available username closest to a name from elsewhere, with a number appended if it is taken, reserved, or among
   * `besides` (in lower case). Undefined if too little of the name can be used.
   */
  freeUsername(name: string, besides?: ReadonlySet<string>): Promise<string | undefined>;
  /** Finds an account by username or e-mail address, ignoring case. Always queries the database. */
  findByIdentifier(identifier: string): Promise<Account | undefined>;
  /** The authors of a page of posts by id, cached: at most one statement. Unknown ids are missing from the map. */
  authors(ids: readonly string[]): Promise<ReadonlyMap<string, Author>>;
  /** The record schema including the fields of other plugins, for the result schemas of routes. */
  readonly record: typeof UserRecord;
  /** Records in the order of `ids`. Inactive accounts are missing, and no e-mail or IP addresses are included. */
  records(ids: readonly string[], viewer: Viewer): Promise<readonly UserRecord[]>;
  /** Ids of active accounts. One statement, however long the list. Throws 400 for a cursor from another list. */
  list(request: MemberListRequest): Promise<Page<string>>;
  /**
   * Active accounts whose username or display name contains `text`, ignoring case: names that start with it first, then
   * by username.
   */
  searchNames(find: {
    readonly text: string;
    readonly limit: number;
    readonly offset: number;
  }): Promise<readonly Account[]>;
  /**
   * For administrators: accounts whose name or e-mail address contains `text`, by name; `total` counts all of them. Set
   * `namesOnly` for callers who may not see e-mail addresses, because matches would reveal them.
   */
  search(find: {
    readonly text: string;
    readonly namesOnly?: boolean;
    readonly groupId?: string;
    readonly limit: number;
    readonly offset: number;
  }): Promise<{ readonly accounts: readonly Account[]; readonly total: number }>;
  /**
   * Ends every session of the account on its next request. Throws 404 for an unknown account, 400 for an unknown group.
   * `by`, here and below: the account that does it, or `commandLine`. `partOf`: the plugin that notifies the owner
   * itself. `address`: the IP address of the request.
   */
  setGroup(id: string, groupId: string, by?: string, partOf?: string, address?: string): Promise<void>;
  /**
   * Ends every session of the account and, unless its owner wishes to keep them, every token (`tokenStores`); calls
   * `accountChangeListeners`. Throws 400 if the password violates the policy.
   */
  setPassword(id: string, password: string, by?: string, options?: { readonly keepTokens?: boolean }): Promise<void>;
  /** Like `setPassword`, for an owner who followed a reset link: all tokens are revoked. */
  resetPassword(id: string, password: string): Promise<void>;
  /**
   * Calls `accountChangeListeners` with the old address. Throws 400 naming `email` if the address is invalid or taken,
   * ignoring case. Sessions are kept.
   */
  setEmail(id: string, email: string, by?: string): Promise<void>;
  /**
   * Undefined properties are left as they are, empty ones are removed. Throws 400 naming `display_name` if it is too
   * long, has invisible characters, or is the username of another member.
   */
  setProfile(id: string, changes: ProfileChanges): Promise<void>;
  /** Throws 400 naming a language or time zone that the site does not offer. */
  setLocale(id: string, changes: LocaleChanges): Promise<void>;
  /** The languages and time zones of these members, cached: at most one statement. Unknown ids are missing. */
  localeSettings(ids: readonly string[]): Promise<ReadonlyMap<string, LocaleSettings>>;
  /** Sets the path or URL of the picture; `undefined` removes it. */
  setAvatar(id: string, url: string | undefined): Promise<void>;
  /**
   * Imports thousands of accounts with a few statements: emits no events, sends no mail and applies no policy.
   * Characters that are not allowed in display names are dropped, and so are names of other members or of the staff.
   * Resolves to the new ids, in order. Throws 400 for a username or e-mail address that is taken.
   */
  importAccounts(accounts: readonly ImportedAccount[]): Promise<readonly string[]>;
  /** Ends every session of the account. */
  setStatus(id: string, status: AccountStatus, by?: string): Promise<void>;
  /**
   * Ends every session and every token (`tokenStores`) of the account and calls `accountChangeListeners`, unless it is
   * `partOf` an action of a plugin that notifies the owner itself.
   */
  endSessions(id: string, by?: string, partOf?: string): Promise<void>;
  /**
   * Removes everything that identifies the owner of an account, and every way to log in. The account remains, disabled
   * and with a generated name, as the author of its posts. No one is notified, and it cannot be undone. Sessions stop
   * working, and are deleted when personal data are erased. Throws 404 for an unknown account.
   */
  anonymise(id: string): Promise<void>;
  /** Whether there was a login to the account since then. */
  loggedInSince(id: string, moment: Date): Promise<boolean>;
  /**
   * The IP addresses of the sign-up and of the last login. Raises `account.addresses-viewed`; the caller must check
   * `seeAddresses` first.
   */
  ipAddresses(id: string, by: string): Promise<IpAddresses | undefined>;
}
export type IpAddresses = Readonly<Record<'registration' | 'lastLogin', string | undefined>>;
export const Accounts = defineToken<Accounts>('Accounts');

/** The sign-up of a person who has been identified by another service. */
export interface IdentifiedSignUp {
  readonly username: string;
  readonly email: string;
  readonly language?: string | undefined;
  /** Whether that service has verified the e-mail address, so that it need not be confirmed. */
  readonly emailProven: boolean;
}
/**
 * The new member or, if the address must be confirmed first, how: in that case the result does not reveal whether an
 * account was created.
 */
export type Registered = { readonly account: Account } | { readonly confirmation: EmailConfirmation };
/** Signing up in other ways than with the form and a password. */
export interface Registrations {
  /**
   * Creates an account without a password, with the same rules, limits and events as the form. `stored` runs in the
   * transaction that stores it. Throws 400 naming the invalid field, or 429.
   */
  registerIdentified(
    signUp: IdentifiedSignUp,
    address: string,
    stored: (account: Pick<Account, 'id' | 'username' | 'email'>) => Promise<void>,
  ): Promise<Registered>;
}
export const Registrations = defineToken<Registrations>('Registrations');

/** A way to log in other than by password, such as an account with another service. */
export interface LoginMethod {
  /** Those of the accounts that can currently log in by this method. */
  available(accountIds: readonly string[]): Promise<ReadonlySet<string>>;
}
export const loginMethods = defineExtensionPoint<LoginMethod>(
  'accounts.login-methods',
  'Login methods other than the password; a member who has one can log in without a password.',
);

/** Number of accounts per query. */
const BATCH_SIZE = 100;
/** The members who currently have a permission, in batches; reads only the groups that have it. */
export async function* holdersOf(
  permission: Permission,
  { access, accounts }: { readonly access: Access; readonly accounts: Pick<Accounts, 'search' | 'viewers'> },
): AsyncGenerator<readonly Viewer[]> {
  await access.refresh();
  const holds = (viewer: Viewer): boolean => access.allows(viewer, permission);
  const groups = access.groups().filter((group) => holds({ id: undefined, username: undefined, group }));
  for (const { id: groupId } of groups) {
    for (let offset = 0, total = 1; offset < total; offset += BATCH_SIZE) {
      const found = await accounts.search({ text: '', groupId, limit: BATCH_SIZE, offset });
      total = found.total;
      yield [...(await accounts.viewers(found.accounts.map(({ id }) => id))).values()].filter(holds);
    }
  }
}

/** Error for callers who try to act on an account that does not rank below them. */
export const notBelow = ({ username }: Pick<Account, 'username'>): HttpError =>
  new HttpError(403, `${username} does not rank below you; ask an administrator`);

/**
 * `reset`: the password was reset through a link in a mail. `first`: a first password was set through such a link; the
 * owner is not notified. `sessions`: someone else ended all sessions and tokens.
 */
export type AccountChange = 'password' | 'reset' | 'first' | 'email' | 'sessions';

/**
 * Called when an account changes: for example, to notify its owner by mail, or to revoke credentials that should not
 * outlive the change. Runs in the transaction of the change, so that both happen or neither; an error thrown here rolls
 * back the change.
 */
export interface AccountChangeListener {
  /**
   * `to` is the e-mail address to notify; if the address was changed, this is the old one. `tokensKept`: the owner
   * chose to keep the tokens. Not called for a first password set by someone else.
   */
  changed(what: AccountChange, account: Account, to: string, tokensKept: boolean): Promise<void>;
}
export const accountChangeListeners = defineExtensionPoint<AccountChangeListener>(
  'accounts.change-listeners',
  'Called in the transaction of a change of password, e-mail address or sessions, to notify the owner or to revoke what should not outlive it.',
  { order: 'The order in which they are called; an error from one rolls back the change.' },
);

/** Tokens with which programs act as a member, without a password or a session. */
export interface TokenStore {
  /** Revokes all tokens of the account, in the current transaction. `by`: an account or `commandLine`. */
  revokeAll(accountId: string, by: string | undefined): Promise<void>;
}
export const tokenStores = defineExtensionPoint<TokenStore>(
  'accounts.token-stores',
  'Tokens with which programs authenticate as a member; revoked when the password changes, all sessions are ended, or the account is to be deleted.',
);

/**
 * Something a member must do between entering the right password and getting a session, such as entering a code. While
 * a step is required, no session starts: a browser gets a pending login for ten minutes and is redirected to `path`; a
 * program gets `{ success: true, <name>: true }`. The plugin of the step is responsible for limiting failed attempts.
 */
export interface LoginStep {
  /** The property that is set to true in responses to programs, such as `two_factor`. */
  readonly name: string;
  /** Path of the page for the step, which must be open to guests. */
  readonly path: string;
  /** Called at each login and after each step, in the order of the list. An error thrown here rejects the login. */
  required(account: Account): Promise<boolean>;
  /**
   * Checks the code that a member for whom the step is required enters along with the password to confirm their
   * identity. Throws 400 naming `code`, or 429. If this is not implemented, no code is asked for.
   */
  confirm?(account: Account, code: string, address: string): Promise<void>;
}
export const loginSteps = defineExtensionPoint<LoginStep>(
  'accounts.login-steps',
  'Steps that a login requires between the correct password and the session, such as a code.',
  { order: 'The order in which the steps are required.' },
);

/**
 * Reduces staff who do not meet a requirement to the rights of members until they do. Checked on each of their
 * requests, and whenever something is done on their behalf, such as sending a mail.
 */
export interface StaffRequirement extends Requirement {
  /** An error thrown here rejects the request. */
  unmet(accountId: string): Promise<boolean>;
}
export const staffRequirements = defineExtensionPoint<StaffRequirement>(
  'accounts.staff-requirements',
  'Reduces staff who do not meet a requirement to the rights of members until they do.',
  { order: 'If several are unmet, the first one is reported to them.' },
);

/** A login in this browser whose password was right but which needs a further step. */
export interface PendingLogin {
  readonly account: Account;
  /** The `name` of the step. */
  readonly step: string;
  /** Path on this site to return to after the login. */
  readonly returnTo: string;
}

/**
 * The response to programs after a step. `next` is the page of the next step; as long as there is one, no session has
 * started.
 */
export interface LoginResult {
  readonly success: true;
  readonly next?: string;
  readonly [field: string]: unknown;
}

/**
 * Requires people who sign up or change their e-mail address to prove that the address is theirs. While that is
 * required, signing up does not log in, and the response does not reveal whether the address was already in use.
 */
export interface EmailConfirmation {
  /** The property that is set to true in responses to programs. */
  readonly name: string;
  /** Path of the page after signing up, which must be open to guests. */
  readonly path: string;
  /** Called at each sign-up and each change of address. */
  required(): boolean;
  /** Called in the transaction that stores the account. */
  begin(account: Pick<Account, 'id' | 'username' | 'email'>): Promise<void>;
  /** Called when another person signed up with the e-mail address of this member. */
  emailTaken(account: Account): Promise<void>;
  /** Called when a member changes their address; the current one stays until the new one is confirmed. Throws 429. */
  changeEmail(account: Account, email: string): Promise<void>;
  /**
   * Those of the accounts that have not confirmed their address. They receive no mail except the request to confirm it.
   */
  unconfirmed?(accountIds: readonly string[]): Promise<ReadonlySet<string>>;
}
export const emailConfirmations = defineExtensionPoint<EmailConfirmation>(
  'accounts.email-confirmations',
  'Requires people who sign up, or change their e-mail address, to prove first that the address is theirs.',
  { order: 'The first one that is required is used.' },
);

/** The parameters of a login. */
export interface LoginRequest {
  readonly remember: boolean;
  /**
   * When the person was identified, if another service did so and not just now. Counts as the time of their last
   * confirmation, unless a further step follows.
   */
  readonly identifiedAt?: Date | undefined;
  /** A path of this site. */
  readonly returnTo: string;
}

/** What happens after the password or another method has identified the person. */
export interface LoginOutcome {
  /** Where to redirect a browser. */
  readonly redirectTo: string;
  /** The response to programs. */
  readonly json: LoginResult;
  /** False if further steps are required. */
  readonly complete: boolean;
}

/** A session and the browser it belongs to, as its member sees them. */
export interface BrowserSession {
  /** Identifies the session for as long as it lasts, without revealing its cookie. */
  readonly id: string;
  /** The name of the browser and system, as `Sessions.deviceText` takes it. */
  readonly device: string;
}

export interface DeviceText {
  readonly text: string;
  readonly browser?: string | undefined;
  readonly system?: string | undefined;
}

/**
 * Told when members log in and out in a browser, for what belongs to the browser and not to a session. Errors are
 * logged, and neither prevent the login nor the logout.
 */
export interface BrowserListener {
  /** A session of the account started. */
  loggedIn(req: Request, accountId: string, session: BrowserSession): Promise<void>;
  /** Someone pressed “Log out”. `session` is the one that this ended; undefined if it had already ended. */
  loggedOut(req: Request, res: Response, session: BrowserSession | undefined): Promise<void>;
}
export const browserListeners = defineExtensionPoint<BrowserListener>(
  'accounts.browser-listeners',
  'Told when members log in and out in a browser, for what belongs to the browser and not to a session.',
);

/** Login sessions and bearer tokens. */
export interface Sessions {
  /** Must run before `authenticate`; costs nothing for a request without a session cookie. */
  readonly middleware: RequestHandler;
  /**
   * The session's member, or the guest. Ends a session that violates its rules (fingerprint, address, version, age) and
   * clears its cookie. `idle`: the request was sent by the page automatically, so it neither extends the session nor
   * counts as activity of the member.
   */
  authenticate(req: Request, res: Response, options?: { readonly idle?: boolean }): Promise<Viewer>;
  /** True if `authenticate` found a session and ended it: reads then continue as a guest, everything else gets 401. */
  ended(req: Request): boolean;
  /**
   * For responses that continue after `authenticate`, such as streams: the viewer that the same request would have now,
   * or undefined once its session is over. Has no side effects.
   */
  reauthenticate(req: Request): Promise<Viewer | undefined>;
  /** The account of the session, after `authenticate`. */
  accountOf(req: Pick<Request, 'headers'>): Account | undefined;
  /** The session of the request; undefined for guests and for callers with a token. */
  sessionOf(req: Request): BrowserSession | undefined;
  /** The name of a device in a member's language: a text key with the names to insert. Undefined: it is not known. */
  deviceText(device: string | undefined): DeviceText;
  /** The owner of the token; `undefined` means 401. */
  authenticateBearer(token: string): Promise<Viewer | undefined>;
  /**
   * True if the request has a cookie that may belong to a session, so that it must not be treated as a guest's without
   * checking.
   */
  hasCookie(header: string | undefined): boolean;
  /**
   * True if the member confirmed their identity in this session within the last 15 minutes, by a login with all its
   * steps or at /login/confirm.
   */
  confirmed(req: Request): boolean;
  /** When that confirmation expires; undefined if there is none. */
  confirmedUntil(req: Request): Date | undefined;
  /**
   * The pending login of this browser; `undefined` if there is none, after ten minutes, and once the session has
   * started.
   */
  pendingLogin(req: Request): Promise<PendingLogin | undefined>;
  /**
   * Completes the step with this name: starts the session of the pending login, once, and resolves to the response for
   * programs. Throws 401 if there is no pending login or it is waiting for another step, so that no plugin can complete
   * another's.
   */
  completeStep(req: Request, res: Response, step: string): Promise<LoginResult>;
  /**
   * Starts a session, or a pending login for the first step, after the person was identified by password or another
   * method. Throws 401 for an account that is not active.
   */
  beginLogin(req: Request, res: Response, account: Account, request: LoginRequest): Promise<LoginOutcome>;
  /** Whether this member must also enter a code when confirming their identity. */
  asksForCode(account: Account): Promise<boolean>;
  /** Checks that code, if one is required: throws 400 naming `code`, or 429. */
  checkCode(account: Account, code: string | undefined, address: string): Promise<void>;
  /**
   * Records that a member has confirmed their identity in every way required: valid for 15 minutes, as at
   * /login/confirm.
   */
  confirmIdentity(req: Request): Promise<void>;
}
export const Sessions = defineToken<Sessions>('Sessions');

/** Tells a visitor, on the next page that they see, why their session has ended. `text` is the sentence to show. */
export type LogoutNotice = (req: Request, res: Response, text: string) => void;
export const logoutNotices = defineExtensionPoint<LogoutNotice>(
  'accounts.logout-notices',
  'Shows a visitor, on the next page they open, why their session ended.',
);

/** CSRF protection for members (bound to the session) and guests (bound to a signed cookie, without a session). */
export interface Csrf {
  /** The token for this visitor's forms and meta tag; sets the guest cookie if there is none. */
  token(req: Request, res: Response): string;
  /**
   * Checks the header X-CSRF-Token, or `given` (a form's `_csrf`), against the visitor, and the Origin of the request.
   */
  verify(req: Request, given?: string): boolean;
  /**
   * False if no token can be valid, because the request comes from another site or has no cookie that a token belongs
   * to. Checked before a body is read for its token. An expired cookie is sufficient, so that the form can be shown
   * again with the values entered.
   */
  verifiable(req: Request): boolean;
  /**
   * For responses from cached bytes: the guest's token for a raw Cookie header, and the Set-Cookie value to send if one
   * is needed. `overHttps`: whether the request used HTTPS; the site's origin may imply it as well.
   */
  guestToken(
    cookieHeader: string | undefined,
    overHttps?: boolean,
  ): { readonly token: string; readonly setCookie: string | undefined };
}
export const Csrf = defineToken<Csrf>('Csrf');

/**
 * A field that another plugin adds to the user record. `loadMany` is called once with the ids of all users in a
 * response, and returns their values in the same order.
 */
export interface UserField {
  readonly name: string;
  readonly result: TSchema;
  loadMany(ids: readonly string[], viewer: Viewer): Promise<readonly unknown[]>;
  /**
   * Cache tags that are purged whenever a value may have changed; without them, responses that show the field are not
   * cached.
   */
  readonly tags?: readonly string[];
}
export const userFields = defineExtensionPoint<UserField>(
  'accounts.user-fields',
  'Fields of the user record, loaded for all users of a response at once.',
  { order: 'The position among the fields of the record.' },
);

/**
 * Members who hide from others when they were last here. They themselves, and those who may see e-mail and IP
 * addresses, still see it.
 */
export interface LastSeenRule {
  /** Those of the members who hide it. Called once for a list. */
  hidden(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * The same as a condition on the id of an account, for lists ordered by when members were last here, which leave them
   * out.
   */
  hides(account: RawBuilder<string>): RawBuilder<boolean>;
}
export const lastSeenRules = defineExtensionPoint<LastSeenRule>(
  'accounts.last-seen-rules',
  'Which members hide from others when they were last seen; called once per list.',
);

/** A tab of the profile page, at /u/{username}/{id}; the first one is also at /u/{username}. */
export interface ProfileTab {
  readonly id: string;
  readonly label: string;
  /** Whether the tab has anything to show this viewer; always shown if omitted. */
  shown?(profile: Author, viewer: Viewer): Promise<boolean>;
  /** The number shown next to the label. */
  count?(profile: Author, viewer: Viewer): Promise<number>;
  /** `query` is the query of the page, for paging. */
  render(profile: Author, viewer: Viewer, query: Readonly<Record<string, string | undefined>>): Promise<SafeHtml>;
}
export const profileTabs = defineExtensionPoint<ProfileTab>(
  'accounts.profile-tabs',
  'Tabs of a member’s profile page, each with its content.',
  { order: 'The position among the tabs; the first is shown at `/u/{username}`.' },
);

export const profileHeader = defineSlot<Author>('profile.header', 'On a member’s profile page, above their name.');
export const profileAbout = defineSlot<Author>(
  'profile.about',
  'On a member’s profile page, between their bio and the tabs.',
);
export const profileRail = defineSlot<Author>('rail.profile', 'Next to a member’s profile page: small panels.');
export const userCard = defineSlot<Author>(
  'user-card',
  'On each member card, on every page that shows cards, below the numbers.',
);
export const queueAuthor = defineSlot<Author>(
  'queue.author',
  'On each item in a moderation queue, about its author: what moderators can do about them.',
);
export const queueAuthorFacts = defineSlot<Author>(
  'queue.author-facts',
  'On each item in a moderation queue, about its author: what moderators want to know before they decide.',
);
export const userCardActions = defineSlot<Author>(
  'user-card.actions',
  'On the card of a single member, which opens next to their name: buttons.',
);
export const registerFields = defineSlot<object>(
  'auth.register.fields',
  'In the sign-up form, above its button: inputs, which are submitted under their names.',
);
/** The page to go to after a login or sign-up: a path, or empty. */
export interface LoginSlot {
  readonly return_to: string;
}
export const loginBefore = defineSlot<LoginSlot>(
  'auth.login.before',
  'On the login page, above the form: other ways to log in.',
);
export const registerBefore = defineSlot<LoginSlot>(
  'auth.register.before',
  'On the sign-up page, above the form: other ways to sign up.',
);
/** The context of a confirmation: the page to return to, the sealed pending form, and whether a code is required. */
export interface ConfirmSlot extends LoginSlot {
  readonly pending: string;
  readonly coded: boolean;
}
export const confirmAfter = defineSlot<ConfirmSlot>(
  'auth.confirm.after',
  'On the page where members confirm their identity, below the form: other ways to confirm it.',
);
export const loginAfter = defineSlot<object>('auth.login.after', 'On the login page, below the form: links.');
export const profileSettingsEnd = defineSlot<object>(
  'settings.profile.end',
  'At the end of a member’s profile settings: panels.',
);
export const securitySettingsEmail = defineSlot<object>(
  'settings.security.email',
  'In a member’s security settings, below their e-mail address.',
);
export const securitySettingsEnd = defineSlot<object>(
  'settings.security.end',
  'At the end of a member’s security settings: panels.',
);

export const seeAddresses = definePermission('accounts.see-addresses', {
  label: 'see members’ e-mail and IP addresses',
  default: 'admin',
});
export const manageAccounts = definePermission('accounts.manage', { label: 'manage members', default: 'admin' });
export const editProfile = definePermission('accounts.edit-profile', {
  label: 'edit own profile',
  default: 'member',
});
