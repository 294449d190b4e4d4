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

/** `disabled` accounts cannot log in, and their sessions and tokens count for nothing. */
export type AccountStatus = 'active' | 'disabled';

/** A member as stored. /api/users says which of this may reach a client. */
export interface Account {
  readonly id: string;
  readonly username: string;
  readonly email: string;
  readonly groupId: string;
  /** A name of the member's own choice, shown in place of the username. */
  readonly displayName: string | null;
  readonly bio: string;
  readonly avatarUrl: string | null;
  /** In which they read pages and mails; null: as their browser asks, and mails in the site's. */
  readonly language: string | null;
  /** In which they are told times; null: the site's. */
  readonly timezone: string | null;
  readonly status: AccountStatus;
  /** Changes with group, password and status; a session that saw another value is over. */
  readonly permissionsVersion: number;
  readonly joinedAt: Date;
}

/**
 * How a person appears beside what they wrote: by `display_name`, if they chose one; URLs and mentions have the
 * username, which is unique.
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
 * Controls, line ends, what turns the direction of writing or is not seen at all, what no one has assigned, and heaps
 * of marks. How an emoji is drawn may be said.
 */
const UNSEEN =
  /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}[\p{Default_Ignorable_Code_Point}--[\u{FE0E}\u{FE0F}]]]|\p{M}{5}/v;
/** Whether a name or another short text of a member is one line of what can be seen, and changes no other text. */
export const isPlainLine = (text: string): boolean => !UNSEEN.test(text);

/** The name of a member as a sentence has it: the chosen one, and the username beside it. */
export const nameOf = ({ username, display_name: name }: Pick<Author, 'username' | 'display_name'>): string =>
  name === null ? username : `${name} (@${username})`;

/** A user as the API shows them to one viewer; fields of other plugins come on top. */
export const UserRecord = Type.Object({
  id: Type.String(),
  username: Type.String(),
  display_name: nullable(
    Type.String({ description: 'A name of their own choice; others may have it too, so show the username with it' }),
  ),
  avatar_url: nullable(Type.String()),
  group: Type.Object({ id: Type.String(), name: Type.String() }),
  bio: Type.String(),
  joined_at: Time,
  last_seen_at: nullable(Time),
  language: Type.Optional(nullable(Type.String({ description: 'The owner only; null: as their browser asks' }))),
  timezone: Type.Optional(nullable(Type.String({ description: 'The owner only; null: the site’s' }))),
  email: Type.Optional(Type.String({ description: 'The owner and those who may see addresses' })),
  registration_ip: Type.Optional(nullable(Type.String())),
  last_ip: Type.Optional(nullable(Type.String())),
});
export type UserRecord = Static<typeof UserRecord>;

/** `last_seen` leaves out who hides when they were last here. */
export const MEMBER_SORTS = ['newest', 'name', 'last_seen'] as const;
export interface MemberListRequest {
  readonly sort: (typeof MEMBER_SORTS)[number];
  /** Only those whose username or display name begins with it, in any case. */
  readonly name?: string | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

/**
 * `user.registered`: a member signed up. Raised at sign-up, also while their e-mail is not verified yet. `by`: who else
 * made the account.
 */
export const userRegistered = defineAction<{
  readonly user: { readonly id: string; readonly username: string; readonly joined_at: string };
  readonly by?: string;
}>('user.registered', {
  public: Type.Object({ user: Type.Object({ id: Type.String(), username: Type.String(), joined_at: Type.String() }) }),
});
/** Group, name, status, password or profile of an account changed, or it was removed. */
export const userChanged = defineAction<{ readonly id: string }>('user.changed');

/** A change of an account; `by` is who made it, an account or `commandLine`, absent where the forum itself did. */
export interface AccountChangePayload {
  /** The account that it is about. */
  readonly id: string;
  readonly by?: string | undefined;
}
/** Where it came from: the client's IP address. */
type RequestOrigin = Readonly<{ address: string }>;
/** A session of a member began: password and every further step were right. */
export const loggedIn = defineAction<{ readonly id: string } & RequestOrigin>('account.logged-in');
/**
 * A password was not accepted, at login or (`confirming`) where a member had to give it again. `id` is absent where no
 * account has the name.
 */
export const loginRefused = defineAction<
  { readonly id?: string | undefined; readonly confirming: boolean } & RequestOrigin
>('account.login-refused');
/**
 * A member showed again in their session that it is them, by the password or in another way, and by the code of a second
 * factor where there is one.
 */
export const identityConfirmed = defineAction<{ readonly id: string } & RequestOrigin>('account.confirmed');
/** A member ended their session themselves. */
export const loggedOut = defineAction<{ readonly id: string } & RequestOrigin>('account.logged-out');
/**
 * A session broke a rule: `fingerprint`, `address`, `idle`, `lifetime`, `permissions changed`, `account disabled` and
 * the like.
 */
export const sessionEnded = defineAction<{ readonly id: string; readonly cause: string } & RequestOrigin>(
  'account.session-ended',
);
/** Sessions were ended: one of the member's own, all of their own but the current one, or all. */
export const sessionsRevoked = defineAction<AccountChangePayload & { readonly which: 'one' | 'others' | 'all' }>(
  'account.sessions-revoked',
);
/** An account has another password: its owner’s own choice, by a link in a mail, or set at the shell. */
export const passwordChanged = defineAction<AccountChangePayload>('account.password-changed');
/** An account has another e-mail address. */
export const emailChanged = defineAction<AccountChangePayload>('account.email-changed');
/** An account has a new API token. */
export const tokenIssued = defineAction<AccountChangePayload>('account.token-issued');
/** The API token of an account is no longer good. */
export const tokenRevoked = defineAction<AccountChangePayload>('account.token-revoked');
/** `partOf`: the plugin whose action it belongs to, such as a ban; that plugin notifies the member itself. */
export const groupChanged = defineAction<
  AccountChangePayload & {
    readonly address?: string | undefined;
    readonly from: string;
    readonly to: string;
    readonly partOf?: string | undefined;
  }
>('account.group-changed');
/** An account was disabled, or enabled again. */
export const statusChanged = defineAction<
  AccountChangePayload & { readonly from: AccountStatus; readonly to: AccountStatus }
>('account.status-changed');
/** `by` was shown the IP addresses of these members. */
export const ipAddressesViewed = defineAction<{ readonly ids: readonly string[]; readonly by: string }>(
  'account.addresses-viewed',
);

/** Does this domain take mail? Asked at registration; without an answer the DNS is. */
export const mailDomainAccepted = defineQuery<{ readonly domain: string }, boolean>('user.mail-domain-accepted');

/** Does the site have pages in this language? Asked before a member chooses it; without an answer it has not. */
export const languageOffered = defineQuery<{ readonly language: string }, boolean>('user.language-offered');

/** The time zones that this machine knows, by name. */
export const timezones = (): readonly string[] => [...new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])];
/** A time zone as `timezones` has it, by whichever of its names, such as Asia/Kolkata; undefined for none of them. */
export function timezoneNamed(name: string): string | undefined {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions();
    return timezones().find((zone) => zone === timeZone);
  } catch {
    return undefined;
  }
}

/** Cache tag of whatever shows this account: purged when it changes. */
export const accountTag = (id: string): string => `account:${id}`;
/** Cache tag of whatever shows accounts without saying beforehand which. */
export const accountsTag = 'accounts';

export interface NewAccount {
  readonly username: string;
  readonly email: string;
  /** Left out, the account has none: whoever has it logs in by another of the `loginMethods`. */
  readonly password?: string;
  readonly groupId?: string;
  readonly bio?: string;
  readonly joinedAt?: Date;
  /** 400 for one that the site does not offer. */
  readonly language?: string | undefined;
  /** IP address at sign-up; 0.0.0.0 is not stored. */
  readonly ip?: string;
  /** Who makes it for them: an account or `commandLine`. */
  readonly by?: string | undefined;
}

/** A member of another forum. No one can log in as them until a password is set. */
export interface ImportedAccount {
  readonly username: string;
  readonly email: string;
  /** Default: the group of members. */
  readonly groupId?: string;
  readonly displayName?: string;
  readonly bio?: string;
  readonly joinedAt?: Date;
}

/** What others see of a member beside username and picture. */
export interface ProfileChanges {
  readonly displayName?: string | undefined;
  readonly bio?: string | undefined;
}

/** The language and time zone of a member. */
export type LocaleSettings = Pick<Account, 'language' | 'timezone'>;
/** What is undefined stays, and null goes. */
export interface LocaleChanges {
  readonly language?: string | null | undefined;
  readonly timezone?: string | null | undefined;
}

/** What a new password must be, for forms that ask for one. */
export interface PasswordPolicy {
  /** Characters at least. */
  readonly minimum: number;
  /** For the `pattern` attribute. */
  readonly pattern: string;
  /** As a checklist beside the field; patterns are read with the `v` flag. Labels are text keys, given `minimum`. */
  readonly rules: readonly { readonly pattern: string; readonly label: string }[];
}

/** The members: found, made, changed, listed. */
export interface Accounts {
  readonly passwordPolicy: PasswordPolicy;
  /**
   * Checks policy and uniqueness (400 naming the field) and raises `user.registered`. Reserved names and the MX look-up
   * are the form's.
   */
  create(account: NewAccount): Promise<Account>;
  /** Cached; `undefined` also for a malformed id. */
  find(id: string): Promise<Account | undefined>;
  /**
   * The viewers that these accounts would be now, for work done on their behalf in the background; inactive accounts
   * are missing. One statement, and for staff what their requirements ask.
   */
  viewers(ids: readonly string[]): Promise<ReadonlyMap<string, Viewer>>;
  /** Those of these accounts that can log in: active, with a password or another of the `loginMethods`. */
  ableToLogIn(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /** Those of these accounts that have a password. One statement. */
  withPassword(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * The e-mail addresses of these accounts; inactive accounts are missing, and those of which nobody has shown yet that
   * the address is theirs. One statement, and what that asks. Never to be shown or logged.
   */
  emails(ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** The ids of active accounts by username in lower case. One statement. */
  idsByUsername(usernames: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * A username as near to what somebody is called elsewhere as the rules allow, with a number where somebody has it,
   * where it is a name of the forum itself, or among `besides`, in lower case. Undefined where nothing of it can stay.
   */
  freeUsername(name: string, besides?: ReadonlySet<string>): Promise<string | undefined>;
  /** By username or e-mail, regardless of case. Always asks the database. */
  findByIdentifier(identifier: string): Promise<Account | undefined>;
  /**
   * The authors of a page of posts by id, cached: at most one statement. Unknown ids are missing from the map.
   */
  authors(ids: readonly string[]): Promise<ReadonlyMap<string, Author>>;
  /** With the fields that other plugins add, for the results of routes. */
  readonly record: typeof UserRecord;
  /** In the order of `ids`; inactive accounts are missing, and no one’s e-mail or IP address is among it. */
  records(ids: readonly string[], viewer: Viewer): Promise<readonly UserRecord[]>;
  /** Ids of active accounts. One statement, whatever its length. 400 for a cursor of another list. */
  list(request: MemberListRequest): Promise<Page<string>>;
  /**
   * Active accounts whose username or display name contains `text`, in any case: those that begin with it first, then by
   * username.
   */
  searchNames(find: {
    readonly text: string;
    readonly limit: number;
    readonly offset: number;
  }): Promise<readonly Account[]>;
  /**
   * For administrators: whose name or address contains `text`, by name; `total` counts all of them. `namesOnly`: for
   * whoever may not see addresses, and so must not find out about them either.
   */
  search(find: {
    readonly text: string;
    readonly namesOnly?: boolean;
    readonly groupId?: string;
    readonly limit: number;
    readonly offset: number;
  }): Promise<{ readonly accounts: readonly Account[]; readonly total: number }>;
  /**
   * Ends every session of the account at its next request. 404 for an unknown account, 400 for an unknown group.
   * `by`, here and below: the account that does it, or `commandLine`. `partOf`: the plugin that notifies the owner
   * itself; `address`: the IP address it was done from.
   */
  setGroup(id: string, groupId: string, by?: string, partOf?: string, address?: string): Promise<void>;
  /**
   * Ends every session of the account and, unless its owner wishes to keep them, every token (`tokenStores`); calls
   * `accountChangeListeners`. 400 when the policy refuses the password.
   */
  setPassword(id: string, password: string, by?: string, options?: { readonly keepTokens?: boolean }): Promise<void>;
  /** As `setPassword`, for an owner who followed a reset link: no token stays. */
  resetPassword(id: string, password: string): Promise<void>;
  /**
   * Calls `accountChangeListeners` with the old address. 400 naming `email` for what is no address or is taken, in
   * any case. No session ends.
   */
  setEmail(id: string, email: string, by?: string): Promise<void>;
  /**
   * What is undefined stays, and what is empty goes. 400 naming `display_name` for one that is too long, cannot be seen,
   * or is the username of another member.
   */
  setProfile(id: string, changes: ProfileChanges): Promise<void>;
  /** 400 naming what the site does not offer. */
  setLocale(id: string, changes: LocaleChanges): Promise<void>;
  /** The languages and time zones of these members, cached: at most one statement. Unknown ids are missing. */
  localeSettings(ids: readonly string[]): Promise<ReadonlyMap<string, LocaleSettings>>;
  /** The path or URL of the picture; `undefined`: none. */
  setAvatar(id: string, url: string | undefined): Promise<void>;
  /**
   * Thousands at once in a few statements: no event, no mail, no policy. Of display names, what they may not
   * have is left out, and those of others and of the staff are none. Resolves to their ids, in order. 400 for a username or address that is taken.
   */
  importAccounts(accounts: readonly ImportedAccount[]): Promise<readonly string[]>;
  /** Ends every session of the account. */
  setStatus(id: string, status: AccountStatus, by?: string): Promise<void>;
  /**
   * Ends every session and every token (`tokenStores`) of the account and calls `accountChangeListeners`, unless it
   * is `partOf` an action of a plugin that notifies the owner itself.
   */
  endSessions(id: string, by?: string, partOf?: string): Promise<void>;
  /**
   * Removes from an account all that identifies its owner, and every way in; it stays, disabled, under a generated
   * name, so that its posts have an author. No one is notified; it cannot be undone. Sessions are over, and go when
   * personal data are erased. 404 for an unknown account.
   */
  anonymise(id: string): Promise<void>;
  /** Whether the account has logged in since then. */
  loggedInSince(id: string, moment: Date): Promise<boolean>;
  /**
   * The IP addresses of the sign-up and of the last login. Raises `account.addresses-viewed`; the caller checks
   * `seeAddresses` first.
   */
  ipAddresses(id: string, by: string): Promise<IpAddresses | undefined>;
}
export type IpAddresses = Readonly<Record<'registration' | 'lastLogin', string | undefined>>;
export const Accounts = defineToken<Accounts>('Accounts');

/** What somebody signs up with whom another service has identified. */
export interface IdentifiedSignUp {
  readonly username: string;
  readonly email: string;
  readonly language?: string | undefined;
  /** That service has shown that the address is theirs, so that they need not confirm it. */
  readonly emailProven: boolean;
}
/** The new member, or how the address is confirmed first: then nothing says whether there is a new member. */
export type Registered = { readonly account: Account } | { readonly confirmation: EmailConfirmation };
/** Signing up in other ways than by the form with a password. */
export interface Registrations {
  /**
   * Makes an account without a password, by the rules, limits and events of the form. `stored` runs in the transaction
   * that stores it. 400 naming the field, 429.
   */
  registerIdentified(
    signUp: IdentifiedSignUp,
    address: string,
    stored: (account: Pick<Account, 'id' | 'username' | 'email'>) => Promise<void>,
  ): Promise<Registered>;
}
export const Registrations = defineToken<Registrations>('Registrations');

/** A way to log in beside the password, such as an account elsewhere. */
export interface LoginMethod {
  /** Those of these accounts that can log in by it now. */
  available(accountIds: readonly string[]): Promise<ReadonlySet<string>>;
}
export const loginMethods = defineExtensionPoint<LoginMethod>(
  'accounts.login-methods',
  'Ways to log in beside the password: who has one can log in without a password.',
);

/** Accounts in one query. */
const BATCH_SIZE = 100;
/** Who holds a permission now, in parts: those of the groups alone that may. */
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

/** To whoever would act on an account that does not stand below them. */
export const notBelow = ({ username }: Pick<Account, 'username'>): HttpError =>
  new HttpError(403, `${username} is not below you; ask an administrator`);

/**
 * `reset`: the password, by a link in a mail. `first`: by such a link a first one, of which its owner is not told.
 * `sessions`: another person ended all sessions and tokens.
 */
export type AccountChange = 'password' | 'reset' | 'first' | 'email' | 'sessions';

/**
 * Hears of changes of an account: notifies its owner by mail, for instance, or revokes what should not outlive them.
 * Called in the transaction of the change, so that both happen or neither; what it throws undoes the change.
 */
export interface AccountChangeListener {
  /**
   * `to` is the e-mail address to notify: after a change, the old one. `tokensKept`: the owner chose to keep the
   * tokens. A first password that somebody else sets is no change.
   */
  changed(what: AccountChange, account: Account, to: string, tokensKept: boolean): Promise<void>;
}
export const accountChangeListeners = defineExtensionPoint<AccountChangeListener>(
  'accounts.change-listeners',
  'Runs in the transaction of a change of password, e-mail address or sessions, to notify the owner or to revoke what should not outlive it.',
  { order: 'The order in which they are called; what one throws undoes the change.' },
);

/** Tokens that let programs in as a member, without a password or a session. */
export interface TokenStore {
  /** Ends all of the account's, in the transaction under way. `by`: an account or `commandLine`. */
  revokeAll(accountId: string, by: string | undefined): Promise<void>;
}
export const tokenStores = defineExtensionPoint<TokenStore>(
  'accounts.token-stores',
  'Tokens that let programs in as a member; ended when the password changes, all sessions are ended, or the account is to be deleted.',
);

/**
 * What a member must do between the right password and a session, such as giving a code. When it is required, no
 * session begins: the browser gets a pending login for ten minutes and is sent to `path`; a program gets `{ success:
 * true, <name>: true }`. Failures there are counted by the step's own plugin.
 */
export interface LoginStep {
  /** The key that programs get as true, such as `two_factor`. */
  readonly name: string;
  /** The page that asks; open to guests. */
  readonly path: string;
  /** Asked at each login and after each step, in the order of the list. What it throws refuses the login. */
  required(account: Account): Promise<boolean>;
  /**
   * Checks the code that a member for whom the step is required gives beside the password to confirm their identity.
   * Throws 400 naming `code`, or 429. Without it no code is asked for there.
   */
  confirm?(account: Account, code: string, address: string): Promise<void>;
}
export const loginSteps = defineExtensionPoint<LoginStep>(
  'accounts.login-steps',
  'What a login asks for between the right password and the session, such as a code.',
  { order: 'The order in which steps are asked for.' },
);

/**
 * Reduces staff who do not meet a requirement to the rights of members until they do. Checked at each of their
 * requests, and whenever something is done on their behalf, such as a mail.
 */
export interface StaffRequirement extends Requirement {
  /** What it throws refuses the request. */
  unmet(accountId: string): Promise<boolean>;
}
export const staffRequirements = defineExtensionPoint<StaffRequirement>(
  'accounts.staff-requirements',
  'Reduces staff who do not meet a requirement to the rights of members until they do.',
  { order: 'Of several that are unmet the first is named to them.' },
);

/** A login in this browser whose password was right and which needs a further step. */
export interface PendingLogin {
  readonly account: Account;
  /** `name` of the step. */
  readonly step: string;
  /** A path of this site, where they wanted to go. */
  readonly returnTo: string;
}

/**
 * The response for programs after a step; `next` is the page of a further step while one is left, and then no session
 * has begun.
 */
export interface LoginResult {
  readonly success: true;
  readonly next?: string;
  readonly [field: string]: unknown;
}

/**
 * Makes people who sign up, or change their e-mail address, prove first that the address is theirs. While that is
 * required, signing up does not log in, and the response is the same whether the address was new or in use.
 */
export interface EmailConfirmation {
  /** The key that programs get as true. */
  readonly name: string;
  /** Where browsers are sent after signing up; open to guests. */
  readonly path: string;
  /** Asked at each sign-up and each change of address. */
  required(): boolean;
  /** In the transaction that stores the account. */
  begin(account: Pick<Account, 'id' | 'username' | 'email'>): Promise<void>;
  /** Another person signed up with the e-mail address of this member. */
  emailTaken(account: Account): Promise<void>;
  /** A member changes to this address; the present one stays until they have confirmed it. Throws 429. */
  changeEmail(account: Account, email: string): Promise<void>;
  /** Those of these accounts that have not confirmed their address: they get no mail but that which asks for it. */
  unconfirmed?(accountIds: readonly string[]): Promise<ReadonlySet<string>>;
}
export const emailConfirmations = defineExtensionPoint<EmailConfirmation>(
  'accounts.email-confirmations',
  'Makes people who sign up, or change their e-mail address, prove first that it is theirs.',
  { order: 'The first that is required counts.' },
);

/** What a login is asked for with. */
export interface LoginRequest {
  readonly remember: boolean;
  /**
   * When they showed who they are, where that was elsewhere and not just now. From then on they count as confirmed, if no
   * further step follows.
   */
  readonly identifiedAt?: Date | undefined;
  /** A path of this site. */
  readonly returnTo: string;
}

/** What follows the right password, or whatever else showed who it is. */
export interface LoginOutcome {
  /** Where a browser goes. */
  readonly redirectTo: string;
  /** The response for programs. */
  readonly json: LoginResult;
  /** False while a step is left. */
  readonly complete: boolean;
}

/** Login sessions and bearer tokens. */
export interface Sessions {
  /** To run before `authenticate`; costs nothing for a request without a session cookie. */
  readonly middleware: RequestHandler;
  /**
   * The session's member, or the guest. Ends a session that broke its rules (fingerprint, address, version, age) and
   * clears its cookie. `idle`: the page asks by itself, so the session does not last longer for it and the member was
   * not seen.
   */
  authenticate(req: Request, res: Response, options?: { readonly idle?: boolean }): Promise<Viewer>;
  /** True when `authenticate` found a session and ended it: reads go on as a guest, everything else is 401. */
  ended(req: Request): boolean;
  /**
   * For responses that go on after `authenticate`, such as streams: the viewer that the same request would have now;
   * undefined once its session is over. Changes nothing.
   */
  reauthenticate(req: Request): Promise<Viewer | undefined>;
  /** Whose session it is, after `authenticate`. */
  accountOf(req: Pick<Request, 'headers'>): Account | undefined;
  /** The token's owner; `undefined`: 401. */
  authenticateBearer(token: string): Promise<Viewer | undefined>;
  /**
   * True when the request carries a cookie that could be a session's: it must not be served as a guest's without
   * asking.
   */
  hasCookie(header: string | undefined): boolean;
  /**
   * True when the member confirmed within 15 minutes, in this session, that it is them: by a login with all its steps,
   * or at /login/confirm.
   */
  confirmed(req: Request): boolean;
  /** Until when that lasts; undefined where it does not. */
  confirmedUntil(req: Request): Date | undefined;
  /** The pending login of this browser; `undefined` without one, after ten minutes and once the session has begun. */
  pendingLogin(req: Request): Promise<PendingLogin | undefined>;
  /**
   * The step of this name is done: begins the session of the pending login, once, and resolves to the response for
   * programs. 401 without a pending login, or when it waits for another step, so that no plugin can complete another's.
   */
  completeStep(req: Request, res: Response, step: string): Promise<LoginResult>;
  /**
   * Who it is was shown, by the password or in another way: begins the session, or a pending login that waits for the
   * first step. 401 for an account that is not active.
   */
  beginLogin(req: Request, res: Response, account: Account, request: LoginRequest): Promise<LoginOutcome>;
  /** Whether this member gives a code besides when they confirm that it is them. */
  asksForCode(account: Account): Promise<boolean>;
  /** Checks that code, where one is asked for: 400 naming `code`, 429. */
  checkCode(account: Account, code: string | undefined, address: string): Promise<void>;
  /** A member has shown that it is them, in every way that is asked for: counts for 15 minutes, as at /login/confirm. */
  confirmIdentity(req: Request): Promise<void>;
}
export const Sessions = defineToken<Sessions>('Sessions');

/**
 * Shows a visitor, on the next page that they see, why their session is over. `text` is the sentence to show.
 */
export type LogoutNotice = (req: Request, res: Response, text: string) => void;
export const logoutNotices = defineExtensionPoint<LogoutNotice>(
  'accounts.logout-notices',
  'Shows a visitor on the next page that they see why their session is over.',
);

/** Forgery protection for members (bound to the session) and guests (bound to a signed cookie, no session). */
export interface Csrf {
  /** The token for this visitor's forms and meta tag; sets the guest cookie where there is none. */
  token(req: Request, res: Response): string;
  /**
   * Checks the header X-CSRF-Token, or `given` (a form's `_csrf`), against the visitor, and the Origin of the request.
   */
  verify(req: Request, given?: string): boolean;
  /**
   * False where no token can be valid: the request comes from another site, or without a cookie that a token belongs
   * to. Asked before a body is read for its token; a cookie that is not good any more is enough, so that a form can
   * come back with what was typed.
   */
  verifiable(req: Request): boolean;
  /**
   * For answers from stored bytes: the guest's token for a raw Cookie header, and the Set-Cookie value to send where
   * one is needed. `overHttps`: the request did; the site's origin may say so too.
   */
  guestToken(
    cookieHeader: string | undefined,
    overHttps?: boolean,
  ): { readonly token: string; readonly setCookie: string | undefined };
}
export const Csrf = defineToken<Csrf>('Csrf');

/**
 * A field that another plugin adds to the user record. `loadMany` gets all ids of an answer at once and answers for
 * each, in order.
 */
export interface UserField {
  readonly name: string;
  readonly result: TSchema;
  loadMany(ids: readonly string[], viewer: Viewer): Promise<readonly unknown[]>;
  /** Cache tags that are purged whenever a value may have changed; without them no response that shows it is cached. */
  readonly tags?: readonly string[];
}
export const userFields = defineExtensionPoint<UserField>(
  'accounts.user-fields',
  'Fields of the user record, loaded for all users of an answer at once.',
  { order: 'The place among the fields of the record.' },
);

/**
 * Which members hide from others when they were last here; they themselves, and those who may see e-mail and IP
 * addresses, see it all the same.
 */
export interface LastSeenRule {
  /** Those of these members. Called once for a list. */
  hidden(ids: readonly string[]): Promise<ReadonlySet<string>>;
  /**
   * The same as a condition on the id of an account, for lists in the order of when members were last here: whoever
   * hides it has no place in them.
   */
  hides(account: RawBuilder<string>): RawBuilder<boolean>;
}
export const lastSeenRules = defineExtensionPoint<LastSeenRule>(
  'accounts.last-seen-rules',
  'Which members hide from others when they were last here; called once for a list.',
);

/** A tab of the profile page, at /u/{username}/{id}; the first one also at /u/{username}. */
export interface ProfileTab {
  readonly id: string;
  readonly label: string;
  /** Whether there is anything on it for this viewer; without it, always. */
  shown?(profile: Author, viewer: Viewer): Promise<boolean>;
  /** The number beside the label. */
  count?(profile: Author, viewer: Viewer): Promise<number>;
  /** `query` is the page's own, for paging. */
  render(profile: Author, viewer: Viewer, query: Readonly<Record<string, string | undefined>>): Promise<SafeHtml>;
}
export const profileTabs = defineExtensionPoint<ProfileTab>(
  'accounts.profile-tabs',
  'Tabs of a member’s profile page, each with its content.',
  { order: 'The place among the tabs; the first is shown at `/u/{username}`.' },
);

export const profileHeader = defineSlot<Author>('profile.header', 'On a member’s profile page, above their name.');
export const profileAbout = defineSlot<Author>(
  'profile.about',
  'On a member’s profile page, between what they say of themselves and the tabs.',
);
export const profileRail = defineSlot<Author>('rail.profile', 'Beside a member’s profile page: small panels.');
export const userCard = defineSlot<Author>(
  'user-card',
  'On each card of a member, wherever a page shows cards, below the numbers.',
);
export const queueAuthor = defineSlot<Author>(
  'queue.author',
  'On each thing that waits in a queue of the moderators, about who wrote it: what they can do about them.',
);
export const userCardActions = defineSlot<Author>(
  'user-card.actions',
  'On the card of one member, which shows beside their name: buttons.',
);
export const registerFields = defineSlot<object>(
  'auth.register.fields',
  'In the form that signs up, above its button: inputs, which the form submits under their names.',
);
/** The page that a login, or a sign-up, leads to: a path, or empty. */
export interface LoginSlot {
  readonly return_to: string;
}
export const loginBefore = defineSlot<LoginSlot>(
  'auth.login.before',
  'On the login page, above the form: other ways to log in.',
);
export const registerBefore = defineSlot<LoginSlot>(
  'auth.register.before',
  'On the page to sign up, above the form: other ways to do so.',
);
/** What is confirmed for: the page to go back to, the form that waits for it, sealed, and whether a code is asked for. */
export interface ConfirmSlot extends LoginSlot {
  readonly pending: string;
  readonly coded: boolean;
}
export const confirmAfter = defineSlot<ConfirmSlot>(
  'auth.confirm.after',
  'On the page where members confirm that it is them, below the form: other ways to do so.',
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
  label: 'change what others see of them',
  default: 'member',
});
