import { LRUCache } from 'lru-cache';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  type ClientAuth,
  type Configuration,
  type CustomFetch,
} from 'openid-client';
import { isPlainLine } from 'parley-forum/plugins/accounts';
import type { OpenProvider } from '../providers/provider-store.ts';

/** Timeout of each request to a provider, in seconds. */
const TIMEOUT = 10;
/** Milliseconds for which a provider's discovery document is cached. */
const LIFETIME = 600_000;
const MAX_CACHED = 100;
/** Maximum characters of a subject, as in OpenID Connect Core, and of the other claims. */
const MAX_SUBJECT = 255;
const MAX_CLAIM = 254;

/** The values that belong to one login attempt only. */
export interface SignOnRequest {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier of PKCE. */
  readonly verifier: string;
  /** Whether the user has to authenticate again, even if they did so recently. */
  readonly again: boolean;
}

/** What a provider reports about a user besides their subject. */
export interface Profile {
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  readonly username: string | undefined;
}
/** The user who logged in at a provider. */
export interface Identification {
  readonly subject: string;
  /** When the user authenticated, in epoch milliseconds; undefined if the provider does not say. */
  readonly authenticatedAt: number | undefined;
  /** May send a request to the provider. */
  profile(): Promise<Profile>;
}

type Claims = Readonly<Record<string, unknown>>;

/** A claim that is one line of visible text; any other value counts as absent. */
const line = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= MAX_CLAIM && isPlainLine(value) ? value : undefined;
const profileOf = (claims: Claims): Profile => ({
  email: line(claims['email']),
  emailVerified: claims['email_verified'] === true || claims['email_verified'] === 'true',
  username: line(claims['preferred_username']) ?? line(claims['nickname']) ?? line(claims['name']),
});

/** This forum as a relying party: OpenID Connect's authorization code flow with PKCE. */
export class RelyingParty {
  readonly #fetch: CustomFetch;
  readonly #configurations = new LRUCache<string, Promise<Configuration>>({ max: MAX_CACHED, ttl: LIFETIME });

  constructor(fetch: CustomFetch) {
    this.#fetch = fetch;
  }

  /** Fetches the provider's discovery document, without the cache. */
  async discover({ issuer, clientId, clientSecret }: OpenProvider): Promise<Configuration> {
    // The URL guard decides whether plain http is allowed.
    // oxlint-disable-next-line typescript/no-deprecated -- marked as deprecated only to stand out
    const options = { timeout: TIMEOUT, [customFetch]: this.#fetch, execute: [allowInsecureRequests] };
    const authentication: ClientAuth = (...request) =>
      authenticationFor(request[0].token_endpoint_auth_methods_supported, clientSecret)(...request);
    const configuration = await discovery(new URL(issuer), clientId, undefined, authentication, options);
    enableNonRepudiationChecks(configuration);
    return configuration;
  }

  /** The URL to which the browser is sent. `again`: the user has to authenticate again. */
  async authorizationUrl(provider: OpenProvider, { again, ...request }: SignOnRequest): Promise<URL> {
    const url = buildAuthorizationUrl(await this.#configuration(provider), {
      redirect_uri: provider.redirectUri,
      scope: provider.scopes,
      state: request.state,
      nonce: request.nonce,
      code_challenge: await calculatePKCECodeChallenge(request.verifier),
      code_challenge_method: 'S256',
      ...(again && { prompt: 'login', max_age: '0' }),
    });
    if (url.protocol !== 'https:' && url.protocol !== new URL(provider.issuer).protocol)
      throw new Error('sends users to an address without https');
    return url;
  }

  /** Identifies the user by the authorization code in `returned`; throws if anything about the response is invalid. */
  async identify(
    provider: OpenProvider,
    returned: URL,
    { state, nonce, verifier }: Omit<SignOnRequest, 'again'>,
  ): Promise<Identification> {
    const configuration = await this.#configuration(provider);
    const tokens = await authorizationCodeGrant(configuration, returned, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims();
    if (!claims) throw new Error('sends no ID token');
    if (claims.azp !== undefined && claims.azp !== provider.clientId)
      throw new Error('sends an ID token that was issued for another client');
    if (claims.sub.length > MAX_SUBJECT || !isPlainLine(claims.sub)) throw new Error('sends an invalid subject');
    return {
      subject: claims.sub,
      authenticatedAt: typeof claims.auth_time === 'number' ? claims.auth_time * 1_000 : undefined,
      profile: async () => {
        const known = profileOf(claims);
        const more = configuration.serverMetadata().userinfo_endpoint !== undefined && known.email === undefined;
        if (!more) return known;
        // `email_verified` only applies to the address in the same response.
        const { email_verified: _of, ...rest } = claims;
        return profileOf({ ...rest, ...(await fetchUserInfo(configuration, tokens.access_token, claims.sub)) });
      },
    };
  }

  #configuration(provider: OpenProvider): Promise<Configuration> {
    const key = `${provider.id} ${provider.changedAt.getTime()}`;
    const cached = this.#configurations.get(key);
    if (cached) return cached;
    const found = this.discover(provider);
    this.#configurations.set(key, found);
    found.catch(() => this.#configurations.delete(key));
    return found;
  }
}

/** Client authentication: as the standard prefers, unless the provider only accepts the secret in the body. */
function authenticationFor(methods: readonly string[] | undefined, secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  return methods === undefined || methods.includes('client_secret_basic')
    ? ClientSecretBasic(secret)
    : ClientSecretPost(secret);
}
