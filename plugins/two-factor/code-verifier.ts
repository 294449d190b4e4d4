import { HttpError } from 'parley-forum';
import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { parseCode } from './codes.ts';
import type { FactorOwner, TwoFactorService } from './service.ts';

/** Per 15 minutes. While Redis is unavailable no code is accepted, as with passwords. */
const CODES_PER_IP: Bucket = { name: 'two_factor', window: 900, failClosed: true };

interface CodeVerifierSettings {
  readonly 'two_factor.rate_limit': number;
  readonly 'two_factor.address_rate_limit': number;
}

export interface CodeVerifierDeps {
  readonly limits: Limits;
  readonly service: TwoFactorService;
  readonly settings: CodeVerifierSettings;
  /** Raises `two-factor.refused`. */
  refused(member: FactorOwner): Promise<void>;
}

/**
 * Checks codes and limits the attempts, since six digits are quick to guess. Attempts are counted before they are
 * checked, so that sending many in parallel gains nothing.
 */
export class CodeVerifier {
  readonly #deps: CodeVerifierDeps;

  constructor(deps: CodeVerifierDeps) {
    this.#deps = deps;
  }

  /**
   * Accepts the code or throws: 401 with the same message for every cause, or 429 while the account must wait after
   * wrong codes. Backup codes are exempt from the wait, since they cannot be guessed: whoever stole the password must
   * not be able to lock out the owner.
   */
  async verify(member: FactorOwner, code: string): Promise<void> {
    const { service, settings } = this.#deps;
    const allowed = settings['two_factor.rate_limit'];
    const counted = parseCode(code)?.kind !== 'backup';
    await this.limited(member, async () => {
      const wait = counted ? await service.countAttempt(member.id, allowed) : 0;
      if (wait > 0) throw new HttpError(429, mustWait(wait), { headers: { 'Retry-After': String(wait) } });
      if (await service.accept(member, code)) return true;
      if (counted) await service.warnOwner(member.id, allowed);
      return undefined;
    });
  }

  /**
   * For work that checks a code where guessing gains nothing, such as the set-up. `work` returns undefined if the code
   * is wrong.
   */
  async limited<T>(member: FactorOwner, work: () => Promise<T | undefined>): Promise<T> {
    const { limits, settings } = this.#deps;
    assertAllowed(
      await limits.consume(CODES_PER_IP, limits.ipKey(member.address), settings['two_factor.address_rate_limit']),
      tooManyCodes,
    );
    const result = await work();
    if (result !== undefined) return result;
    await this.#deps.refused(member);
    throw new HttpError(401, 'The code is wrong or was used before; wait for the next one', { code: 'wrong_code' });
  }
}

const inWords = (seconds: number): string => {
  if (seconds < 90) return `${seconds} seconds`;
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3_600)} hours`;
};
const tooManyCodes = (seconds: number): string => `Too many codes were tried. Try again in ${inWords(seconds)}.`;
const mustWait = (seconds: number): string =>
  `Too many wrong codes were entered. Try again in ${inWords(seconds)}, or enter a backup code now.`;
