import { defineAction, definePermission, defineToken } from 'parley-forum';

/** An identity provider as administrators see it: everything but its secret. */
export interface ProviderRecord {
  readonly id: string;
  /** What it is called in paths; stays. */
  readonly slug: string;
  /** On the buttons of the login page. */
  readonly name: string;
  readonly issuer: string;
  readonly client_id: string;
  readonly has_secret: boolean;
  readonly scopes: string;
  readonly active: boolean;
  /** Whether it may bring new members. */
  readonly creates_accounts: boolean;
  /** Whether an e-mail address that it calls verified needs no mail that confirms it. */
  readonly trusts_email: boolean;
  /** To be registered at the provider. */
  readonly redirect_uri: string;
  /** Members who have linked an account there. */
  readonly members: number;
}

/** What was found when an identity provider was asked about itself; `text` in the language of whoever asked. */
export interface ProviderFinding {
  readonly state: 'good' | 'warning' | 'bad';
  readonly text: string;
}

/** Which provider it is about, and the account that did it. */
export interface ProviderChange {
  readonly actor: string | undefined;
  readonly provider: { readonly id: string; readonly name: string };
}
/** An administrator added or changed an identity provider. */
export const providerSaved = defineAction<
  ProviderChange & { readonly provider: { readonly issuer: string; readonly active: boolean } }
>('single-sign-on.provider-saved');
/** An administrator asked an identity provider about itself. */
export const providerChecked = defineAction<ProviderChange>('single-sign-on.provider-checked');
/** An administrator removed an identity provider, with the links of so many members. */
export const providerRemoved = defineAction<ProviderChange & { readonly members: number }>(
  'single-sign-on.provider-removed',
);

/** What happened to the link between a member and their account at an identity provider, named by its id. */
export interface IdentityChange {
  readonly account: string;
  readonly provider: string;
}
/** A member can log in by an identity provider from now on: an account there is linked to theirs. */
export const identityLinked = defineAction<IdentityChange & { readonly address: string }>('single-sign-on.linked');
/**
 * That is over. `cause`: the member's own wish, an operator's command, or a password that was set anew by a link in a
 * mail, since somebody else may have linked theirs.
 */
export const identityUnlinked = defineAction<
  IdentityChange & { readonly cause: 'member' | 'operator' | 'password reset' }
>('single-sign-on.unlinked');
/** A login at an identity provider came to nothing; `reason` in one word, such as `answer`. */
export const signOnRefused = defineAction<{
  readonly provider: string;
  readonly reason: string;
  readonly address: string;
}>('single-sign-on.refused');

/** An account at an identity provider by which a member logs in. */
export interface LinkedIdentity {
  /** What the provider is called in paths. */
  readonly slug: string;
  /** On the buttons of the login page. */
  readonly name: string;
  /** Whether people log in by the provider now. */
  readonly active: boolean;
  /** What the member is called there, to tell accounts apart. */
  readonly label: string | null;
  readonly linkedAt: Date;
  readonly usedAt: Date | null;
}

/** Which accounts at identity providers members have linked. */
export interface Identities {
  /** In the order in which they were linked. */
  of(accountId: string): Promise<readonly LinkedIdentity[]>;
  /**
   * An operator's: raises `single-sign-on.unlinked`. 404 where there is no provider of this name or nothing is linked
   * there; 409 where the member could not log in any more.
   */
  unlink(accountId: string, slug: string): Promise<void>;
}
export const Identities = defineToken<Identities>('Identities');

export const manageProviders = definePermission('single-sign-on.manage', {
  label: 'manage identity providers, by which members log in',
  default: 'admin',
});
