import { HttpError, InvalidInput, Type, type Http, type PluginHandle, type Request } from 'parley-forum';
import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Registrations, Sessions } from 'parley-forum/plugins/accounts';
import {
  formErrors,
  negotiated,
  pages,
  phrase,
  redirect,
  view,
  type Negotiated,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import type { IdentityStore } from '../identities/identity-store.ts';
import { UNKNOWN } from '../identities/paths.ts';
import type { Provider, ProviderStore } from '../providers/provider-store.ts';
import type { PendingIdentities, PendingIdentity } from './pending-identities.ts';

export interface LinkPagesDeps {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly registrations: Registrations;
  readonly providers: ProviderStore;
  readonly identities: IdentityStore;
  readonly pending: PendingIdentities;
  readonly http: Http;
}

const REGISTER = '/register/link';
const RegisterForm = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 100 }),
  email: Type.Optional(Type.String({ maxLength: 254 })),
  language: Type.Optional(Type.String({ maxLength: 40 })),
});

/** A person who came from a provider and may continue here. */
interface Arrival {
  readonly identity: PendingIdentity;
  readonly provider: Provider;
}

/**
 * Pages for people who come from a provider and whom no member has linked: they sign up, or log in as an existing
 * member and then link the account. Nobody is taken for a member because of an e-mail address alone, whatever the
 * provider says about it.
 */
export function addLinkPages(
  plugin: PluginHandle,
  { accounts, sessions, registrations, providers, identities, pending, http }: LinkPagesDeps,
): void {
  const arrivalOf = async (req: Request): Promise<Arrival | undefined> => {
    const identity = await pending.find(req);
    const provider = identity && (await providers.find(identity.providerId));
    if (!identity || !provider?.active) return undefined;
    // The provider may no longer be trusted to verify addresses.
    return { identity: provider.trustsEmail ? identity : { ...identity, provenEmail: null }, provider };
  };
  const noArrival = (): Negotiated => {
    const error = 'There is no login from another site to complete, or it took more than half an hour: start again.';
    return negotiated(
      redirect('/login', { notice: phrase('single-sign-on:nobody-waits'), noticeKind: 'info' }),
      new HttpError(401, error, { code: 'login_needed' }),
    );
  };
  const head = { name: 'login', noindex: true };

  const memberView = ({ identity, provider }: Arrival, { username }: Viewer): View =>
    view(
      '@single-sign-on/link',
      { ...head, title: phrase('single-sign-on:link.title', { provider: provider.name }) },
      { provider: provider.name, label: identity.label, username },
    );
  const guestView = async ({ identity, provider }: Arrival, retry?: Retry): Promise<View> => {
    const { email, provenEmail, label } = identity;
    // Only the owner of the address is told that a member uses it.
    const isMember = provenEmail !== null && (await accounts.findByIdentifier(provenEmail)) !== undefined;
    const model = {
      provider: provider.name,
      label,
      isMember,
      registers: provider.createsAccounts && !isMember,
      provenEmail,
      username: retry?.body['username'] ?? (await accounts.freeUsername(identity.username ?? '')) ?? '',
      email: retry?.body['email'] ?? email,
      return_to: UNKNOWN,
      ...formErrors(retry),
    };
    return view(
      '@single-sign-on/unknown',
      { ...head, title: phrase('single-sign-on:unknown.title', { provider: provider.name }) },
      model,
    );
  };

  plugin.route(pages, { method: 'get', path: UNKNOWN, can: 'public' })(async ({ actor, req, res }) => {
    res.set('Cache-Control', 'no-store');
    const arrival = await arrivalOf(req);
    if (!arrival) return noArrival().page;
    return isGuest(actor) ? guestView(arrival) : memberView(arrival, actor);
  });

  plugin.route(pages, {
    method: 'post',
    path: UNKNOWN,
    can: 'member',
    summary: 'Link the account at another site to yours',
    options: { confirm: true },
  })(async ({ actor, req }) => {
    const arrival = await arrivalOf(req);
    if (!arrival) return noArrival();
    const { identity, provider } = arrival;
    await identities.link(identity, actor.id, { address: http.ip(req), member: sessions.accountOf(req) });
    await pending.remove(req);
    const notice = phrase('single-sign-on:linked', { provider: provider.name });
    return negotiated(redirect(identity.returnTo, { notice }), { success: true });
  });

  const rerender = async (retry: Retry): Promise<View> => {
    const arrival = await arrivalOf(retry.req);
    if (!arrival) throw new HttpError(401, 'There is no login from another site to complete', { code: 'login_needed' });
    return guestView(arrival, retry);
  };
  plugin.route(pages, {
    method: 'post',
    path: REGISTER,
    can: 'public',
    summary: 'Sign up with an account at an identity provider',
    body: RegisterForm,
    options: { rerender },
  })(async ({ req, res, body }) => {
    const arrival = await arrivalOf(req);
    if (!arrival) return noArrival();
    const { identity, provider } = arrival;
    if (!provider.createsAccounts)
      throw new HttpError(403, `You cannot sign up with an account at ${provider.name}`, {
        code: 'registration_closed',
      });
    const { provenEmail } = identity;
    const email = provenEmail ?? body.email;
    if (!email) throw new InvalidInput([{ field: 'email', message: 'is required' }]);
    const address = http.ip(req);
    const registered = await registrations.registerIdentified(
      { username: body.username, email, language: body.language, emailProven: provenEmail !== null },
      address,
      ({ id }) => identities.link(identity, id, { address }),
    );
    await pending.remove(req);
    if ('confirmation' in registered)
      return negotiated(
        redirect(registered.confirmation.path),
        { success: true, [registered.confirmation.name]: true },
        201,
      );
    const { account } = registered;
    const { remember, returnTo } = identity;
    const { redirectTo, json, complete } = await sessions.beginLogin(req, res, account, { remember, returnTo });
    return negotiated(
      redirect(redirectTo, complete ? { notice: phrase('accounts:welcome', { name: account.username }) } : {}),
      json,
      201,
    );
  });
}
