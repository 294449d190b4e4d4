import { HttpError } from '#core';
import { demand, type Bucket, type Limits } from '#plugins/limits';
import type { Member, TwoFactorService } from './service.ts';

/** Seconds in which tries are counted. Without Redis at hand nobody may guess, as with passwords. */
const WINDOW = 900;
const PER_ACCOUNT: Bucket = { name: 'two_factor_account', window: WINDOW, failClosed: true };
const PER_ADDRESS: Bucket = { name: 'two_factor', window: WINDOW, failClosed: true };

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

/** Six digits are soon guessed by whoever may try often enough: tries are counted before they are looked at, so that many at once gain nothing. */
export class Guard {
  readonly #parts: GuardParts;

  constructor(parts: GuardParts) {
    this.#parts = parts;
  }

  /** Takes the code, or throws: 401 with one wording for every cause, 429 after too many tries. A right one forgives the account's tries before it. */
  check(member: Member, code: string): Promise<void> {
    return this.attempt(member, async () => (await this.#parts.service.accept(member, code)) || undefined).then(() => undefined);
  }

  /** The same for other work that a code decides about; undefined from `work` is a wrong code. */
  async attempt<T>(member: Member, work: () => Promise<T | undefined>): Promise<T> {
    const { limits } = this.#parts;
    await this.#count(member);
    const result = await work();
    if (result === undefined) {
      await this.#parts.refused(member);
      throw new HttpError(401, 'The code is wrong or was used before; wait for the next one', { code: 'wrong_code' });
    }
    await limits.reset(PER_ACCOUNT, member.id);
    return result;
  }

  /** The address first, so that one that is refused does not use up the account's tries. */
  async #count({ id, address }: Member): Promise<void> {
    const { limits, settings } = this.#parts;
    demand(await limits.consume(PER_ADDRESS, limits.addressKey(address), settings['two_factor.address_rate_limit']), tooOften);
    demand(await limits.consume(PER_ACCOUNT, id, settings['two_factor.rate_limit']), tooOften);
  }
}

const tooOften = (seconds: number): string => `Too many codes were tried. Try again in ${Math.ceil(seconds / 60)} min.`;
