import { HttpError, type Logger, type PluginHandle } from '#core';
import { loginRefused, type Account } from '#plugins/accounts';
import type { Limits } from '#plugins/limits';
import type { Passwords } from './passwords.ts';
import type { AccountsService } from './service.ts';
import { FailureThrottle } from './throttle.ts';

/** Seconds in which failures are counted. */
const WINDOW = 900;

export interface LoginSettings {
  readonly 'login.rate_limit': number;
  readonly 'login.account_rate_limit': number;
}

export interface LoginOptions {
  readonly accounts: AccountsService;
  readonly passwords: Passwords;
  readonly limits: Limits;
  readonly settings: LoginSettings;
  readonly emit: PluginHandle['emit'];
  readonly log: Logger;
}

/** Where a password comes from, and whether a member is asked for it again. */
interface Attempt {
  readonly address: string;
  readonly confirming: boolean;
}

/** Checks names and passwords. Says the same, and takes the same time, whatever was wrong. */
export class Logins {
  readonly #options: LoginOptions;
  readonly #perAddress: FailureThrottle;
  readonly #perAccount: FailureThrottle;

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#perAddress = new FailureThrottle(options.limits, { name: 'login', window: WINDOW, failClosed: true });
    this.#perAccount = new FailureThrottle(options.limits, { name: 'login_account', window: WINDOW, failClosed: true });
  }

  /** Throws 401 for anything wrong, 429 when the address or the account has failed too often. */
  check(identifier: string, password: string, address: string): Promise<Account> {
    return this.#check(identifier, password, { address, confirming: false });
  }

  /** For a member who is asked again in their session: throws as `check` does, and counts with it. */
  async confirm({ username }: Account, password: string, address: string): Promise<void> {
    await this.#check(username, password, { address, confirming: true });
  }

  #check(identifier: string, password: string, from: Attempt): Promise<Account> {
    const { limits, settings } = this.#options;
    const source = limits.addressKey(from.address);
    const target = identifier.trim().toLowerCase();
    const [bySource, byTarget] = [settings['login.rate_limit'], settings['login.account_rate_limit']];
    return this.#perAddress.attempt(source, bySource, () => this.#perAccount.attempt(target, byTarget, async () => {
      const account = await this.#verify(target, password, from);
      if (!account) {
        await Promise.all([this.#perAddress.failed(source, bySource), this.#perAccount.failed(target, byTarget)]);
        throw new HttpError(401, 'The name or the password is wrong', { code: 'wrong_credentials' });
      }
      await this.#perAccount.clear(target);
      return account;
    }));
  }

  /** An unknown name goes the same way as a wrong password, note and all, so that neither answer nor time tells them apart. */
  async #verify(identifier: string, password: string, { address, confirming }: Attempt): Promise<Account | undefined> {
    const { accounts, passwords, emit, log } = this.#options;
    const credentials = await accounts.credentials(identifier);
    const right = await passwords.verify(password, credentials?.passwordHash);
    if (!credentials || !right || credentials.account.status !== 'active') {
      log.info({ account: credentials?.account.id, address, confirming, outcome: 'refused' }, 'login');
      await emit(loginRefused, { id: credentials?.account.id, confirming, address });
      return undefined;
    }
    if (passwords.outdated(credentials.passwordHash)) await accounts.rehash(credentials.account.id, credentials.passwordHash, await passwords.hash(password));
    log.info({ account: credentials.account.id, address, confirming, outcome: 'accepted' }, 'login');
    return credentials.account;
  }
}
