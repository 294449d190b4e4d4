import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { negotiated, phrase, html, view, type Negotiated, type Web } from 'parley-forum/plugins/web';
import type { Http, HttpError, Request, Response } from 'parley-forum';
import { LINKED } from '../identities/paths.ts';
import { SignOnFailure, type ProviderClient } from '../openid/provider-client.ts';
import type { OpenProvider } from '../providers/provider-store.ts';
import type { SingleSignOnSettings } from '../settings.ts';
import type { Attempts, NewAttempt, Purpose } from './attempts.ts';

/** Seconds in which logins are counted; none begins while they cannot be, as with passwords. */
const WINDOW = 900;
const STARTS: Bucket = { name: 'single_sign_on', window: WINDOW, failClosed: true };
const RETURNS: Bucket = { name: 'single_sign_on_return', window: WINDOW, failClosed: true };

/** Where one may begin again. */
const AGAIN: Readonly<Record<Purpose, string>> = { login: '/login', link: LINKED, confirm: '/login/confirm' };

export interface SignOnDeps {
  readonly attempts: Attempts;
  readonly client: ProviderClient;
  readonly limits: Limits;
  readonly http: Http;
  readonly settings: SingleSignOnSettings;
  readonly web: Web;
}

/** Sends people to providers, and counts how often they go and come back. */
export class SignOn {
  readonly #deps: SignOnDeps;

  constructor(deps: SignOnDeps) {
    this.#deps = deps;
  }

  /** Throws 429. */
  countReturn(req: Request): Promise<void> {
    return this.#count(RETURNS, req);
  }

  /**
   * The page that leads on to the provider. It is no redirect, since a page's policy lets its forms lead to this site
   * alone.
   */
  async leave(
    req: Request,
    res: Response,
    provider: OpenProvider,
    attempt: Omit<NewAttempt, 'providerId'>,
  ): Promise<Negotiated> {
    await this.#count(STARTS, req);
    const request = await this.#deps.attempts.begin(req, res, { ...attempt, providerId: provider.id });
    protectPage(res);
    const url = await this.#deps.client.authorizationUrl(provider, request).catch((error: unknown) => {
      if (error instanceof SignOnFailure) return error;
      throw error;
    });
    if (url instanceof SignOnFailure) return this.failed(url, attempt);
    const { href } = url;
    res.set('Refresh', `0;url=${href}`);
    const title = phrase('single-sign-on:leave.title', { provider: provider.name });
    const label = this.#deps.web.say(phrase('single-sign-on:leave.go', { provider: provider.name }));
    const link = html`<a class="button primary" href="${href}">${label}</a>`;
    return negotiated(
      view('@single-sign-on/leave', { name: 'login', title, noindex: true }, { provider: provider.name, link }),
      { success: true, location: href },
    );
  }

  /** The page that says why a login came to nothing, and leads back to where it was begun. */
  failed(failure: HttpError, attempt: Pick<NewAttempt, 'purpose' | 'returnTo'> | undefined): Negotiated {
    const model = {
      message: this.#deps.web.failure(failure.message),
      again: AGAIN[attempt?.purpose ?? 'login'],
      return_to: attempt?.returnTo,
    };
    const head = { name: 'login', title: phrase('single-sign-on:failed.title'), noindex: true };
    return negotiated(view('@single-sign-on/failed', head, model, failure.status), failure);
  }

  async #count(bucket: Bucket, req: Request): Promise<void> {
    const { limits, http, settings } = this.#deps;
    assertAllowed(
      await limits.consume(bucket, limits.ipKey(http.ip(req)), settings['single-sign-on.rate_limit']),
      tooManyLogins,
    );
  }
}

const tooManyLogins = (seconds: number): string =>
  `Too many logins were begun from here. Try again in ${seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`}.`;

/** The URLs of these pages hold what a login is made of: nothing is sent as referrer, and nothing is cached. */
export function protectPage(res: Response): void {
  res.set({ 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-store' });
}
