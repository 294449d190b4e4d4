import {
  createId,
  HttpError,
  InvalidInput,
  notFound,
  sql,
  type Cache,
  type Clock,
  type Data,
  type SealedStore,
  type Secrets,
} from 'parley-forum';
import { isId } from 'parley-forum/plugins/api';

/** Maximum number of providers; each is a button on the login page. */
const MAX_PROVIDERS = 20;
const TAG = 'single-sign-on.providers';

export interface Provider {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  /** Null for a public client. */
  readonly sealedSecret: string | null;
  readonly scopes: string;
  readonly active: boolean;
  readonly createsAccounts: boolean;
  readonly trustsEmail: boolean;
  readonly changedAt: Date;
}
/** A provider with everything that is needed to communicate with it. */
export interface OpenProvider extends Provider {
  readonly clientSecret: string | undefined;
  readonly redirectUri: string;
}

export type ProviderInput = Pick<
  Provider,
  'slug' | 'name' | 'issuer' | 'clientId' | 'scopes' | 'active' | 'createsAccounts' | 'trustsEmail'
> & {
  /** Undefined leaves the secret unchanged. */
  readonly clientSecret?: string | undefined;
};

/** The path at which a login at a provider starts; its redirect URI is below. */
export const pathOf = (slug: string): string => `/auth/${slug}`;

const COLUMNS =
  sql.raw(`id, slug, name, issuer, client_id as "clientId", client_secret as "sealedSecret", scopes, active,
  creates_accounts as "createsAccounts", trusts_email as "trustsEmail", changed_at as "changedAt"`);

export interface ProviderStoreDeps {
  readonly data: Data;
  readonly cache: Cache;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly baseUrl: string;
}

/** Stores the identity providers of the forum, with their secrets sealed. */
export class ProviderStore implements SealedStore {
  readonly #deps: ProviderStoreDeps;

  constructor(deps: ProviderStoreDeps) {
    this.#deps = deps;
  }

  list(): Promise<readonly Provider[]> {
    const { cache, data } = this.#deps;
    return cache.remember(TAG, [TAG], () =>
      data.all(sql<Provider>`select ${COLUMNS} from single_sign_on_provider order by lower(name), id`),
    );
  }

  /** The providers that are on. */
  async active(): Promise<readonly Provider[]> {
    return (await this.list()).filter(({ active }) => active);
  }

  async find(id: string): Promise<Provider | undefined> {
    return isId(id) ? (await this.list()).find((provider) => provider.id === id) : undefined;
  }

  /** Throws 404 if there is no provider of this name, or if it is off. */
  async named(slug: string): Promise<OpenProvider> {
    const provider = (await this.active()).find((one) => one.slug === slug);
    if (!provider) throw notFound('Members cannot log in with this provider');
    return this.open(provider);
  }

  /** Finds a provider even if it is off; throws 404 if there is none of this name. */
  async listed(slug: string): Promise<Provider> {
    const provider = (await this.list()).find((one) => one.slug === slug);
    if (!provider) throw notFound('There is no such provider');
    return provider;
  }

  /** Adds the unsealed secret and the redirect URI. */
  open(provider: Provider): OpenProvider {
    const { sealedSecret } = provider;
    const clientSecret = sealedSecret === null ? undefined : this.#deps.secrets.open(sealedSecret);
    return { ...provider, clientSecret, redirectUri: this.redirectUri(provider.slug) };
  }

  /** Each provider has its own redirect URI, so that responses of one cannot be mistaken for those of another. */
  redirectUri(slug: string): string {
    return `${this.#deps.baseUrl}${pathOf(slug)}/callback`;
  }

  /** Throws 400 naming `slug` if it is taken, and 409 if there are too many providers. */
  async create({ clientSecret, ...input }: ProviderInput): Promise<Provider> {
    const { data, clock, secrets } = this.#deps;
    const now = clock.now();
    await data.lock('single-sign-on:providers');
    const all = await data.all(sql<{ slug: string }>`select slug from single_sign_on_provider`);
    if (all.length >= MAX_PROVIDERS) throw new HttpError(409, `There are already ${MAX_PROVIDERS} providers`);
    if (all.some(({ slug }) => slug === input.slug))
      throw new InvalidInput([{ field: 'slug', message: 'is the short name of another provider' }]);
    const secret = clientSecret === undefined ? null : secrets.seal(clientSecret);
    const row = await data.one(sql<Provider>`insert into single_sign_on_provider (id, slug, name, issuer, client_id,
        client_secret, scopes, active, creates_accounts, trusts_email, changed_at)
      values (${createId(now)}, ${input.slug}, ${input.name}, ${input.issuer}, ${input.clientId}, ${secret},
        ${input.scopes}, ${input.active}, ${input.createsAccounts}, ${input.trustsEmail}, ${new Date(now)})
      returning ${COLUMNS}`);
    await this.#changed();
    return row!;
  }

  /**
   * Fields that are not given stay unchanged. Throws 400 naming `issuer` if members have linked accounts, because
   * another issuer could log in as them, and 400 naming `client_secret` if another issuer would receive the stored one.
   */
  async update(id: string, changes: Partial<Omit<ProviderInput, 'slug'>>): Promise<Provider> {
    const { data, clock, secrets } = this.#deps;
    const before = await data.one(
      sql<Provider>`select ${COLUMNS} from single_sign_on_provider where id = ${id} for update`,
    );
    if (!before) throw notFound('There is no such provider');
    const { clientSecret, ...given } = changes;
    const next = { ...before, ...given };
    if (next.issuer !== before.issuer && (await this.#isLinked(id)))
      throw new InvalidInput([
        {
          field: 'issuer',
          message: 'cannot be changed while members have linked accounts there; add another provider instead',
        },
      ]);
    // The secret is never shown to administrators, so it must not be sent to a server of their choice either.
    if (next.issuer !== before.issuer && before.sealedSecret !== null && clientSecret === undefined)
      throw new InvalidInput([{ field: 'client_secret', message: 'must be entered again for a different issuer' }]);
    if (next.issuer !== before.issuer) await this.#endLogins(id);
    const secret = clientSecret === undefined ? before.sealedSecret : secrets.seal(clientSecret);
    const row = await data.one(sql<Provider>`update single_sign_on_provider set name = ${next.name},
        issuer = ${next.issuer}, client_id = ${next.clientId}, client_secret = ${secret}, scopes = ${next.scopes},
        active = ${next.active}, creates_accounts = ${next.createsAccounts}, trusts_email = ${next.trustsEmail},
        changed_at = ${new Date(clock.now())}
      where id = ${id} returning ${COLUMNS}`);
    await this.#changed();
    return row!;
  }

  /** Removes a provider together with all accounts that members have linked there. */
  async remove(id: string): Promise<void> {
    await this.#deps.data.all(sql`delete from single_sign_on_provider where id = ${id}`);
    await this.#changed();
  }

  async reseal(seal: (sealed: string) => string): Promise<void> {
    const { data } = this.#deps;
    const rows = await data.all(sql<{ id: string; secret: string }>`select id, client_secret as secret
      from single_sign_on_provider where client_secret is not null order by id for update`);
    const fresh = JSON.stringify(rows.map(({ id, secret }) => ({ id, secret: seal(secret) })));
    await data.all(sql`update single_sign_on_provider p set client_secret = f.secret
      from json_to_recordset(${fresh}::json) as f(id uuid, secret text) where p.id = f.id`);
    await this.#changed();
  }

  async #isLinked(id: string): Promise<boolean> {
    const row = await this.#deps.data.one(sql`select 1 from single_sign_on_identity where provider_id = ${id} limit 1`);
    return row !== undefined;
  }

  /** Ends login attempts in progress: the people they would identify are unknown to the new issuer. */
  async #endLogins(id: string): Promise<void> {
    await this.#deps.data.all(sql`delete from single_sign_on_attempt where provider_id = ${id}`);
    await this.#deps.data.all(sql`delete from single_sign_on_pending where provider_id = ${id}`);
  }

  async #changed(): Promise<void> {
    await this.#deps.cache.purge(TAG);
  }
}
