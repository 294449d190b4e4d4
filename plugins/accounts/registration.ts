import { InvalidInput } from '#core';
import type { Account } from '#plugins/accounts';
import type { Bucket, Limits } from '#plugins/limits';
import { HONEYPOT, type Honeypot } from './honeypot.ts';
import type { AccountsService } from './service.ts';
import { tooMany } from './throttle.ts';

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
}

interface SignUp {
  readonly username: string;
  readonly email: string;
  readonly password: string;
  readonly [HONEYPOT]?: string;
  readonly shown?: string;
}

/** Signing up by oneself. Whatever is plainly wrong is said before it counts as an attempt. */
export class Registration {
  readonly #options: RegistrationOptions;

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  async register(form: SignUp, address: string): Promise<Account> {
    const { accounts, limits, honeypot, settings } = this.#options;
    const { password, [HONEYPOT]: trap, shown: stamp } = form;
    const username = form.username.trim();
    const email = form.email.trim();
    await honeypot.pass({ trap, stamp });
    const problems = [...accounts.problems({ username, email, password }), ...(RESERVED.has(username.toLowerCase()) ? [{ field: 'username', message: 'is reserved' }] : [])];
    if (problems.length > 0) throw new InvalidInput(problems);
    const allowance = await limits.consume(BUCKET, limits.addressKey(address), settings['registration.rate_limit']);
    if (!allowance.allowed) throw tooMany(allowance);
    if (settings['email.mx_validation'] && !(await this.#options.takesMail(email.slice(email.lastIndexOf('@') + 1)))) {
      throw new InvalidInput([{ field: 'email', message: 'is at a domain that takes no mail' }]);
    }
    return accounts.create({ username, email, password, ip: address });
  }
}
