import { Type, type Clock, type Data, type Job, type PluginHandle, type Secrets } from 'parley-forum';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';
import type { Limits } from 'parley-forum/plugins/limits';
import type { Mail } from 'parley-forum/plugins/mail';
import { passwordReset, resetAsked } from 'parley-forum/plugins/recovery';
import type { Letters } from './letters.ts';
import { Links } from './links.ts';
import { PER_ACCOUNT, PER_ADDRESS, take } from './rates.ts';
import type { RecoverySettings } from './settings.ts';

export interface ResetParts {
  readonly plugin: PluginHandle<RecoverySettings>;
  readonly data: Data;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly limits: Limits;
  readonly accounts: Accounts;
  readonly mail: Mail;
  readonly letters: Letters;
  /** The member reads mail at their address: they came by a link in it. */
  proven(account: Account): Promise<void>;
}

/** Who asks: kept sealed until the job has run, since it names an address. */
interface Request {
  readonly email: string;
  readonly address: string;
}

/** New passwords for those who have forgotten theirs. */
export class Resets {
  readonly #parts: ResetParts;
  readonly #links: Links<Account>;
  readonly #job: Job<{ readonly sealed: string }>;

  constructor(parts: ResetParts) {
    this.#parts = parts;
    const { plugin, secrets } = parts;
    this.#links = new Links({
      ...parts,
      purpose: 'reset',
      lifetime: () => plugin.settings['security.password_reset_token_ttl'],
      // A password that was changed meanwhile, or an address that is another one now: the link is of no use any more.
      boundTo: ({ permissionsVersion, email }) => `${permissionsVersion} ${email.toLowerCase()}`,
    });
    this.#job = plugin.job('reset', {
      schema: Type.Object({ sealed: Type.String() }),
      run: ({ sealed }) => this.#send(JSON.parse(secrets.open(sealed)) as Request),
    });
  }

  /**
   * Does the same, and takes the same time, whether or not there is such a member: who it is is looked up afterwards.
   * Throws 429.
   */
  async ask(email: string, address: string): Promise<void> {
    const { plugin, limits, secrets } = this.#parts;
    const target = email.trim().toLowerCase();
    const limit = plugin.settings['password_reset.rate_limit'];
    await take(limits, PER_ADDRESS, limits.addressKey(address), limit);
    await take(limits, PER_ACCOUNT, target, limit);
    await this.#job.add({ sealed: secrets.seal(JSON.stringify({ email: target, address } satisfies Request)) });
  }

  /** Whose link it is; undefined for one that does not work (any more). */
  find(token: string): Promise<Account | undefined> {
    return this.#links.find(token);
  }

  /** False for a link that does not work. 400 where the password is refused: then the link still works. */
  async finish(token: string, password: string, address: string): Promise<boolean> {
    const { plugin, accounts, proven } = this.#parts;
    const used = await this.#links.use(token);
    if (!used) return false;
    const { account } = used;
    try {
      await accounts.resetPassword(account.id, password);
    } catch (error) {
      await used.giveBack();
      throw error;
    }
    await proven(account);
    await plugin.emit(passwordReset, { account: account.id, address });
    return true;
  }

  clean(): Promise<void> {
    return this.#links.clean();
  }

  async #send({ email, address }: Request): Promise<void> {
    const { plugin, data, accounts, mail, letters } = this.#parts;
    const account = email.includes('@') ? await accounts.findByIdentifier(email) : undefined;
    if (account?.status !== 'active') return;
    await data.transaction(async () => {
      const token = await this.#links.make(account);
      await mail.send(
        letters.reset(account.email, {
          token,
          username: account.username,
          lifetime: plugin.settings['security.password_reset_token_ttl'],
        }),
      );
      await plugin.emit(resetAsked, { account: account.id, address });
    });
  }
}
