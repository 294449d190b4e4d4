import { BlockedUrl, type UrlGuard } from 'parley-forum/plugins/protection';
import { phrase, type Phrase } from 'parley-forum/plugins/web';
import type { ProviderFinding } from 'parley-forum/plugins/single-sign-on';
import { guardedFetch, Unreachable } from '../openid/guarded-fetch.ts';
import { causesOf, type ProviderClient } from '../openid/provider-client.ts';
import type { OpenProvider } from './provider-store.ts';

/** Milliseconds within which a provider's keys must be loaded. */
const TIMEOUT = 10_000;
/** Error codes of the OpenID Connect library that identify a specific problem. */
const DISCOVERY_PROBLEMS: Readonly<Record<string, string>> = {
  OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED: 'issuer',
  OAUTH_RESPONSE_IS_NOT_CONFORM: 'no-document',
  OAUTH_RESPONSE_IS_NOT_JSON: 'no-json',
  OAUTH_PARSE_ERROR: 'no-json',
};

interface Finding {
  readonly state: ProviderFinding['state'];
  readonly text: Phrase;
}
type Metadata = Readonly<Record<string, unknown>>;

const finding = (state: Finding['state'], key: string, values: Phrase['values'] = {}): Finding => ({
  state,
  text: phrase(`single-sign-on:check.${key}`, values),
});
const listed = (metadata: Metadata, name: string): readonly unknown[] | undefined =>
  Array.isArray(metadata[name]) ? metadata[name] : undefined;

/** Fetches a provider's metadata and finds problems that would keep people from logging in by it. */
export class ProviderCheck {
  readonly #client: ProviderClient;
  readonly #guard: UrlGuard;
  readonly #stop: AbortSignal;

  constructor({ client, guard, stop }: { client: ProviderClient; guard: UrlGuard; stop: AbortSignal }) {
    this.#client = client;
    this.#guard = guard;
    this.#stop = stop;
  }

  async run(provider: OpenProvider): Promise<readonly Finding[]> {
    const party = await this.#client.relyingParty();
    try {
      const metadata = (await party.discover(provider)).serverMetadata() as unknown as Metadata;
      return [
        finding('good', 'found', { issuer: provider.issuer }),
        ...endpoints(metadata),
        ...flow(metadata, provider),
        await this.#keys(metadata),
      ];
    } catch (error) {
      return [discoveryProblem(error, provider.issuer)];
    }
  }

  /** Checks the keys with which ID tokens are signed. */
  async #keys(metadata: Metadata): Promise<Finding> {
    const url = String(metadata['jwks_uri'] ?? '');
    if (!URL.canParse(url)) return finding('bad', 'missing', { what: 'jwks_uri' });
    try {
      const response = await guardedFetch(this.#guard, this.#stop)(url, {
        method: 'GET',
        headers: { accept: 'application/json' },
        body: undefined,
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT),
      });
      const { keys } = (await response.json()) as { readonly keys?: unknown };
      return Array.isArray(keys) && keys.length > 0
        ? finding('good', 'keys', { count: keys.length })
        : finding('bad', 'no-keys');
    } catch (error) {
      return finding('bad', 'keys-away', { problem: reasonOf(error) });
    }
  }
}

function endpoints(metadata: Metadata): readonly Finding[] {
  const missing = ['authorization_endpoint', 'token_endpoint'].filter((name) => typeof metadata[name] !== 'string');
  return missing.map((what) => finding('bad', 'missing', { what }));
}

/** Checks that the provider supports everything that logins request. */
function flow(metadata: Metadata, { scopes }: OpenProvider): readonly Finding[] {
  const pkce = listed(metadata, 'code_challenge_methods_supported');
  const known = listed(metadata, 'scopes_supported');
  const unknown = known ? scopes.split(' ').filter((scope) => !known.includes(scope)) : [];
  return [
    ...(listed(metadata, 'response_types_supported')?.includes('code') === false ? [finding('bad', 'no-code')] : []),
    pkce?.includes('S256') ? finding('good', 'pkce') : finding('warning', 'no-pkce'),
    ...(unknown.length > 0 ? [finding('warning', 'scopes', { scopes: unknown.join(', ') })] : []),
  ];
}

function discoveryProblem(error: unknown, issuer: string): Finding {
  const causes = causesOf(error);
  if (causes.some((cause) => cause instanceof Unreachable)) return finding('bad', 'away', { problem: reasonOf(error) });
  const key = causes
    .map((cause) => DISCOVERY_PROBLEMS[String((cause as { readonly code?: unknown }).code)])
    .find((found) => found !== undefined);
  return finding('bad', key ?? 'wrong', { issuer });
}

/** The message of the innermost cause, which comes from the network or the URL guard. */
function reasonOf(error: unknown): string {
  const causes = causesOf(error).filter((cause): cause is Error => cause instanceof Error);
  const cause = causes.find((one) => one instanceof BlockedUrl) ?? causes.at(-1);
  return (cause?.message ?? '').slice(0, 300);
}
