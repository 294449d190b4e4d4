import { HttpError, InvalidInput, type Http, type PluginHandle, type Request, type Response } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  identityConfirmed,
  loggedIn,
  type Account,
  type LoginOutcome,
  type LoginRequest,
  type LoginResult,
  type LoginStep,
  type Sessions,
  type PendingLogin,
} from 'parley-forum/plugins/accounts';
import type { CsrfService } from '../sessions/csrf.ts';
import type { UserRecords } from '../profiles/user-records.ts';
import type { AccountsService } from '../accounts/service.ts';
import { SessionsService, type SessionsDeps } from '../sessions/sessions.ts';
import type { StoredPendingLogin, PendingLogins } from './pending-logins.ts';

export interface LoginFlowDeps extends SessionsDeps {
  readonly pendingLogins: PendingLogins;
  readonly csrf: CsrfService;
  readonly users: UserRecords;
  /** The steps in the order in which they are required. */
  steps(): readonly LoginStep[];
}

/** Sessions, and the steps from the right password to a session. */
export class LoginFlow extends SessionsService implements Sessions {
  readonly #accounts: AccountsService;
  readonly #pendingLogins: PendingLogins;
  readonly #csrf: CsrfService;
  readonly #users: UserRecords;
  readonly #http: Http;
  readonly #emit: PluginHandle['emit'];
  readonly #steps: () => readonly LoginStep[];

  constructor({ pendingLogins, csrf, users, steps, ...options }: LoginFlowDeps) {
    super(options);
    this.#accounts = options.accounts;
    this.#http = options.http;
    this.#emit = options.emit;
    this.#pendingLogins = pendingLogins;
    this.#csrf = csrf;
    this.#users = users;
    this.#steps = steps;
  }

  async beginLogin(
    req: Request,
    res: Response,
    account: Account,
    { remember, identifiedAt, returnTo }: LoginRequest,
  ): Promise<LoginOutcome> {
    if (account.status !== 'active') throw new HttpError(401, 'This account is not active', { code: 'inactive' });
    const step = await this.#nextStep(account, []);
    if (!step) {
      const { viewer, json } = await this.#startSession(req, res, account, { remember, identifiedAt });
      return { redirectTo: viewer.requirement?.path ?? returnTo, json, complete: true };
    }
    await this.#pendingLogins.create(req, res, { account, step: step.name, remember, returnTo });
    return { redirectTo: step.path, json: { success: true, [step.name]: true }, complete: false };
  }

  async pendingLogin(req: Request): Promise<PendingLogin | undefined> {
    const found = await this.#pendingLogins.find(req);
    const account = found && (await this.#pendingAccount(found));
    return account && { account, step: found.step, returnTo: found.returnTo };
  }

  async completeStep(req: Request, res: Response, step: string): Promise<LoginResult> {
    const found = await this.#pendingLogins.find(req);
    const account = found && (await this.#pendingAccount(found));
    if (!account || found.step !== step) throw tooLate();
    const done = [...found.done, step];
    const next = await this.#nextStep(account, done);
    if (next) {
      if (!(await this.#pendingLogins.advance(req, next.name, done))) throw tooLate();
      return { success: true, [next.name]: true, next: next.path };
    }
    if (!(await this.#pendingLogins.consume(req, res))) throw tooLate();
    return (await this.#startSession(req, res, account, { remember: found.remember })).json;
  }

  async asksForCode(account: Account): Promise<boolean> {
    return (await this.#codeStep(account)) !== undefined;
  }

  async checkCode(account: Account, code: string | undefined, address: string): Promise<void> {
    const step = await this.#codeStep(account);
    if (step && !code)
      throw new InvalidInput([{ field: 'code', message: 'is also required: this account has two-factor login' }]);
    await step?.confirm(account, code ?? '', address);
  }

  override async logOut(req: Request, res: Response): Promise<void> {
    const session = this.sessionOf(req);
    await super.logOut(req, res);
    await this.notifyBrowserListeners((listener) => listener.loggedOut(req, res, session));
  }

  async confirmIdentity(req: Request): Promise<void> {
    const account = this.accountOf(req);
    await this.confirm(req);
    if (account) await this.#emit(identityConfirmed, { id: account.id, address: this.#http.ip(req) });
  }

  /** The old CSRF token becomes invalid with the guest's cookie, so programs get the new one. */
  async #startSession(
    req: Request,
    res: Response,
    account: Account,
    begun: Omit<LoginRequest, 'returnTo'>,
  ): Promise<{ readonly viewer: Viewer; readonly json: LoginResult }> {
    const address = this.#http.ip(req);
    const viewer = await this.logIn(req, res, account, begun);
    this.#csrf.clearGuestToken(req, res);
    await this.#accounts.recordLogin(account.id, address);
    await this.#emit(loggedIn, { id: account.id, address });
    const session = this.sessionOf(req);
    if (session) await this.notifyBrowserListeners((listener) => listener.loggedIn(req, account.id, session));
    return {
      viewer,
      json: { success: true, user: await this.#users.find(account.id, viewer), csrf_token: this.#csrf.token(req, res) },
    };
  }

  /** The step that requires a code in addition to the password or another method. */
  async #codeStep(account: Account): Promise<Required<LoginStep> | undefined> {
    for (const step of this.#steps())
      if (step.confirm && (await step.required(account))) return step as Required<LoginStep>;
    return undefined;
  }

  /** The first remaining step. An error thrown by a step rejects the login, so a broken step lets no one in. */
  async #nextStep(account: Account, done: readonly string[]): Promise<LoginStep | undefined> {
    for (const step of this.#steps()) if (!done.includes(step.name) && (await step.required(account))) return step;
    return undefined;
  }

  /** `undefined` if the account has changed since the password was entered. */
  async #pendingAccount({ accountId, version }: StoredPendingLogin): Promise<Account | undefined> {
    const account = await this.#accounts.find(accountId);
    return account?.status === 'active' && account.permissionsVersion === version ? account : undefined;
  }
}

const tooLate = (): HttpError =>
  new HttpError(401, 'This login took too long or was already used; log in again', { code: 'login_needed' });
