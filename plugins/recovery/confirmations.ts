import { sql } from 'parley-forum';
import type { Account, EmailConfirmation } from 'parley-forum/plugins/accounts';
import { emailConfirmed } from 'parley-forum/plugins/recovery';
import type { AddressChanges, AddressParts } from './address-changes.ts';
import { CONFIRMATION_LIFETIME, Links } from './links.ts';
import { CONFIRMATIONS, take } from './rates.ts';

export interface ConfirmationParts extends AddressParts {
  readonly changes: Pick<AddressChanges, 'begin'>;
}
type Newcomer = Pick<Account, 'id' | 'username' | 'email'>;

/** Whether members have shown that their address is theirs. */
export class Confirmations implements EmailConfirmation {
  readonly name = 'email_verification';
  readonly path = '/register/sent';
  readonly #parts: ConfirmationParts;
  readonly #links: Links<Newcomer>;

  constructor(parts: ConfirmationParts) {
    this.#parts = parts;
    this.#links = new Links({
      ...parts,
      purpose: 'confirm',
      lifetime: () => CONFIRMATION_LIFETIME,
      boundTo: ({ email }) => email.toLowerCase(),
    });
  }

  required(): boolean {
    return this.#parts.plugin.settings['registration.email_verification'];
  }

  async begin(account: Newcomer): Promise<void> {
    const { data, clock } = this.#parts;
    await data.all(
      sql`insert into recovery_unconfirmed (account_id, since) values (${account.id}, ${new Date(clock.now())})`,
    );
    await this.#send(account);
  }

  /** Whoever has not confirmed the address yet may have lost the mail; all others are told that somebody tried. */
  async emailTaken(account: Account): Promise<void> {
    const { clock, mail, letters, limits, plugin } = this.#parts;
    if (account.status !== 'active') return;
    if (await this.outstanding(account.id)) {
      const allowance = await limits.consume(CONFIRMATIONS, account.id, plugin.settings['password_reset.rate_limit']);
      return allowance.allowed ? this.#send(account) : undefined;
    }
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    await mail.send(letters.taken(account.email, { id: account.id, username: account.username, day }));
  }

  changeEmail(account: Account, email: string): Promise<void> {
    return this.#parts.changes.begin(account, email);
  }

  /** The member cannot log in yet. */
  async outstanding(accountId: string): Promise<boolean> {
    if (!this.required()) return false;
    return (
      (await this.#parts.data.one(sql`select 1 from recovery_unconfirmed where account_id = ${accountId}`)) !==
      undefined
    );
  }

  /** Another mail, whose link voids the one before. Throws 429. */
  async sendAgain(account: Account): Promise<void> {
    const { limits, plugin } = this.#parts;
    await take(limits, CONFIRMATIONS, account.id, plugin.settings['password_reset.rate_limit']);
    await this.#send(account);
  }

  /** Whose link it is; undefined for one that does not work (any more). */
  find(token: string): Promise<Account | undefined> {
    return this.#links.find(token);
  }

  /** False for a link that does not work. */
  async finish(token: string, address: string): Promise<boolean> {
    const { data, plugin } = this.#parts;
    return data.transaction(async () => {
      const used = await this.#links.use(token);
      if (!used) return false;
      await this.accept(used.account.id);
      await plugin.emit(emailConfirmed, { account: used.account.id, address });
      return true;
    });
  }

  /** The address is known to be the member's, from here or elsewhere. */
  async accept(accountId: string): Promise<void> {
    await this.#parts.data.all(sql`delete from recovery_unconfirmed where account_id = ${accountId}`);
  }

  clean(): Promise<void> {
    return this.#links.clean();
  }

  async #send(account: Newcomer): Promise<void> {
    const { data, mail, letters } = this.#parts;
    await data.transaction(async () =>
      mail.send(letters.confirm(account.email, { token: await this.#links.make(account), username: account.username })),
    );
  }
}
