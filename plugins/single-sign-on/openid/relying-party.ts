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

/** Seconds within which a provider answers each request. */
const TIMEOUT = 10;
/** Milliseconds for which what a provider says of itself is kept. */
const LIFETIME = 600_000;
const MAX_CACHED = 100;
/** Characters of a subject, as OpenID Connect Core has it, and of the other claims. */
const MAX_SUBJECT = 255;
const MAX_CLAIM = 254;

/** What belongs to one login at a provider, and no other. */
export interface SignOnRequest {
  readonly state: string;
  readonly nonce: string;
  /** Of PKCE. */
  readonly verifier: string;
  /** Whether the person has to show anew who they are, however lately they did. */
  readonly again: boolean;
}

/** What a provider says of somebody besides who it is. */
export interface Profile {
  readonly email: string | undefined;
  readonly emailVerified: boolean;
  readonly username: string | undefined;
}
/** Who logged in at a provider. */
export interface Identification {
  readonly subject: string;
  /** When they showed it, in epoch milliseconds; undefined where the provider does not say. */
  readonly authenticatedAt: number | undefined;
  /** May ask the provider. */
  profile(): Promise<Profile>;
}

type Claims = Readonly<Record<string, unknown>>;

/** A claim that is one line of text that can be seen; whatever else it is counts as absent. */
const line = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= MAX_CLAIM && isPlainLine(value) ? value : undefined;
const profileOf = (claims: Claims): Profile => ({
  email: line(claims['email']),
  emailVerified: claims['email_verified'] === true || claims['email_verified'] === 'true',
  username: line(claims['preferred_username']) ?? line(claims['nickname']) ?? line(claims['name']),
});

/** What this forum is to identity providers: OpenID Connect's authorization code flow with PKCE. */
export class RelyingParty {
  readonly #fetch: CustomFetch;
  readonly #configurations = new LRUCache<string, Promise<Configuration>>({ max: MAX_CACHED, ttl: LIFETIME });

  constructor(fetch: CustomFetch) {
    this.#fetch = fetch;
  }

  /** What the provider says of itself, asked anew. */
  async discover({ issuer, clientId, clientSecret }: OpenProvider): Promise<Configuration> {
    // Whether plain http will do is the URL guard's to decide.
    // oxlint-disable-next-line typescript/no-deprecated -- it is marked so to be noticed
    const options = { timeout: TIMEOUT, [customFetch]: this.#fetch, execute: [allowInsecureRequests] };
    const authentication: ClientAuth = (...request) =>
      authenticationFor(request[0].token_endpoint_auth_methods_supported, clientSecret)(...request);
    const configuration = await discovery(new URL(issuer), clientId, undefined, authentication, options);
    enableNonRepudiationChecks(configuration);
    return configuration;
  }

  /** Where the browser goes. `again`: the person has to show anew who they are. */
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
      throw new Error('sends people to an address without https');
    return url;
  }

  /** Who came back, by the code in `returned`; throws where anything about it is not right. */
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
      throw new Error('sends an ID token that was made for another client');
    if (claims.sub.length > MAX_SUBJECT || !isPlainLine(claims.sub)) throw new Error('sends a subject that is none');
    return {
      subject: claims.sub,
      authenticatedAt: typeof claims.auth_time === 'number' ? claims.auth_time * 1_000 : undefined,
      profile: async () => {
        const known = profileOf(claims);
        const more = configuration.serverMetadata().userinfo_endpoint !== undefined && known.email === undefined;
        if (!more) return known;
        // What is verified is the address that stands beside it.
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

/** How the secret is sent: as the standard has it, unless the provider takes it in the body alone. */
function authenticationFor(methods: readonly string[] | undefined, secret: string | undefined): ClientAuth {
  if (secret === undefined) return None();
  return methods === undefined || methods.includes('client_secret_basic')
    ? ClientSecretBasic(secret)
    : ClientSecretPost(secret);
}
