import { HttpError, type Logger, type PluginHandle } from 'parley-forum';
import { loginRefused, type Account } from 'parley-forum/plugins/accounts';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { digest } from '../identifiers.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { AccountsService, Credentials } from '../accounts/service.ts';
import { FailureThrottle, tooManyAttempts } from './failure-throttle.ts';

/** Seconds in which failures and attempts are counted. */
const WINDOW = 900;
/** Attempts of any outcome: right ones cost as much work as wrong ones, and each begins a session. */
const ATTEMPTS: Bucket = { name: 'login_attempt', window: WINDOW, failClosed: true };

interface LoginSettings {
  readonly 'login.rate_limit': number;
  readonly 'login.account_rate_limit': number;
  readonly 'login.attempt_rate_limit': number;
}

export interface AuthenticatorDeps {
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

/** One spelling for all that people see as the same name. */
const normalized = (identifier: string): string => identifier.normalize('NFKC').trim().toLowerCase();

/** Checks names and passwords. Says the same, and takes the same time, whatever was wrong. */
export class Authenticator {
  readonly #options: AuthenticatorDeps;
  readonly #perAddress: FailureThrottle;
  readonly #perAccount: FailureThrottle;

  constructor(options: AuthenticatorDeps) {
    this.#options = options;
    this.#perAddress = new FailureThrottle(options.limits, { name: 'login', window: WINDOW, failClosed: true });
    this.#perAccount = new FailureThrottle(options.limits, { name: 'login_account', window: WINDOW, failClosed: true });
  }

  /** Throws 401 for anything wrong, 429 when the address or the account has failed too often. */
  authenticate(identifier: string, password: string, address: string): Promise<Account> {
    return this.#check(identifier, password, { address, confirming: false });
  }

  /** For a member who is asked again in their session: throws as `authenticate` does, and counts with it. */
  async confirmPassword({ username }: Account, password: string, address: string): Promise<void> {
    await this.#check(username, password, { address, confirming: true });
  }

  #check(identifier: string, password: string, from: Attempt): Promise<Account> {
    const { limits, settings } = this.#options;
    const source = limits.ipKey(from.address);
    const [bySource, byTarget] = [settings['login.rate_limit'], settings['login.account_rate_limit']];
    return this.#perAddress.attempt(source, bySource, async () => {
      const credentials = await this.#find(identifier);
      // Name and e-mail address are one account; an unknown name is counted likewise.
      const target = credentials?.account.id ?? digest(normalized(identifier));
      return this.#perAccount.attempt(target, byTarget, async () => {
        assertAllowed(await limits.consume(ATTEMPTS, target, settings['login.attempt_rate_limit']), tooManyAttempts);
        // A failure until it is found right: other processes, whose attempts this one does not see, count with it.
        assertAllowed(await this.#perAccount.recordFailure(target, byTarget), tooManyAttempts);
        const account = await this.#verify(credentials, password, from);
        if (!account) {
          await this.#perAddress.recordFailure(source, bySource);
          throw new HttpError(401, 'The name or the password is wrong', { code: 'wrong_credentials' });
        }
        await this.#perAccount.clear(target);
        return account;
      });
    });
  }

  /** As it was typed, or as it reads. */
  async #find(identifier: string): Promise<Credentials | undefined> {
    for (const name of new Set([identifier.trim().toLowerCase(), normalized(identifier)])) {
      const found = await this.#options.accounts.credentials(name);
      if (found) return found;
    }
    return undefined;
  }

  /**
   * An unknown name is handled as a wrong password, log line included, so that neither response nor timing tells them
   * apart.
   */
  async #verify(
    credentials: Credentials | undefined,
    password: string,
    { address, confirming }: Attempt,
  ): Promise<Account | undefined> {
    const { accounts, passwords, emit, log } = this.#options;
    const right = await passwords.verify(password, credentials?.passwordHash);
    if (!credentials || !right || credentials.account.status !== 'active') {
      log.info({ account: credentials?.account.id, address, confirming, outcome: 'refused' }, 'login');
      await emit(loginRefused, { id: credentials?.account.id, confirming, address });
      return undefined;
    }
    if (passwords.needsRehash(credentials.passwordHash))
      await accounts.rehash(credentials.account.id, credentials.passwordHash, await passwords.hash(password));
    log.info({ account: credentials.account.id, address, confirming, outcome: 'accepted' }, 'login');
    return credentials.account;
  }
}
