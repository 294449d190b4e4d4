import { Type, type Clock, type PluginHandle } from 'parley-forum';
import { nameOf, type Accounts } from 'parley-forum/plugins/accounts';
import { bodyStart, fill, html, negotiated, pages, slotFillings, view, type Web } from 'parley-forum/plugins/web';

interface CardDeps {
  readonly plugin: PluginHandle;
  readonly accounts: Accounts;
  readonly clock: Clock;
  readonly web: Web;
  /** Milliseconds after sign-up for which a member counts as new. */
  newFor(): number;
}

/**
 * /u/{username}/card: a member's card, which is a page of its own without JavaScript, and the element that shows it
 * next to names.
 */
export function addCards({ plugin, accounts, clock, web, newFor }: CardDeps): void {
  plugin.route(pages, {
    method: 'get',
    path: '/u/:username/card',
    can: 'public',
    params: Type.Object({ username: Type.String({ maxLength: 100 }) }),
    summary: 'The card of a member.',
    load: async ({ actor, params }) => {
      const username = params.username.toLowerCase();
      const id = (await accounts.idsByUsername([username])).get(username);
      const [user] = id === undefined ? [] : await accounts.records([id], actor);
      return user;
    },
  })(async ({ actor, target: user }) => {
    const shown = { ...user, is_new: clock.now() - Date.parse(user.joined_at) < newFor(), alone: true };
    const head = { name: 'profile', title: nameOf(user), canonical: `/u/${encodeURIComponent(user.username)}` };
    return negotiated(view('@members/card', { ...head, noindex: true }, { user: shown }), {
      success: true,
      html: String(await web.fragment(actor, 'partials/user-card', shown)),
    });
  });
  const element = html`<x-member-card data-when="main a[href^='/u/']" data-press=".post a[href^='/u/']"></x-member-card>`;
  plugin.extend(
    slotFillings,
    fill(bodyStart, (places) => places.map(() => element), { shared: true }),
  );
}
