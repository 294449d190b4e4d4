import { sql, type Clock, type Data, type PluginHandle } from 'parley-forum';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';
import type { Limits } from 'parley-forum/plugins/limits';
import type { Mail } from 'parley-forum/plugins/mail';
import { emailConfirmed } from 'parley-forum/plugins/recovery';
import type { Letters } from './letters.ts';
import { CONFIRMATION_LIFETIME, Links } from './links.ts';
import { CONFIRMATIONS, take } from './rates.ts';
import type { RecoverySettings } from './settings.ts';

export interface AddressParts {
  readonly plugin: PluginHandle<RecoverySettings>;
  readonly data: Data;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly accounts: Accounts;
  readonly mail: Mail;
  readonly letters: Letters;
}

/** The addresses that members want, each theirs once the link that went there was followed. */
export class AddressChanges {
  readonly #parts: AddressParts;
  readonly #links: Links<Account>;

  constructor(parts: AddressParts) {
    this.#parts = parts;
    this.#links = new Links({
      ...parts,
      purpose: 'address',
      lifetime: () => CONFIRMATION_LIFETIME,
      // Whoever had the account before a new password must not get it back by an address that they asked for.
      boundTo: ({ permissionsVersion, email }) => `${permissionsVersion} ${email.toLowerCase()}`,
    });
  }

  /**
   * In place of the address wanted before. One in use is answered like any other: its owner is told, and the link goes
   * nowhere. Throws 429.
   */
  async begin(account: Account, email: string): Promise<void> {
    const { plugin, data, clock, limits, accounts, mail, letters } = this.#parts;
    await take(limits, CONFIRMATIONS, account.id, plugin.settings['password_reset.rate_limit']);
    const owner = await accounts.findByIdentifier(email);
    await data.transaction(async () => {
      await data.all(sql`insert into recovery_address (account_id, email, since) values (${account.id}, ${email}, ${new Date(clock.now())})
        on conflict (account_id) do update set email = excluded.email, since = excluded.since`);
      const token = await this.#links.make(account);
      if (!owner) return mail.send(letters.change(email, { token, username: account.username }));
      const day = new Date(clock.now()).toISOString().slice(0, 10);
      if (owner.status === 'active')
        await mail.send(letters.wanted(owner.email, { id: owner.id, username: owner.username, day }));
    });
  }

  /** What the member wants, while the link to it works. */
  async wanted(account: Account): Promise<string | undefined> {
    if (!(await this.#links.waiting(account))) return undefined;
    const row = await this.#parts.data.one(
      sql<{ email: string }>`select email from recovery_address where account_id = ${account.id}`,
    );
    return row?.email;
  }

  /** Whose link it is; undefined for one that does not work (any more). */
  find(token: string): Promise<Account | undefined> {
    return this.#links.find(token);
  }

  /**
   * False for a link that does not work. 400 where somebody else has got the address meanwhile: then nothing is
   * changed.
   */
  async finish(token: string, address: string): Promise<boolean> {
    const { data, accounts, plugin } = this.#parts;
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

  async clean(): Promise<void> {
    const { data, clock } = this.#parts;
    await this.#links.clean();
    await data.all(
      sql`delete from recovery_address where since <= ${new Date(clock.now() - CONFIRMATION_LIFETIME * 1_000)}`,
    );
  }
}
