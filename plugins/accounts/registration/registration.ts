import { InvalidInput, type FieldProblem } from 'parley-forum';
import type { Account, NewAccount, EmailConfirmation } from 'parley-forum/plugins/accounts';
import { demand, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { HONEYPOT, type Honeypot } from './honeypot.ts';
import type { AccountsService } from '../accounts/service.ts';
import { tooOften } from '../login/failure-throttle.ts';

const BUCKET: Bucket = { name: 'registration', window: 3_600 };

/** Names that could be taken for the forum itself. An operator can still give them, by command. */
const RESERVED = new Set(
  `abuse admin administrator all anonymous api deleted everyone forum guest guests help here hostmaster info login logout mail member members mod moderator
  moderators mods news nobody noreply no-reply notifications null official owner parley postmaster register root security settings staff superuser support
  sysadmin system team undefined webmaster www`.split(/\s+/),
);

export interface RegistrationSettings {
  readonly 'registration.rate_limit': number;
  readonly 'email.mx_validation': boolean;
}

export interface RegistrationOptions {
  readonly accounts: AccountsService;
  readonly limits: Limits;
  readonly honeypot: Honeypot;
  readonly settings: RegistrationSettings;
  /** False when the domain certainly takes no mail. */
  takesMail(domain: string): Promise<boolean>;
  /** How addresses are confirmed; undefined where they need not be. */
  confirmation(): EmailConfirmation | undefined;
}

interface SignUp {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  readonly password_confirmation?: string;
  readonly [HONEYPOT]?: string;
  readonly shown?: string;
}

const isName = ({ field }: FieldProblem): boolean => field === 'username';

/** The new member, or how the address is confirmed first: then nothing says whether there is a new member. */
export type Registered = { readonly account: Account } | { readonly confirmation: EmailConfirmation };

/**
 * Signing up by oneself. Whatever is plainly wrong is said before it counts as an attempt, and all that is known by
 * then together.
 */
export class Registration {
  readonly #options: RegistrationOptions;

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  /**
   * `shown`: the form was shown to whoever sends it, by a browser; programs that send JSON have no form, and the same
   * limits.
   */
  async register(form: SignUp, address: string, { shown }: { readonly shown: boolean }): Promise<Registered> {
    const { accounts, limits, honeypot, settings } = this.#options;
    const { password, password_confirmation: repeated = password, [HONEYPOT]: trap, shown: stamp } = form;
    const username = form.username.trim();
    const email = form.email.trim();
    await honeypot.pass({ trap, stamp, shown });
    const problems = [
      ...accounts.problems({ username, email, password }),
      ...(RESERVED.has(username.toLowerCase()) ? [{ field: 'username', message: 'is reserved' }] : []),
      ...(repeated === password
        ? []
        : [{ field: 'password_confirmation', message: 'is not the same as the password' }]),
    ];
    if (problems.length > 0)
      throw new InvalidInput([...problems, ...(problems.some(isName) ? [] : await this.#takenName(username))]);
    const allowance = await limits.consume(BUCKET, limits.addressKey(address), settings['registration.rate_limit']);
    demand(allowance, tooOften);
    const taken = await accounts.taken({ username, email });
    const refused = [
      ...(this.#options.confirmation() ? taken.filter(isName) : taken),
      ...(await this.#unreachable(email)),
    ];
    if (refused.length > 0) throw new InvalidInput(refused);
    const confirmation = this.#options.confirmation();
    if (!confirmation) return { account: await accounts.create({ username, email, password, ip: address }) };
    await this.#quietly({ username, email, password, ip: address }, confirmation);
    return { confirmation };
  }

  /** Names are there for all to see. Of addresses nothing is said here, where nobody counts how many are tried. */
  async #takenName(username: string): Promise<readonly FieldProblem[]> {
    return (await this.#options.accounts.taken({ username, email: '' })).filter(isName);
  }

  async #unreachable(email: string): Promise<readonly FieldProblem[]> {
    const { settings, takesMail } = this.#options;
    if (!settings['email.mx_validation'] || (await takesMail(email.slice(email.lastIndexOf('@') + 1)))) return [];
    return [{ field: 'email', message: 'is at a domain that takes no mail' }];
  }

  /** An address in use is nothing that the answer tells: its owner is told. */
  async #quietly(account: NewAccount, confirmation: EmailConfirmation): Promise<void> {
    const { accounts } = this.#options;
    try {
      await accounts.create(account, (stored) => confirmation.begin(stored));
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      const others = error.details.filter(({ field }) => field !== 'email');
      if (others.length > 0) throw new InvalidInput(others);
      const owner = await accounts.findByName(account.email);
      if (owner) await confirmation.taken(owner);
    }
  }
}
