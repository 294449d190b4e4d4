import type { PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { confirmAfter, loginBefore, registerBefore, type LoginSlot } from 'parley-forum/plugins/accounts';
import { fill, slotFillings, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import type { IdentityStore } from '../identities/identity-store.ts';
import { pathOf, type ProviderStore } from '../providers/provider-store.ts';

export interface ButtonsDeps {
  readonly providers: ProviderStore;
  readonly identities: IdentityStore;
  readonly web: Web;
}

/** Adds a button for each provider to the pages for logging in, signing up and confirming one's identity. */
export function addButtons(plugin: PluginHandle, { providers, identities, web }: ButtonsDeps): void {
  const buttons =
    (remembers: boolean) =>
    async (pages: readonly LoginSlot[], viewer: Viewer): Promise<readonly (SafeHtml | undefined)[]> => {
      const active = (await providers.active()).map(({ name, slug }) => ({ name, action: pathOf(slug) }));
      if (active.length === 0) return [];
      return Promise.all(
        pages.map(({ return_to: returnTo }) =>
          web.fragment(viewer, '@single-sign-on/buttons', {
            providers: active,
            action: active[0]!.action,
            return_to: returnTo,
            remembers,
          }),
        ),
      );
    };
  plugin.extend(slotFillings, fill(loginBefore, buttons(true)));
  plugin.extend(slotFillings, fill(registerBefore, buttons(false)));

  plugin.extend(
    slotFillings,
    fill(confirmAfter, async (pages, viewer) => {
      if (viewer.id === undefined) return [];
      const own = new Set((await identities.of(viewer.id)).map(({ providerId }) => providerId));
      const linked = (await providers.active())
        .filter(({ id }) => own.has(id))
        .map(({ name, slug }) => ({ name, action: `${pathOf(slug)}/confirm` }));
      if (linked.length === 0) return [];
      return Promise.all(
        pages.map(({ return_to: returnTo, pending }) =>
          web.fragment(viewer, '@single-sign-on/confirm-buttons', {
            providers: linked,
            action: linked[0]!.action,
            return_to: returnTo,
            pending,
          }),
        ),
      );
    }),
  );
}
