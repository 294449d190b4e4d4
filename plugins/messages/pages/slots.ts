import { isGuest, type Viewer } from 'parley-forum/plugins/access';
import { profileAbout, userCardActions, type Author } from 'parley-forum/plugins/accounts';
import { sendMessages } from 'parley-forum/plugins/messages';
import { fill, headerEnd, slotFillings, type SafeHtml } from 'parley-forum/plugins/web';
import { LIST, type PageDeps } from './shared.ts';

/** The unread count in the header of every page, and the button to write to a member on their profile and card. */
export function fillSlots({ plugin, access, rules, unread, web }: PageDeps): void {
  plugin.extend(
    slotFillings,
    fill(headerEnd, async (places, viewer) => {
      if (isGuest(viewer)) return [];
      const badge = await web.fragment(viewer, '@messages/badge', { count: await unread(viewer) });
      return places.map(() => badge);
    }),
    5,
  );

  const buttons =
    (small: boolean) =>
    async (people: readonly Author[], viewer: Viewer): Promise<readonly (SafeHtml | undefined)[]> => {
      if (isGuest(viewer) || !access.allows(viewer, sendMessages)) return [];
      const others = people.map(({ id }) => id).filter((id) => id !== viewer.id);
      const refusing = await rules.refusing(viewer, others);
      return Promise.all(
        people.map(async ({ id, username }) => {
          if (id === viewer.id || refusing.has(id)) return undefined;
          const href = `${LIST}/new?${new URLSearchParams({ to: username })}`;
          return web.fragment(viewer, '@messages/button', { href, small });
        }),
      );
    };
  plugin.extend(slotFillings, fill(profileAbout, buttons(false)), -10);
  plugin.extend(slotFillings, fill(userCardActions, buttons(true)), -10);
}
