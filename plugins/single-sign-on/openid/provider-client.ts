import { HttpError, messageOf, type Logger } from 'parley-forum';
import type { UrlGuard } from 'parley-forum/plugins/protection';
import type { OpenProvider, Provider } from '../providers/provider-store.ts';
import { guardedFetch, Unreachable } from './guarded-fetch.ts';
import type { Identification, RelyingParty, SignOnRequest } from './relying-party.ts';

/** A login at a provider failed; `reason` is for the logs. */
export class SignOnFailure extends HttpError {
  readonly reason: string;
  constructor(reason: string, status: number, message: string, cause?: unknown) {
    super(status, message, { code: `sign_on_${reason}`, cause });
    this.reason = reason;
  }
}

export interface ProviderClientDeps {
  readonly guard: UrlGuard;
  readonly stop: AbortSignal;
  readonly log: Logger;
}

/**
 * Communicates with providers, and explains failures in plain words; the OpenID Connect library is loaded with the
 * first request.
 */
export class ProviderClient {
  readonly #deps: ProviderClientDeps;
  #party: Promise<RelyingParty> | undefined;

  constructor(deps: ProviderClientDeps) {
    this.#deps = deps;
  }

  async authorizationUrl(provider: OpenProvider, request: SignOnRequest): Promise<URL> {
    return this.#ask(provider, (party) => party.authorizationUrl(provider, request));
  }

  async identify(
    provider: OpenProvider,
    returned: URL,
    request: Omit<SignOnRequest, 'again'>,
  ): Promise<Identification> {
    const { profile, ...who } = await this.#ask(provider, (party) => party.identify(provider, returned, request));
    return { ...who, profile: () => this.#ask(provider, profile) };
  }

  /** The underlying relying party, for checks that need more than this class offers. */
  relyingParty(): Promise<RelyingParty> {
    const { guard, stop } = this.#deps;
    this.#party ??= import('./relying-party.ts').then((module) => new module.RelyingParty(guardedFetch(guard, stop)));
    return this.#party;
  }

  async #ask<T>(provider: Provider, work: (party: RelyingParty) => Promise<T>): Promise<T> {
    const party = await this.relyingParty();
    try {
      return await work(party);
    } catch (error) {
      const away = causesOf(error).some((cause) => cause instanceof Unreachable);
      const problem = causesOf(error).map(messageOf).join(': ').slice(0, 500);
      this.#deps.log.warn({ provider: provider.slug, problem }, 'a login at an identity provider failed');
      throw away
        ? new SignOnFailure('unreachable', 502, `${provider.name} is currently unreachable; try again later`, error)
        : new SignOnFailure(
            'answer',
            502,
            `The response from ${provider.name} was invalid, so you were not logged in; contact the administrators`,
            error,
          );
    }
  }
}

/** An error and the chain of its causes. */
export function causesOf(error: unknown): readonly unknown[] {
  const found: unknown[] = [];
  for (let at = error; at instanceof Error && found.length < 8; at = at.cause) found.push(at);
  return found;
}
