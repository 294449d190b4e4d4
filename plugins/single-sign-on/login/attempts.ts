import { randomBytes } from 'node:crypto';
import { sql, type Clock, type Data, type Request, type Response } from 'parley-forum';
import type { SignOnRequest } from '../openid/relying-party.ts';
import { keyOf, type BrowserToken } from './browser-token.ts';

/** Milliseconds within which the user has to come back from the provider. */
const LIFETIME = 600_000;
/** The format of `state` values. */
const STATE = /^[\w-]{43}$/;

/** `login`: logs in as the member that the account is linked to. `link`, `confirm`: for a member who is logged in. */
export type Purpose = 'login' | 'link' | 'confirm';

export interface NewAttempt {
  readonly providerId: string;
  readonly purpose: Purpose;
  /** The member who links an account or confirms who they are. */
  readonly accountId: string | undefined;
  readonly returnTo: string;
  readonly remember: boolean;
  /** The sealed form that is to be resumed after the confirmation. */
  readonly pendingForm: string | undefined;
}
/** A login attempt whose user has come back from the provider. */
export interface Attempt extends Omit<SignOnRequest, 'again'> {
  readonly providerId: string;
  readonly purpose: Purpose;
  readonly accountId: string | null;
  readonly returnTo: string;
  readonly remember: boolean;
  readonly pendingForm: string | null;
  readonly startedAt: Date;
}

interface AttemptsDeps {
  readonly data: Data;
  readonly clock: Clock;
  readonly browser: BrowserToken;
}

const secret = (): string => randomBytes(32).toString('base64url');

/** Login attempts at providers: each valid in one browser, for ten minutes and a single return. */
export class Attempts {
  readonly #deps: AttemptsDeps;

  constructor(deps: AttemptsDeps) {
    this.#deps = deps;
  }

  /** Starts an attempt; resolves to the parameters of the request to the provider. */
  async begin(req: Request, res: Response, attempt: NewAttempt): Promise<SignOnRequest> {
    const { data, clock, browser } = this.#deps;
    const request = { state: secret(), nonce: secret(), verifier: secret(), again: attempt.purpose === 'confirm' };
    const key = keyOf(browser.issue(req, res), request.state);
    // Replaces the member's previous attempt to link or confirm, whose pending form may be large.
    if (attempt.accountId !== undefined)
      await data.all(sql`delete from single_sign_on_attempt where account_id = ${attempt.accountId}`);
    await data.all(sql`insert into single_sign_on_attempt (key, provider_id, purpose, account_id, nonce, verifier,
        return_to, remember, pending_form, started_at)
      values (${key}, ${attempt.providerId}, ${attempt.purpose}, ${attempt.accountId ?? null}, ${request.nonce},
        ${request.verifier}, ${attempt.returnTo}, ${attempt.remember}, ${attempt.pendingForm ?? null},
        ${new Date(clock.now())})`);
    return request;
  }

  /** Resolves to the attempt that this browser started with `state`, once; otherwise to undefined. */
  async finish(req: Request, state: unknown): Promise<Attempt | undefined> {
    const { data, clock, browser } = this.#deps;
    const token = browser.read(req);
    if (token === undefined || typeof state !== 'string' || !STATE.test(state)) return undefined;
    const row = await data.one(sql<Omit<Attempt, 'state'>>`delete from single_sign_on_attempt
      where key = ${keyOf(token, state)}
      returning provider_id as "providerId", purpose, account_id as "accountId", nonce, verifier,
        return_to as "returnTo", remember, pending_form as "pendingForm", started_at as "startedAt"`);
    return row && row.startedAt.getTime() > clock.now() - LIFETIME ? { ...row, state } : undefined;
  }

  async deleteExpired(): Promise<void> {
    const { data, clock } = this.#deps;
    await data.all(sql`delete from single_sign_on_attempt where started_at <= ${new Date(clock.now() - LIFETIME)}`);
  }
}
