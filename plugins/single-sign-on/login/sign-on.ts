import { assertAllowed, type Bucket, type Limits } from 'parley-forum/plugins/limits';
import { negotiated, phrase, html, view, type Negotiated, type Web } from 'parley-forum/plugins/web';
import type { Http, HttpError, Request, Response } from 'parley-forum';
import { LINKED } from '../identities/paths.ts';
import { SignOnFailure, type ProviderClient } from '../openid/provider-client.ts';
import type { OpenProvider } from '../providers/provider-store.ts';
import type { SingleSignOnSettings } from '../settings.ts';
import type { Attempts, NewAttempt, Purpose } from './attempts.ts';

/** Window of the rate limits in seconds; logins are refused while they cannot be counted, as with passwords. */
const WINDOW = 900;
const STARTS: Bucket = { name: 'single_sign_on', window: WINDOW, failClosed: true };
const RETURNS: Bucket = { name: 'single_sign_on_return', window: WINDOW, failClosed: true };

/** The pages from which an attempt can be repeated. */
const AGAIN: Readonly<Record<Purpose, string>> = { login: '/login', link: LINKED, confirm: '/login/confirm' };

export interface SignOnDeps {
  readonly attempts: Attempts;
  readonly client: ProviderClient;
  readonly limits: Limits;
  readonly http: Http;
  readonly settings: SingleSignOnSettings;
  readonly web: Web;
}

/** Sends users to providers, and limits how often they go there and come back. */
export class SignOn {
  readonly #deps: SignOnDeps;

  constructor(deps: SignOnDeps) {
    this.#deps = deps;
  }

  /** Counts a return from a provider; throws 429 above the rate limit. */
  countReturn(req: Request): Promise<void> {
    return this.#count(RETURNS, req);
  }

  /**
   * A page that forwards to the provider. Not a redirect, because the pages' content security policy only allows forms
   * to lead to this site.
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

  /** A page that explains why a login failed, with a link back to where it was started. */
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
  `Too many logins were started from your address. Try again in ${seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`}.`;

/** The URLs of these pages contain login secrets: no referrer is sent, and nothing is cached. */
export function protectPage(res: Response): void {
  res.set({ 'Referrer-Policy': 'no-referrer', 'Cache-Control': 'no-store' });
}
