import { sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';
import type { Limits } from 'parley-forum/plugins/limits';
import type { Mail } from 'parley-forum/ports/mail';
import { emailConfirmed } from 'parley-forum/plugins/recovery';
import type { RecoveryEmails } from './emails.ts';
import { CONFIRMATION_LIFETIME, Links } from './links.ts';
import { CONFIRMATIONS, consume } from './rate-limits.ts';
import type { RecoverySettings } from './settings.ts';

export interface EmailChangesDeps {
  readonly plugin: PluginHandle<RecoverySettings>;
  readonly data: Data;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly accounts: Accounts;
  readonly mail: Mail;
  readonly emails: RecoveryEmails;
}

/** Requested changes of e-mail addresses. A change takes effect once the link sent to the new address is followed. */
export class EmailChanges {
  readonly #deps: EmailChangesDeps;
  readonly #links: Links<Account>;

  constructor(deps: EmailChangesDeps) {
    this.#deps = deps;
    this.#links = new Links({
      ...deps,
      purpose: 'address',
      lifetime: () => CONFIRMATION_LIFETIME,
      // An intruder who requested an address must not be able to regain the account with it after the password was
      // changed.
      boundTo: ({ permissionsVersion, email }) => `${permissionsVersion} ${email.toLowerCase()}`,
    });
  }

  /**
   * Replaces an earlier request. An address in use gets the same response as any other: its owner is notified, and no
   * link is sent. Throws 429 when the limit is exceeded.
   */
  async begin(account: Account, email: string): Promise<void> {
    const { plugin, data, clock, limits, accounts, mail, emails } = this.#deps;
    await consume(limits, CONFIRMATIONS, account.id, plugin.settings['password_reset.rate_limit']);
    const owner = await accounts.findByIdentifier(email);
    await data.transaction(async () => {
      await data.all(sql`insert into recovery_address (account_id, email, since)
        values (${account.id}, ${email}, ${new Date(clock.now())})
        on conflict (account_id) do update set email = excluded.email, since = excluded.since`);
      const token = await this.#links.make(account);
      if (!owner) return mail.send(await emails.change(email, { ...account, token }));
      const day = new Date(clock.now()).toISOString().slice(0, 10);
      if (owner.status === 'active') await mail.send(await emails.emailWanted(owner, day));
    });
  }

  /** The address that the member requested, while the link to it is valid. */
  async pendingEmail(account: Account): Promise<string | undefined> {
    if (!(await this.#links.hasUsable(account))) return undefined;
    const row = await this.#deps.data.one(
      sql<{ email: string }>`select email from recovery_address where account_id = ${account.id}`,
    );
    return row?.email;
  }

  /** The account a link belongs to; undefined if the link is invalid or has expired. */
  find(token: string): Promise<Account | undefined> {
    return this.#links.find(token);
  }

  /**
   * Resolves to false if the link is invalid. Throws 400, without changing anything, if another member has taken the
   * address in the meantime.
   */
  async finish(token: string, address: string): Promise<boolean> {
    const { data, accounts, plugin } = this.#deps;
    return data.transaction(async () => {
      const used = await this.#links.use(token);
      if (!used) return false;
      const { id } = used.account;
      const row = await data.one(
        sql<{ email: string }>`delete from recovery_address where account_id = ${id} returning email`,
      );
      if (!row) return false;
      await accounts.setEmail(id, row.email, id);
      await plugin.emit(emailConfirmed, { account: id, address });
      return true;
    });
  }

  async deleteExpired(): Promise<void> {
    const { data, clock } = this.#deps;
    await this.#links.deleteExpired();
    await data.all(
      sql`delete from recovery_address where since <= ${new Date(clock.now() - CONFIRMATION_LIFETIME * 1_000)}`,
    );
  }
}
