import type { Identities, LinkedIdentity } from 'parley-forum/plugins/single-sign-on';
import type { ProviderStore } from '../providers/provider-store.ts';
import type { IdentityStore } from './identity-store.ts';

export interface LinkedIdentitiesDeps {
  readonly providers: ProviderStore;
  readonly identities: IdentityStore;
}

/** Identities by the names that users know: the slugs of providers. */
export class LinkedIdentities implements Identities {
  readonly #deps: LinkedIdentitiesDeps;

  constructor(deps: LinkedIdentitiesDeps) {
    this.#deps = deps;
  }

  async of(accountId: string): Promise<readonly LinkedIdentity[]> {
    const { providers, identities } = this.#deps;
    const [all, own] = [await providers.list(), await identities.of(accountId)];
    return own.flatMap(({ providerId, label, linkedAt, usedAt }) => {
      const provider = all.find(({ id }) => id === providerId);
      return provider
        ? [{ slug: provider.slug, name: provider.name, active: provider.active, label, linkedAt, usedAt }]
        : [];
    });
  }

  async unlink(accountId: string, slug: string): Promise<void> {
    const { providers, identities } = this.#deps;
    await identities.unlink(accountId, (await providers.listed(slug)).id, 'operator');
  }
}
