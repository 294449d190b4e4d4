import { Type, type Clock, type Data, type Job, type PluginHandle, type Secrets } from 'parley-forum';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';
import type { Limits } from 'parley-forum/plugins/limits';
import type { Mail } from 'parley-forum/ports/mail';
import { passwordReset, resetRequested } from 'parley-forum/plugins/recovery';
import type { RecoveryEmails } from './emails.ts';
import { Links } from './links.ts';
import { RESETS_PER_ACCOUNT, RESETS_PER_IP, consume } from './rate-limits.ts';
import type { RecoverySettings } from './settings.ts';

export interface PasswordResetsDeps {
  readonly plugin: PluginHandle<RecoverySettings>;
  readonly data: Data;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly limits: Limits;
  readonly accounts: Accounts;
  readonly mail: Mail;
  readonly emails: RecoveryEmails;
  /** Called when a member has followed a link sent to their address, which proves that it is theirs. */
  emailProven(account: Account): Promise<void>;
}

/** The stored request, sealed until the job has run, since it holds an e-mail address. */
interface Request {
  readonly email: string;
  readonly address: string;
}

/** Lets members who forgot their password set a new one. */
export class PasswordResets {
  readonly #deps: PasswordResetsDeps;
  readonly #links: Links<Account>;
  readonly #job: Job<{ readonly sealed: string }>;

  constructor(deps: PasswordResetsDeps) {
    this.#deps = deps;
    const { plugin, secrets } = deps;
    this.#links = new Links({
      ...deps,
      purpose: 'reset',
      lifetime: () => plugin.settings['security.password_reset_token_ttl'],
      // The link becomes invalid when the password or the e-mail address changes.
      boundTo: ({ permissionsVersion, email }) => `${permissionsVersion} ${email.toLowerCase()}`,
    });
    this.#job = plugin.job('reset', {
      schema: Type.Object({ sealed: Type.String() }),
      run: ({ sealed }) => this.#send(JSON.parse(secrets.open(sealed)) as Request),
    });
  }

  /**
   * Does the same work in the same time whether or not the member exists: the account is looked up later, by the job.
   * Throws 429 when the limit is exceeded.
   */
  async request(email: string, address: string): Promise<void> {
    const { plugin, limits, secrets } = this.#deps;
    const target = email.trim().toLowerCase();
    const limit = plugin.settings['password_reset.rate_limit'];
    await consume(limits, RESETS_PER_IP, limits.ipKey(address), limit);
    await consume(limits, RESETS_PER_ACCOUNT, target, limit);
    await this.#job.add({ sealed: secrets.seal(JSON.stringify({ email: target, address } satisfies Request)) });
  }

  /** The account a link belongs to; undefined if the link is invalid or has expired. */
  find(token: string): Promise<Account | undefined> {
    return this.#links.find(token);
  }

  /** Resolves to false if the link is invalid. Throws 400 if the password is refused; the link then stays valid. */
  async finish(token: string, password: string, address: string): Promise<boolean> {
    const { plugin, accounts, emailProven } = this.#deps;
    const used = await this.#links.use(token);
    if (!used) return false;
    const { account } = used;
    try {
      await accounts.resetPassword(account.id, password);
    } catch (error) {
      await used.restore();
      throw error;
    }
    await emailProven(account);
    await plugin.emit(passwordReset, { account: account.id, address });
    return true;
  }

  deleteExpired(): Promise<void> {
    return this.#links.deleteExpired();
  }

  async #send({ email, address }: Request): Promise<void> {
    const { plugin, data, accounts, mail, emails } = this.#deps;
    const account = email.includes('@') ? await accounts.findByIdentifier(email) : undefined;
    if (account?.status !== 'active') return;
    await data.transaction(async () => {
      const token = await this.#links.make(account);
      const lifetime = plugin.settings['security.password_reset_token_ttl'];
      await mail.send(await emails.reset(account.email, { ...account, token, lifetime }));
      await plugin.emit(resetRequested, { account: account.id, address });
    });
  }
}
