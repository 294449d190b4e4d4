import { HttpError, type Http, type PluginHandle, type Request, type Response } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  loggedIn,
  type Account,
  type Entered,
  type LoginStep,
  type Sessions,
  type Waiting,
} from 'parley-forum/plugins/accounts';
import type { CsrfService } from '../sessions/csrf.ts';
import type { UserRecords } from '../profiles/user-records.ts';
import type { AccountsService } from '../accounts/service.ts';
import { SessionsService, type SessionsOptions } from '../sessions/sessions.ts';
import type { WaitingLogin, WaitingLogins } from './pending-logins.ts';

export interface EntranceOptions extends SessionsOptions {
  readonly waiting: WaitingLogins;
  readonly csrf: CsrfService;
  readonly users: UserRecords;
  /** In the order in which they are asked for. */
  steps(): readonly LoginStep[];
}

/** How the member wanted to log in. */
interface Wish {
  readonly remember: boolean;
  readonly returnTo: string;
}

/** What follows the right password. */
export interface Admitted {
  /** Where a browser goes. */
  readonly to: string;
  /** What a program is told. */
  readonly json: Entered;
  /** False while a step is left. */
  readonly entered: boolean;
}

/** Sessions, and the way from the right password into one. */
export class Entrance extends SessionsService implements Sessions {
  readonly #accounts: AccountsService;
  readonly #waiting: WaitingLogins;
  readonly #csrf: CsrfService;
  readonly #users: UserRecords;
  readonly #http: Http;
  readonly #emit: PluginHandle['emit'];
  readonly #steps: () => readonly LoginStep[];

  constructor({ waiting, csrf, users, steps, ...options }: EntranceOptions) {
    super(options);
    this.#accounts = options.accounts;
    this.#http = options.http;
    this.#emit = options.emit;
    this.#waiting = waiting;
    this.#csrf = csrf;
    this.#users = users;
    this.#steps = steps;
  }

  /** The password was right: begins the session, or lets the browser wait for the first step. */
  async admit(req: Request, res: Response, account: Account, { remember, returnTo }: Wish): Promise<Admitted> {
    const step = await this.#next(account, []);
    if (!step) {
      const { viewer, json } = await this.#begin(req, res, account, remember);
      return { to: viewer.demand?.path ?? returnTo, json, entered: true };
    }
    await this.#waiting.begin(req, res, { account, step: step.name, remember, returnTo });
    return { to: step.path, json: { success: true, [step.name]: true }, entered: false };
  }

  async waiting(req: Request): Promise<Waiting | undefined> {
    const found = await this.#waiting.find(req);
    const account = found && (await this.#accountOf(found));
    return account && { account, step: found.step, returnTo: found.returnTo };
  }

  async enter(req: Request, res: Response, step: string): Promise<Entered> {
    const found = await this.#waiting.find(req);
    const account = found && (await this.#accountOf(found));
    if (!account || found.step !== step) throw tooLate();
    const done = [...found.done, step];
    const next = await this.#next(account, done);
    if (next) {
      if (!(await this.#waiting.advance(req, next.name, done))) throw tooLate();
      return { success: true, [next.name]: true, next: next.path };
    }
    if (!(await this.#waiting.take(req, res))) throw tooLate();
    return (await this.#begin(req, res, account, found.remember)).json;
  }

  /** The old forgery token dies with the guest's cookie, so programs get the new one. */
  async #begin(
    req: Request,
    res: Response,
    account: Account,
    remember: boolean,
  ): Promise<{ readonly viewer: Viewer; readonly json: Entered }> {
    const address = this.#http.addressOf(req);
    const viewer = await this.start(req, res, account, { remember });
    this.#csrf.forgetGuest(req, res);
    await this.#accounts.recordLogin(account.id, address);
    await this.#emit(loggedIn, { id: account.id, address });
    return {
      viewer,
      json: { success: true, user: await this.#users.find(account.id, viewer), csrf_token: this.#csrf.token(req, res) },
    };
  }

  /** The first step that is left. What a step throws is passed on: nobody gets in because a step does not work. */
  async #next(account: Account, done: readonly string[]): Promise<LoginStep | undefined> {
    for (const step of this.#steps()) if (!done.includes(step.name) && (await step.required(account))) return step;
    return undefined;
  }

  /** `undefined` for one that was changed since the password was given. */
  async #accountOf({ accountId, version }: WaitingLogin): Promise<Account | undefined> {
    const account = await this.#accounts.find(accountId);
    return account?.status === 'active' && account.permissionsVersion === version ? account : undefined;
  }
}

const tooLate = (): HttpError =>
  new HttpError(401, 'This login took too long or was used already; log in again', { code: 'login_needed' });
