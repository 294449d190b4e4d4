import { HttpError, type Logger } from '#core';
import type { Account } from '#plugins/accounts';
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
  readonly log: Logger;
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
    const { limits, settings } = this.#options;
    const source = limits.addressKey(address);
    const target = identifier.trim().toLowerCase();
    return this.#perAddress.attempt(source, settings['login.rate_limit'], () =>
      this.#perAccount.attempt(target, settings['login.account_rate_limit'], async () => {
        const account = await this.#verify(target, password, address);
        if (account) await this.#perAccount.clear(target);
        else await Promise.all([this.#perAddress.failed(source, settings['login.rate_limit']), this.#perAccount.failed(target, settings['login.account_rate_limit'])]);
        if (!account) throw new HttpError(401, 'The name or the password is wrong', { code: 'wrong_credentials' });
        return account;
      }));
  }

  async #verify(identifier: string, password: string, address: string): Promise<Account | undefined> {
    const { accounts, passwords, log } = this.#options;
    const credentials = await accounts.credentials(identifier);
    const right = await passwords.verify(password, credentials?.passwordHash);
    if (!credentials || !right || credentials.account.status !== 'active') {
      log.info({ account: credentials?.account.id, address, outcome: 'refused' }, 'login');
      return undefined;
    }
    const hash = passwords.outdated(credentials.passwordHash) ? await passwords.hash(password) : undefined;
    await accounts.recordLogin(credentials, address, hash);
    log.info({ account: credentials.account.id, address, outcome: 'accepted' }, 'login');
    return credentials.account;
  }
}
