import type { PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { securitySettingsEnd, type Accounts } from 'parley-forum/plugins/accounts';
import {
  fill,
  formErrors,
  negotiated,
  pages,
  phrase,
  redirect,
  slotFillings,
  view,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import { Named } from '../login/pages.ts';
import type { SignOn } from '../login/sign-on.ts';
import type { ProviderStore } from '../providers/provider-store.ts';
import type { IdentityStore } from './identity-store.ts';
import type { LinkedIdentities } from './linked-identities.ts';
import { LINKED } from './paths.ts';

export interface SettingsPagesDeps {
  readonly accounts: Accounts;
  readonly providers: ProviderStore;
  readonly identities: IdentityStore;
  readonly linkedIdentities: LinkedIdentities;
  readonly signOn: SignOn;
  readonly web: Web;
}

/** The settings page on which members see the providers they log in by, link more, and unlink. */
export function addSettingsPages(
  plugin: PluginHandle,
  { accounts, providers, identities, linkedIdentities, signOn, web }: SettingsPagesDeps,
): void {
  /** A member's linked accounts, and the providers where they could link more. */
  const stateOf = async (accountId: string) => {
    const linked = await linkedIdentities.of(accountId);
    const more = (await providers.active()).filter(({ slug }) => !linked.some((one) => one.slug === slug));
    return { linked, more };
  };
  const page = async ({ id }: Viewer, retry?: Retry): Promise<View> => {
    const { linked, more } = id === undefined ? { linked: [], more: [] } : await stateOf(id);
    const model = {
      linked: linked.map((one) => ({ ...one, unlink: `${LINKED}/${one.slug}/unlink` })),
      more: more.map(({ name, slug }) => ({ name, link: `${LINKED}/${slug}/link` })),
      passwordless: id !== undefined && !(await accounts.withPassword([id])).has(id),
      ...formErrors(retry),
    };
    return view(
      '@single-sign-on/settings',
      {
        name: 'settings',
        title: phrase('single-sign-on:settings.title'),
        noindex: true,
        current: '/settings/security',
      },
      model,
    );
  };
  const options = { confirm: true, rerender: (retry: Retry) => page(retry.actor, retry) };

  plugin.route(pages, { method: 'get', path: LINKED, can: 'member' })(async ({ actor }) => {
    const { linked } = await stateOf(actor.id);
    return negotiated(await page(actor), {
      success: true,
      linked_accounts: linked.map(({ slug, name, label, linkedAt, usedAt }) => ({
        provider: slug,
        provider_name: name,
        name: label,
        linked_at: linkedAt.toISOString(),
        last_used_at: usedAt?.toISOString() ?? null,
      })),
    });
  });

  plugin.route(pages, {
    method: 'post',
    path: `${LINKED}/:provider/link`,
    can: 'member',
    summary: 'Link an account at another site to log in with',
    params: Named,
    options,
  })(async ({ actor, req, res, params }) =>
    signOn.leave(req, res, await providers.named(params.provider), {
      purpose: 'link',
      accountId: actor.id,
      returnTo: LINKED,
      remember: false,
      pendingForm: undefined,
    }),
  );

  plugin.route(pages, {
    method: 'post',
    path: `${LINKED}/:provider/unlink`,
    can: 'member',
    summary: 'Unlink an account at another site',
    params: Named,
    options,
  })(async ({ actor, params }) => {
    const provider = await providers.listed(params.provider);
    await identities.unlink(actor.id, provider.id, 'member');
    const notice = phrase('single-sign-on:unlinked', { provider: provider.name });
    return negotiated(redirect(LINKED, { notice }), { success: true });
  });

  plugin.extend(
    slotFillings,
    fill(securitySettingsEnd, async (contexts, viewer) => {
      if (viewer.id === undefined) return [];
      const { linked, more } = await stateOf(viewer.id);
      if (linked.length + more.length === 0) return [];
      const panel = await web.fragment(viewer, '@single-sign-on/panel', {
        names: linked.map(({ name }) => name).join(', '),
        href: LINKED,
      });
      return contexts.map(() => panel);
    }),
  );
}
