import {
  HttpError,
  Type,
  type Environment,
  type Http,
  type PluginHandle,
  type Request,
  type Response,
} from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import type { Accounts, Sessions } from 'parley-forum/plugins/accounts';
import { signOnRefused } from 'parley-forum/plugins/single-sign-on';
import {
  formErrors,
  localPath,
  negotiated,
  pages,
  phrase,
  redirect,
  resumed,
  view,
  type Negotiated,
  type PageResult,
  type Retry,
  type View,
} from 'parley-forum/plugins/web';
import type { IdentityStore, SubjectKey } from '../identities/identity-store.ts';
import { LINKED, UNKNOWN } from '../identities/paths.ts';
import { SignOnFailure, type ProviderClient } from '../openid/provider-client.ts';
import type { Identification, Profile } from '../openid/relying-party.ts';
import { pathOf, type OpenProvider, type ProviderStore } from '../providers/provider-store.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { PendingIdentities } from './pending-identities.ts';
import { protectPage, type SignOn } from './sign-on.ts';

export interface LoginPagesDeps {
  readonly accounts: Accounts;
  readonly sessions: Sessions;
  readonly providers: ProviderStore;
  readonly identities: IdentityStore;
  readonly attempts: Attempts;
  readonly pending: PendingIdentities;
  readonly client: ProviderClient;
  readonly signOn: SignOn;
  readonly http: Http;
  readonly environment: Environment;
}

/** The format of error codes from providers. */
const ERROR = /^[a-z_]{1,60}$/;
/** Tolerated difference to a provider's clock, in milliseconds. */
const SKEW = 60_000;

export const Named = Type.Object({ provider: Type.String({ maxLength: 40 }) });
const Ticked = Type.Optional(Type.Union([Type.Boolean(), Type.String({ maxLength: 20 })]));
const LoginForm = Type.Object({ return_to: Type.Optional(Type.String({ maxLength: 2_048 })), remember: Ticked });
const ConfirmForm = Type.Object({
  return_to: Type.Optional(Type.String({ maxLength: 2_048 })),
  pending: Type.Optional(Type.String({ maxLength: 1_000_000 })),
  code: Type.Optional(Type.String({ maxLength: 60 })),
});

/** A request that came back from a provider. */
interface Returned {
  readonly actor: Viewer;
  readonly req: Request;
  readonly res: Response;
  readonly provider: OpenProvider;
  readonly attempt: Attempt;
  readonly identification: Identification;
}

const subjectKey = ({ id, issuer }: OpenProvider, subject: string): SubjectKey => ({ providerId: id, issuer, subject });

/** The verified e-mail address, if the provider is trusted to verify addresses. */
const provenEmailOf = ({ trustsEmail }: OpenProvider, { email, emailVerified }: Profile): string | null =>
  trustsEmail && emailVerified ? (email ?? null) : null;

/** Logins at providers, from the button to the session. */
export function addLoginPages(plugin: PluginHandle, deps: LoginPagesDeps): void {
  const { accounts, sessions, providers, identities, attempts, pending, client, signOn, http, environment } = deps;
  const back = (path: string | undefined): string => localPath(path, environment.baseUrl);

  plugin.route(pages, {
    method: 'post',
    path: pathOf(':provider'),
    can: 'public',
    summary: 'Log in or sign up with an identity provider',
    params: Named,
    body: LoginForm,
  })(async ({ req, res, params, body }) =>
    signOn.leave(req, res, await providers.named(params.provider), {
      purpose: 'login',
      accountId: undefined,
      returnTo: back(body.return_to),
      remember: body.remember === true || body.remember === 'true',
      pendingForm: undefined,
    }),
  );

  const codePage = (name: string, slug: string, values: Readonly<Record<string, unknown>>, retry?: Retry): View =>
    view(
      '@single-sign-on/confirm',
      { name: 'login', title: phrase('accounts:confirm.title'), noindex: true },
      {
        action: `${pathOf(slug)}/confirm`,
        provider: name,
        return_to: values['return_to'],
        pending: values['pending'],
        ...formErrors(retry),
      },
    );
  const rerender = async (retry: Retry): Promise<View> => {
    const { name, slug } = await providers.named(retry.params['provider'] ?? '');
    return codePage(name, slug, retry.body, retry);
  };
  plugin.route(pages, {
    method: 'post',
    path: `${pathOf(':provider')}/confirm`,
    can: 'member',
    summary: 'Confirm your identity at an identity provider',
    params: Named,
    body: ConfirmForm,
    options: { rerender, longText: true },
  })(async ({ actor, req, res, params, body }): Promise<PageResult> => {
    const provider = await providers.named(params.provider);
    const account = (await accounts.find(actor.id))!;
    if (body.code === undefined && (await sessions.asksForCode(account)))
      return codePage(provider.name, provider.slug, body);
    await sessions.checkCode(account, body.code, http.ip(req));
    return signOn.leave(req, res, provider, {
      purpose: 'confirm',
      accountId: actor.id,
      returnTo: back(body.return_to),
      remember: false,
      pendingForm: body.pending || undefined,
    });
  });

  const logIn = async ({ req, res, provider, attempt, identification }: Returned): Promise<Negotiated> => {
    const { subject, authenticatedAt } = identification;
    const { returnTo, remember } = attempt;
    const known = await identities.find(subjectKey(provider, subject));
    const account = known && (await accounts.find(known.accountId));
    if (!known || !account) {
      const profile = await identification.profile();
      const { email = null, username = null } = profile;
      const who = { ...subjectKey(provider, subject), label: email ?? username, email, username: username ?? email };
      const provenEmail = provenEmailOf(provider, profile);
      await pending.put(req, res, { ...who, provenEmail, returnTo, remember });
      return negotiated(redirect(UNKNOWN), { success: true, next: UNKNOWN });
    }
    const identifiedAt = authenticatedAt === undefined ? undefined : new Date(authenticatedAt);
    const { redirectTo, json } = await sessions.beginLogin(req, res, account, { remember, identifiedAt, returnTo });
    await identities.recordUse(known);
    plugin.log.info(
      { account: account.id, provider: provider.slug, address: http.ip(req) },
      'login with an identity provider',
    );
    return negotiated(redirect(redirectTo), json);
  };

  const link = async ({ req, actor, provider, identification }: Returned): Promise<Negotiated> => {
    if (actor.id === undefined) throw new HttpError(401, 'Log in to continue', { code: 'login_needed' });
    const { subject } = identification;
    const profile = await identification.profile();
    const label = profile.email ?? profile.username ?? null;
    const who = { ...subjectKey(provider, subject), label, provenEmail: provenEmailOf(provider, profile) };
    await identities.link(who, actor.id, { address: http.ip(req), member: sessions.accountOf(req) });
    const notice = phrase('single-sign-on:linked', { provider: provider.name });
    return negotiated(redirect(LINKED, { notice }), { success: true });
  };

  const confirm = async ({ req, actor, provider, attempt, identification }: Returned): Promise<Negotiated> => {
    const { subject, authenticatedAt = 0 } = identification;
    if ((await identities.find(subjectKey(provider, subject)))?.accountId !== actor.id)
      throw new SignOnFailure('other', 403, `That is not the account at ${provider.name} that is linked to yours`);
    if (authenticatedAt < attempt.startedAt.getTime() - SKEW)
      throw new SignOnFailure(
        'not_again',
        403,
        `${provider.name} did not ask you to log in again, or did not report when it did; set a password to confirm with`,
      );
    await sessions.confirmIdentity(req);
    const until = sessions.confirmedUntil(req)?.toISOString();
    return negotiated(resumed(attempt.pendingForm ?? undefined, redirect(attempt.returnTo)), {
      success: true,
      confirmed_until: until,
    });
  };

  const cancelled = (provider: OpenProvider, error: unknown): SignOnFailure =>
    error === 'access_denied'
      ? new SignOnFailure('cancelled', 403, `The login was cancelled at ${provider.name}`)
      : new SignOnFailure(
          'refused',
          502,
          `${provider.name} refused the login; try again, or contact the administrators`,
        );

  const finish = async (
    returned: Pick<Returned, 'actor' | 'req' | 'res' | 'provider'>,
    attempt: Attempt | undefined,
  ): Promise<Negotiated> => {
    const { actor, req, provider } = returned;
    if (attempt?.providerId !== provider.id)
      throw new SignOnFailure(
        'state',
        400,
        'This login took more than ten minutes, was already used, or was started in another browser; start again',
      );
    if (attempt.accountId !== null && attempt.accountId !== actor.id)
      throw new SignOnFailure('member', 400, 'You are no longer logged in as the member who started this');
    if (req.query['error'] !== undefined) throw cancelled(provider, req.query['error']);
    const url = new URL(provider.redirectUri);
    url.search = new URL(req.originalUrl, environment.baseUrl).search;
    const identification = await client.identify(provider, url, attempt);
    const all = { ...returned, attempt, identification };
    return { login: logIn, link, confirm }[attempt.purpose](all);
  };

  plugin.route(pages, {
    method: 'get',
    path: `${pathOf(':provider')}/callback`,
    can: 'public',
    params: Named,
  })(async ({ actor, req, res, params }) => {
    protectPage(res);
    await signOn.countReturn(req);
    const provider = await providers.named(params.provider);
    const attempt = await attempts.finish(req, req.query['state']);
    try {
      return await finish({ actor, req, res, provider }, attempt);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      const reason = error instanceof SignOnFailure ? error.reason : error.code;
      const said = ERROR.exec(String(req.query['error']))?.[0];
      plugin.log.info({ provider: provider.slug, reason, said }, 'a login with an identity provider was refused');
      await plugin.emit(signOnRefused, { provider: provider.id, reason, address: http.ip(req) });
      return signOn.failed(error, attempt);
    }
  });

  plugin.job('clean', {
    schema: Type.Object({}),
    cron: '41 * * * *',
    run: async () => {
      await attempts.deleteExpired();
      await pending.deleteExpired();
    },
  });
}
