import { sql, ZERO_ID } from 'parley-forum';
import type { Account, EmailConfirmation } from 'parley-forum/plugins/accounts';
import type { Deletions } from 'parley-forum/ports/personal-data';
import { emailConfirmed } from 'parley-forum/plugins/recovery';
import type { EmailChanges, EmailChangesDeps } from './email-changes.ts';
import { CONFIRMATION_LIFETIME, Links } from './links.ts';
import { CONFIRMATIONS, consume } from './rate-limits.ts';

export interface EmailConfirmationsDeps extends EmailChangesDeps {
  readonly changes: Pick<EmailChanges, 'begin'>;
  /** If undefined, unconfirmed sign-ups are never deleted. */
  readonly deletions: Deletions | undefined;
}
const DAY = 86_400_000;

type NewMember = Pick<Account, 'id' | 'username' | 'email'>;

/** Confirms the e-mail addresses of new members. */
export class EmailConfirmations implements EmailConfirmation {
  readonly name = 'email_verification';
  readonly path = '/register/sent';
  readonly #deps: EmailConfirmationsDeps;
  readonly #links: Links<NewMember>;

  constructor(deps: EmailConfirmationsDeps) {
    this.#deps = deps;
    this.#links = new Links({
      ...deps,
      purpose: 'confirm',
      lifetime: () => CONFIRMATION_LIFETIME,
      boundTo: ({ email }) => email.toLowerCase(),
    });
  }

  required(): boolean {
    return this.#deps.plugin.settings['registration.email_verification'];
  }

  async begin(account: NewMember): Promise<void> {
    const { data, clock } = this.#deps;
    await data.all(
      sql`insert into recovery_unconfirmed (account_id, since) values (${account.id}, ${new Date(clock.now())})`,
    );
    await this.#send(account);
  }

  /** Unconfirmed members may have lost the mail and get another one; others are notified of the attempt. */
  async emailTaken(account: Account): Promise<void> {
    const { clock, mail, emails, limits, plugin } = this.#deps;
    if (account.status !== 'active') return;
    if (await this.pending(account.id)) {
      const allowance = await limits.consume(CONFIRMATIONS, account.id, plugin.settings['password_reset.rate_limit']);
      return allowance.allowed ? this.#send(account) : undefined;
    }
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    await mail.send(await emails.emailTaken(account, day));
  }

  changeEmail(account: Account, email: string): Promise<void> {
    return this.#deps.changes.begin(account, email);
  }

  /** Whether the member still has to confirm their address before they can log in. */
  async pending(accountId: string): Promise<boolean> {
    return this.required() && (await this.unconfirmed([accountId])).has(accountId);
  }

  async unconfirmed(accountIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await this.#deps.data.all(
      sql<{
        id: string;
      }>`select account_id as id from recovery_unconfirmed where account_id = any(${accountIds}::uuid[])`,
    );
    return new Set(rows.map(({ id }) => id));
  }

  /** Sends another mail, whose link invalidates the previous one. Throws 429 when the limit is exceeded. */
  async resend(account: Account): Promise<void> {
    const { limits, plugin } = this.#deps;
    await consume(limits, CONFIRMATIONS, account.id, plugin.settings['password_reset.rate_limit']);
    await this.#send(account);
  }

  /** The account a link belongs to; undefined if the link is invalid or has expired. */
  find(token: string): Promise<Account | undefined> {
    return this.#links.find(token);
  }

  /** Resolves to false if the link is invalid. */
  async finish(token: string, address: string): Promise<boolean> {
    const { data, plugin } = this.#deps;
    return data.transaction(async () => {
      const used = await this.#links.use(token);
      if (!used) return false;
      await this.confirm(used.account.id);
      await plugin.emit(emailConfirmed, { account: used.account.id, address });
      return true;
    });
  }

  /** Records that the address is known to be the member's, whether confirmed here or proven elsewhere. */
  async confirm(accountId: string): Promise<void> {
    await this.#deps.data.all(sql`delete from recovery_unconfirmed where account_id = ${accountId}`);
  }

  deleteExpired(): Promise<void> {
    return this.#links.deleteExpired();
  }

  /**
   * Erases sign-ups whose address was not confirmed for long: it may belong to another person, who could never sign up
   * with it. Members who logged in while no confirmation was required are kept.
   */
  async endOldSignUps(signal: AbortSignal): Promise<void> {
    const { data, clock, accounts, deletions, plugin } = this.#deps;
    if (!deletions || !this.required()) return;
    const before = new Date(clock.now() - plugin.settings['registration.unconfirmed_days'] * DAY);
    const next = (after: string): Promise<{ readonly id: string } | undefined> =>
      data.one(sql<{ id: string }>`select account_id as id from recovery_unconfirmed
        where account_id > ${after} and since < ${before} order by account_id limit 1`);
    for (let row = await next(ZERO_ID); row && !signal.aborted; row = await next(row.id)) {
      if (await accounts.loggedInSince(row.id, new Date(0))) continue;
      await deletions
        .erase(row.id, 'remove')
        .catch((error: unknown) =>
          plugin.log.error({ error, account: row?.id }, 'an unconfirmed sign-up could not be erased'),
        );
    }
  }

  async #send(account: NewMember): Promise<void> {
    const { data, mail, emails } = this.#deps;
    await data.transaction(async () =>
      mail.send(await emails.confirm(account.email, { ...account, token: await this.#links.make(account) })),
    );
  }
}
