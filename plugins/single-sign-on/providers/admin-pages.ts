import { InvalidInput, notFound, Type, type Data, type PluginHandle, type Static } from 'parley-forum';
import { isPlainLine } from 'parley-forum/plugins/accounts';
import { adminSections, type Admin } from 'parley-forum/plugins/admin';
import {
  manageProviders,
  providerChecked,
  providerRemoved,
  providerSaved,
  type ProviderRecord,
} from 'parley-forum/plugins/single-sign-on';
import {
  formErrors,
  negotiated,
  OpenedField,
  openedForm,
  pages,
  phrase,
  redirect,
  touchedIn,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import { BlockedUrl, type UrlGuard } from 'parley-forum/plugins/protection';
import type { IdentityStore } from '../identities/identity-store.ts';
import type { ProviderCheck } from './provider-check.ts';
import type { Provider, ProviderInput, ProviderStore } from './provider-store.ts';

export interface AdminPagesDeps {
  readonly data: Data;
  readonly admin: Admin;
  readonly web: Web;
  readonly guard: UrlGuard;
  readonly providers: ProviderStore;
  readonly identities: IdentityStore;
  readonly check: ProviderCheck;
}

const ROOT = '/admin/single-sign-on';
/** The scopes requested by default. */
const DEFAULT_SCOPES = 'openid email profile';
/** Valid slugs. */
const SLUG = /^[a-z][a-z0-9-]{1,29}$/;
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

const Id = Type.Object({ id: Type.String({ maxLength: 64 }) });
const SaveBody = Type.Object({
  id: Type.Optional(Type.String({ maxLength: 64 })),
  slug: Type.Optional(Type.String({ maxLength: 100 })),
  name: Type.Optional(Type.String({ maxLength: 100 })),
  issuer: Type.Optional(Type.String({ maxLength: 500 })),
  client_id: Type.Optional(Type.String({ maxLength: 500 })),
  client_secret: Type.Optional(Type.String({ maxLength: 1_000, 'x-secret': true })),
  scopes: Type.Optional(Type.String({ maxLength: 500 })),
  active: Type.Optional(Type.Boolean()),
  creates_accounts: Type.Optional(Type.Boolean()),
  trusts_email: Type.Optional(Type.Boolean()),
  ...OpenedField,
});
type SaveBody = Static<typeof SaveBody>;

/** /admin/single-sign-on: the identity providers by which members log in. */
export function addAdminPages(
  plugin: PluginHandle,
  { data, admin, web, guard, providers, identities, check }: AdminPagesDeps,
): void {
  plugin.extend(adminSections, { group: 'people' as const, label: 'single-sign-on:admin.title', href: ROOT });
  const can = manageProviders;
  const found = async (id: string): Promise<Provider> =>
    (await providers.find(id)) ?? Promise.reject(notFound('There is no such provider'));

  const recordOf = (provider: Provider, members: number): ProviderRecord => ({
    id: provider.id,
    slug: provider.slug,
    name: provider.name,
    issuer: provider.issuer,
    client_id: provider.clientId,
    has_secret: provider.sealedSecret !== null,
    scopes: provider.scopes,
    active: provider.active,
    creates_accounts: provider.createsAccounts,
    trusts_email: provider.trustsEmail,
    redirect_uri: providers.redirectUri(provider.slug),
    members,
  });
  const records = async (): Promise<readonly ProviderRecord[]> => {
    const [all, counts] = [await providers.list(), await identities.counts()];
    return all.map((provider) => recordOf(provider, counts.get(provider.id) ?? 0));
  };

  /** Renders the list, and a form for one provider or a new one, with the findings of a check. */
  const shown = async (
    id: string | undefined,
    { retry, findings }: { readonly retry?: Retry; readonly findings?: readonly object[] } = {},
  ): Promise<View> => {
    const all = await records();
    const edited = all.find((provider) => provider.id === id);
    const values = retry?.body ?? edited ?? { active: true, creates_accounts: true, scopes: DEFAULT_SCOPES };
    const model = {
      providers: all.map((provider) => ({ ...provider, href: `${ROOT}?id=${provider.id}` })),
      edited: edited && { ...edited, dependents: await identities.dependents(edited.id) },
      values,
      opened: retry?.body['_opened'] ?? (edited && openedForm({ ...edited })),
      secretHelp: edited?.has_secret ? 'single-sign-on:admin.secret-set' : 'single-sign-on:admin.secret-help',
      example: providers.redirectUri('example'),
      findings,
      ...formErrors(retry),
    };
    const head = { title: phrase('single-sign-on:admin.title'), current: ROOT };
    return admin.view('@single-sign-on/admin', head, model);
  };
  const rerender = (retry: Retry): Promise<View> => shown(String(retry.body['id'] ?? ''), { retry });

  plugin.route(pages, { method: 'get', path: ROOT, can })(async ({ req }) =>
    negotiated(await shown(typeof req.query['id'] === 'string' ? req.query['id'] : undefined), {
      success: true,
      providers: await records(),
    }),
  );

  plugin.route(pages, {
    method: 'post',
    path: `${ROOT}/save`,
    can,
    summary: 'Save an identity provider',
    body: SaveBody,
    options: { rerender },
  })(async ({ actor, body }) => {
    const before = body.id ? await found(body.id) : undefined;
    const touched = touchedIn(body);
    const issuer = touched.issuer === undefined ? undefined : await checkedIssuer(touched.issuer, guard);
    const changes = { ...changesOf(touched), ...(issuer !== undefined && { issuer }) };
    const saved = await data.transaction(async () => {
      const { slug: _stays, ...others } = changes;
      const provider = before ? await providers.update(before.id, others) : await providers.create(complete(changes));
      await plugin.emit(providerSaved, {
        actor: actor.id,
        provider: { id: provider.id, name: provider.name, issuer: provider.issuer, active: provider.active },
      });
      return provider;
    });
    const counts = await identities.counts();
    const notice = phrase('single-sign-on:admin.saved', { name: saved.name });
    return negotiated(
      redirect(`${ROOT}?id=${saved.id}`, { notice }),
      { success: true, provider: recordOf(saved, counts.get(saved.id) ?? 0) },
      before ? 200 : 201,
    );
  });

  plugin.route(pages, {
    method: 'post',
    path: `${ROOT}/check`,
    can,
    summary: 'single-sign-on:does.check',
    body: Id,
  })(async ({ actor, body }) => {
    const provider = await found(body.id);
    await plugin.emit(providerChecked, { actor: actor.id, provider: { id: provider.id, name: provider.name } });
    const findings = (await check.run(providers.open(provider))).map(({ state, text }) => ({
      state,
      text: web.say(text),
    }));
    const shows = findings.map((one) => ({ ...one, kind: one.state === 'bad' ? 'danger' : KINDS[one.state] }));
    return negotiated(await shown(provider.id, { findings: shows }), { success: true, findings });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${ROOT}/delete`,
    can,
    summary: 'single-sign-on:does.delete',
    body: Id,
  })(async ({ actor, body }) => {
    const provider = await found(body.id);
    await data.transaction(async () => {
      const members = (await identities.counts()).get(provider.id) ?? 0;
      await providers.remove(provider.id);
      const { id, name } = provider;
      await plugin.emit(providerRemoved, { actor: actor.id, provider: { id, name }, members });
    });
    const notice = phrase('single-sign-on:admin.removed', { name: provider.name });
    return negotiated(redirect(ROOT, { notice }), { success: true });
  });
}

const KINDS = { good: 'success', warning: 'warning' } as const;

const refuse = (field: string, message: string): never => {
  throw new InvalidInput([{ field, message }]);
};

/** Checks an issuer as discovery defines it: a URL to which `/.well-known/openid-configuration` is appended. */
async function checkedIssuer(text: string, guard: UrlGuard): Promise<string> {
  const issuer = text.trim();
  const url = URL.parse(issuer);
  if (!url || url.search !== '' || url.hash !== '')
    return refuse('issuer', 'is not an address, such as https://login.example.org');
  // A host that cannot be resolved now may be found later; each request checks it again.
  await guard
    .resolve(url)
    .catch((error: unknown) => (error instanceof BlockedUrl ? refuse('issuer', error.message) : undefined));
  return issuer;
}

/** Checks a name as it is shown on buttons. */
function shownName(name: string): string {
  if (name.trim() === '') refuse('name', 'is required');
  if (!isPlainLine(name)) refuse('name', 'has invisible characters');
  return name.trim();
}

/** The checked changes of a provider, except for its issuer. */
function changesOf(body: Partial<SaveBody>): Partial<ProviderInput> {
  const { slug, name, client_id: clientId, client_secret: secret, scopes, active } = body;
  if (slug !== undefined && !SLUG.test(slug))
    refuse('slug', 'must have 2 to 30 lowercase letters a–z, digits or "-", and begin with a letter');
  if (clientId?.trim() === '') refuse('client_id', 'is required');
  return {
    ...(slug !== undefined && { slug }),
    ...(name !== undefined && { name: shownName(name) }),
    ...(clientId !== undefined && { clientId: clientId.trim() }),
    ...(secret && { clientSecret: secret }),
    ...(scopes !== undefined && { scopes: checkedScopes(scopes) }),
    ...(active !== undefined && { active }),
    ...(body.creates_accounts !== undefined && { createsAccounts: body.creates_accounts }),
    ...(body.trusts_email !== undefined && { trustsEmail: body.trusts_email }),
  };
}

function checkedScopes(text: string): string {
  const scopes = text.split(/\s+/).filter(Boolean);
  if (!scopes.every((scope) => SCOPE.test(scope))) refuse('scopes', 'has a scope with invalid characters');
  return [...new Set(['openid', ...scopes])].join(' ');
}

/** The values of a new provider; throws 400 if something is missing. */
const complete = (changes: Partial<ProviderInput>): ProviderInput => ({
  scopes: DEFAULT_SCOPES,
  active: true,
  createsAccounts: true,
  trustsEmail: false,
  ...changes,
  slug: changes.slug ?? refuse('slug', 'is required'),
  name: changes.name ?? refuse('name', 'is required'),
  issuer: changes.issuer ?? refuse('issuer', 'is required'),
  clientId: changes.clientId ?? refuse('client_id', 'is required'),
});
