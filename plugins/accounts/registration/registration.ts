import { InvalidInput, type FieldProblem } from 'parley-forum';
import type {
  EmailConfirmation,
  IdentifiedSignUp,
  NewAccount,
  Registered,
  Registrations,
} from 'parley-forum/plugins/accounts';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { HONEYPOT, type Honeypot } from './honeypot.ts';
import { RESERVED } from '../accounts/reserved-names.ts';
import type { AccountsService } from '../accounts/service.ts';
import { tooManyAttempts } from '../login/failure-throttle.ts';

const BUCKET: Bucket = { name: 'registration', window: 3_600 };

interface RegistrationSettings {
  readonly 'registration.rate_limit': number;
  readonly 'email.mx_validation': boolean;
}

export interface RegistrationDeps {
  readonly accounts: AccountsService;
  readonly limits: Limits;
  readonly honeypot: Honeypot;
  readonly settings: RegistrationSettings;
  /** False if the domain certainly accepts no mail. */
  acceptsMail(domain: string): Promise<boolean>;
  /** How e-mail addresses are confirmed; undefined if confirmation is not required. */
  confirmation(): EmailConfirmation | undefined;
}

interface SignUp {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  readonly password_confirmation?: string;
  readonly language?: string;
  readonly [HONEYPOT]?: string;
  readonly shown?: string;
}

const isName = ({ field }: FieldProblem): boolean => field === 'username';

/** A sign-up without the parts that only the form has. */
interface Registrant extends Pick<NewAccount, 'username' | 'email' | 'password'> {
  readonly language: string | undefined;
}
interface SignUpOptions {
  /** Further errors of the sign-up. */
  readonly wrong?: readonly FieldProblem[];
  readonly emailProven?: boolean;
  /** Runs in the transaction that stores the account. */
  readonly stored?: EmailConfirmation['begin'];
}

/** Self-service sign-up. Obvious errors are reported, all at once, before the sign-up counts as an attempt. */
export class Registration implements Registrations {
  readonly #deps: RegistrationDeps;

  constructor(deps: RegistrationDeps) {
    this.#deps = deps;
  }

  /**
   * `shown`: the sign-up was sent from a form shown in a browser. Programs that send JSON have no form, but the same
   * limits.
   */
  async register(form: SignUp, address: string, { shown }: { readonly shown: boolean }): Promise<Registered> {
    const { honeypot } = this.#deps;
    const { password, password_confirmation: repeated = password, language, [HONEYPOT]: trap, shown: stamp } = form;
    await honeypot.check({ trap, stamp, shown });
    const wrong =
      repeated === password ? [] : [{ field: 'password_confirmation', message: 'is not the same as the password' }];
    return this.#signUp({ username: form.username, email: form.email, password, language }, address, { wrong });
  }

  async registerIdentified(
    { username, email, language, emailProven }: IdentifiedSignUp,
    address: string,
    stored: EmailConfirmation['begin'],
  ): Promise<Registered> {
    return this.#signUp({ username, email, language }, address, { emailProven, stored });
  }

  async #signUp(
    { language, ...registrant }: Registrant,
    address: string,
    { wrong = [], emailProven = false, stored }: SignUpOptions,
  ): Promise<Registered> {
    const { accounts, limits, settings } = this.#deps;
    const [username, email] = [registrant.username.trim(), registrant.email.trim()];
    const account = { ...registrant, username, email, language: language || undefined, ip: address };
    const problems = [
      ...accounts.problems(account),
      ...(RESERVED.has(username.toLowerCase()) ? [{ field: 'username', message: 'is reserved' }] : []),
      ...wrong,
    ];
    if (problems.length > 0)
      throw new InvalidInput([...problems, ...(problems.some(isName) ? [] : await this.#takenName(username))]);
    const allowance = await limits.consume(BUCKET, limits.ipKey(address), settings['registration.rate_limit']);
    assertAllowed(allowance, tooManyAttempts);
    const confirmation = emailProven ? undefined : this.#deps.confirmation();
    const taken = await accounts.taken({ username, email });
    const refused = [
      ...(confirmation ? taken.filter(isName) : taken),
      ...(emailProven ? [] : await this.#mailProblems(email)),
    ];
    if (refused.length > 0) throw new InvalidInput(refused);
    if (!confirmation) return { account: await accounts.create(account, stored) };
    await this.#createUnconfirmed(account, confirmation, stored);
    return { confirmation };
  }

  /** Usernames are public. E-mail addresses are not checked here, because attempts are not counted yet. */
  async #takenName(username: string): Promise<readonly FieldProblem[]> {
    return (await this.#deps.accounts.taken({ username, email: '' })).filter(isName);
  }

  async #mailProblems(email: string): Promise<readonly FieldProblem[]> {
    const { settings, acceptsMail } = this.#deps;
    if (!settings['email.mx_validation'] || (await acceptsMail(email.slice(email.lastIndexOf('@') + 1)))) return [];
    return [{ field: 'email', message: 'is at a domain that does not accept e-mail' }];
  }

  /** The response does not reveal that an e-mail address is in use; its owner is notified instead. */
  async #createUnconfirmed(
    account: NewAccount,
    confirmation: EmailConfirmation,
    stored?: EmailConfirmation['begin'],
  ): Promise<void> {
    const { accounts } = this.#deps;
    try {
      await accounts.create(account, async (member) => {
        await stored?.(member);
        await confirmation.begin(member);
      });
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      const others = error.details.filter(({ field }) => field !== 'email');
      if (others.length > 0) throw new InvalidInput(others);
      const owner = await accounts.findByIdentifier(account.email);
      if (owner) await confirmation.emailTaken(owner);
    }
  }
}
