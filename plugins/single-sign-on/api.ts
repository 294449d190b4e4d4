import { defineAction, definePermission, defineToken } from 'parley-forum';

/** An identity provider as administrators see it: everything but its secret. */
export interface ProviderRecord {
  readonly id: string;
  /** Its name in paths; cannot be changed. */
  readonly slug: string;
  /** Shown on the buttons of the login page. */
  readonly name: string;
  readonly issuer: string;
  readonly client_id: string;
  readonly has_secret: boolean;
  readonly scopes: string;
  readonly active: boolean;
  /** Whether people may sign up through it. */
  readonly creates_accounts: boolean;
  /** Whether e-mail addresses that it reports as verified need no confirmation mail. */
  readonly trusts_email: boolean;
  /** The redirect URI to register at the provider. */
  readonly redirect_uri: string;
  /** Number of members who have linked an account there. */
  readonly members: number;
}

/** A finding of the check of an identity provider; `text` is in the language of the viewer. */
export interface ProviderFinding {
  readonly state: 'good' | 'warning' | 'bad';
  readonly text: string;
}

/** The provider concerned, and the account that made the change. */
export interface ProviderChange {
  readonly actor: string | undefined;
  readonly provider: { readonly id: string; readonly name: string };
}
/** An administrator added or changed an identity provider. */
export const providerSaved = defineAction<
  ProviderChange & { readonly provider: { readonly issuer: string; readonly active: boolean } }
>('single-sign-on.provider-saved');
/** An administrator ran the check of an identity provider. */
export const providerChecked = defineAction<ProviderChange>('single-sign-on.provider-checked');
/** An administrator removed an identity provider, along with the linked accounts of `members` members. */
export const providerRemoved = defineAction<ProviderChange & { readonly members: number }>(
  'single-sign-on.provider-removed',
);

/** A change of the link between a member and their account at an identity provider, which is named by its id. */
export interface IdentityChange {
  readonly account: string;
  readonly provider: string;
}
/** A member linked an account at an identity provider, by which they can log in from now on. */
export const identityLinked = defineAction<IdentityChange & { readonly address: string }>('single-sign-on.linked');
/**
 * A linked account was unlinked. `cause`: the member's own wish, an operator's command, or a password reset by a link
 * in a mail, since somebody else may have linked theirs.
 */
export const identityUnlinked = defineAction<
  IdentityChange & { readonly cause: 'member' | 'operator' | 'password reset' }
>('single-sign-on.unlinked');
/** A login at an identity provider failed; `reason` is a single word, such as `answer`. */
export const signOnRefused = defineAction<{
  readonly provider: string;
  readonly reason: string;
  readonly address: string;
}>('single-sign-on.refused');

/** An account at an identity provider by which a member logs in. */
export interface LinkedIdentity {
  /** The provider's name in paths. */
  readonly slug: string;
  /** Shown on the buttons of the login page. */
  readonly name: string;
  /** Whether members can log in by the provider at present. */
  readonly active: boolean;
  /** The member's name there, to tell accounts apart. */
  readonly label: string | null;
  readonly linkedAt: Date;
  readonly usedAt: Date | null;
}

/** The accounts at identity providers that members have linked. */
export interface Identities {
  /** The linked accounts of a member, in the order in which they were linked. */
  of(accountId: string): Promise<readonly LinkedIdentity[]>;
  /**
   * Unlinks an account on behalf of an operator and raises `single-sign-on.unlinked`. Throws 404 if there is no
   * provider of this name or no account there is linked, and 409 if the member could not log in any more.
   */
  unlink(accountId: string, slug: string): Promise<void>;
}
export const Identities = defineToken<Identities>('Identities');

export const manageProviders = definePermission('single-sign-on.manage', {
  label: 'manage identity providers that members log in with',
  default: 'admin',
});
