import { HttpError } from 'parley-forum';
import { demand, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { readCode } from './codes.ts';
import type { Member, TwoFactorService } from './service.ts';

/** In 15 minutes. Without Redis at hand nobody may guess, as with passwords. */
const PER_ADDRESS: Bucket = { name: 'two_factor', window: 900, failClosed: true };

export interface GuardSettings {
  readonly 'two_factor.rate_limit': number;
  readonly 'two_factor.address_rate_limit': number;
}

export interface GuardParts {
  readonly limits: Limits;
  readonly service: TwoFactorService;
  readonly settings: GuardSettings;
  /** Raises `two-factor.refused`. */
  refused(member: Member): Promise<void>;
}

/**
 * Six digits are soon guessed by whoever may try often enough: tries are counted before they are looked at, so that
 * many at once gain nothing.
 */
export class Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /**
   * Takes the code, or throws: 401 with one wording for every cause, 429 while the account has to wait after wrong
   * ones. Backup codes do not wait, since nobody guesses them: whoever has stolen a password must not lock its owner
   * out.
   */
  async check(member: Member, code: string): Promise<void> {
    const { service, settings } = this.#parts;
    const allowed = settings['two_factor.rate_limit'];
    const counted = readCode(code)?.kind !== 'backup';
    await this.attempt(member, async () => {
      const wait = counted ? await service.countTry(member.id, allowed) : 0;
      if (wait > 0) throw new HttpError(429, tooSoon(wait), { headers: { 'Retry-After': String(wait) } });
      if (await service.accept(member, code)) return true;
      if (counted) await service.warnOwner(member.id, allowed);
      return undefined;
    });
  }

  /**
   * For work that a code decides about and nothing is to be guessed, such as setting it up; undefined from `work` is a
   * wrong code.
   */
  async attempt<T>(member: Member, work: () => Promise<T | undefined>): Promise<T> {
    const { limits, settings } = this.#parts;
    demand(
      await limits.consume(PER_ADDRESS, limits.addressKey(member.address), settings['two_factor.address_rate_limit']),
      tooMany,
    );
    const result = await work();
    if (result !== undefined) return result;
    await this.#parts.refused(member);
    throw new HttpError(401, 'The code is wrong or was used before; wait for the next one', { code: 'wrong_code' });
  }
}

const inWords = (seconds: number): string => {
  if (seconds < 90) return `${seconds} seconds`;
  return seconds < 5_400 ? `${Math.ceil(seconds / 60)} minutes` : `${Math.ceil(seconds / 3_600)} hours`;
};
const tooMany = (seconds: number): string => `Too many codes were tried. Try again in ${inWords(seconds)}.`;
const tooSoon = (seconds: number): string =>
  `Too many wrong codes were given. Try again in ${inWords(seconds)}, or give a backup code now.`;
