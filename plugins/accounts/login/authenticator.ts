import { HttpError, type Logger, type PluginHandle } from 'parley-forum';
import { loginRefused, type Account } from 'parley-forum/plugins/accounts';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { digest } from '../identifiers.ts';
import type { Passwords } from '../passwords/passwords.ts';
import type { AccountsService, Credentials } from '../accounts/service.ts';
import { FailureThrottle, tooManyAttempts } from './failure-throttle.ts';

/** Window in seconds over which failures and attempts are counted. */
const WINDOW = 900;
/** Counts all attempts: successful ones cost as much work as failed ones, and each starts a session. */
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

/** Where a password attempt comes from, and whether it confirms the identity of a logged-in member. */
interface Attempt {
  readonly address: string;
  readonly confirming: boolean;
}

/** Normalizes names that look the same to people. */
const normalized = (identifier: string): string => identifier.normalize('NFKC').trim().toLowerCase();

/** Checks names and passwords. Response and timing are the same whatever was wrong. */
export class Authenticator {
  readonly #options: AuthenticatorDeps;
  readonly #perAddress: FailureThrottle;
  readonly #perAccount: FailureThrottle;

  constructor(options: AuthenticatorDeps) {
    this.#options = options;
    this.#perAddress = new FailureThrottle(options.limits, { name: 'login', window: WINDOW, failClosed: true });
    this.#perAccount = new FailureThrottle(options.limits, { name: 'login_account', window: WINDOW, failClosed: true });
  }

  /** Throws 401 for any wrong credentials, 429 if the address or the account has failed too often. */
  authenticate(identifier: string, password: string, address: string): Promise<Account> {
    return this.#check(identifier, password, { address, confirming: false });
  }

  /**
   * For a member who is asked for the password again in a session: throws like `authenticate`, and shares its counters.
   */
  async confirmPassword({ username }: Account, password: string, address: string): Promise<void> {
    await this.#check(username, password, { address, confirming: true });
  }

  #check(identifier: string, password: string, from: Attempt): Promise<Account> {
    const { limits, settings } = this.#options;
    const source = limits.ipKey(from.address);
    const [bySource, byTarget] = [settings['login.rate_limit'], settings['login.account_rate_limit']];
    return this.#perAddress.attempt(source, bySource, async () => {
      const credentials = await this.#find(identifier);
      // Username and e-mail address are counted as one account; an unknown name is counted in the same way.
      const target = credentials?.account.id ?? digest(normalized(identifier));
      return this.#perAccount.attempt(target, byTarget, async () => {
        assertAllowed(await limits.consume(ATTEMPTS, target, settings['login.attempt_rate_limit']), tooManyAttempts);
        // Recorded as a failure until it succeeds, so that other processes, which do not see this attempt, count it as
        // well.
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

  /** Finds the account by the name as entered, or by its normalized form. */
  async #find(identifier: string): Promise<Credentials | undefined> {
    for (const name of new Set([identifier.trim().toLowerCase(), normalized(identifier)])) {
      const found = await this.#options.accounts.credentials(name);
      if (found) return found;
    }
    return undefined;
  }

  /**
   * An unknown name is handled like a wrong password, including the log line, so that neither response nor timing
   * distinguishes them.
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
