import { setTimeout as sleep } from 'node:timers/promises';
import { HttpError, type Clock, type Secrets } from 'parley-forum';

/** The name of a field that is hidden from people, but that programs tend to fill in. */
export const HONEYPOT = 'website';
/** The least time in milliseconds that a person needs for the form; a faster request is delayed accordingly. */
const MIN_FILL_TIME = 1_000;
/** Milliseconds after which a form expires. */
const MAX_FORM_AGE = 86_400_000;

/** Distinguishes people from programs at sign-up without asking people for anything. */
export class Honeypot {
  readonly #secrets: Secrets;
  readonly #clock: Clock;

  constructor(secrets: Secrets, clock: Clock) {
    this.#secrets = secrets;
    this.#clock = clock;
  }

  /** A signed timestamp that is embedded in the form when it is shown. */
  stamp(): string {
    const time = this.#clock.now().toString(36);
    return `${time}.${this.#secrets.sign('form-shown', time)}`;
  }

  /** Throws 400 for a filled trap, for a forged or expired stamp, and for a missing stamp if the form was `shown`. */
  async check({
    trap,
    stamp,
    shown,
  }: {
    trap: string | undefined;
    stamp: string | undefined;
    shown: boolean;
  }): Promise<void> {
    if (trap !== undefined && trap !== '') throw new HttpError(400, 'This was not sent by a person', { code: 'spam' });
    if (stamp === undefined && !shown) return;
    const [time = '', signature = ''] = (stamp ?? '').split('.');
    const age = this.#secrets.verify('form-shown', time, signature)
      ? this.#clock.now() - Number.parseInt(time, 36)
      : MAX_FORM_AGE;
    if (age >= MAX_FORM_AGE)
      throw new HttpError(400, 'This form was open for too long. Please send it again.', { code: 'form_expired' });
    if (age < MIN_FILL_TIME) await sleep(MIN_FILL_TIME - Math.max(0, age));
  }
}
