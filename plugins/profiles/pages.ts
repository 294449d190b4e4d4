import { Type } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import {
  editProfile,
  profileAbout,
  profileSettingsEnd,
  profileTabs,
  type Account,
  type Author,
} from 'parley-forum/plugins/accounts';
import { clearProfiles, MAX_ABOUT, MAX_LINK, MAX_LINKS, MAX_PLACE } from 'parley-forum/plugins/profiles';
import {
  fill,
  formErrors,
  pages,
  phrase,
  redirect,
  SafeHtml,
  slotFillings,
  view,
  type Retry,
  type View,
  type Web,
} from 'parley-forum/plugins/web';
import { firstSteps } from 'parley-forum/ports/suggestions';
import { mayClear, type RouteDeps } from './routes.ts';
import { EMPTY, isEmpty } from './rows.ts';

const SETTINGS = '/settings/profile';
const FORM = '/settings/about';
const pathOf = ({ username }: { readonly username: string }): string => `/u/${encodeURIComponent(username)}`;
/** The text of a link. */
const labelOf = (url: string): string => url.replace(/^https:\/\//, '').replace(/\/$/, '');

/** The profile tab, the settings form, and the page where moderators clear another member's profile. */
export function profilePages({ web, ...deps }: RouteDeps & { readonly web: Web }): void {
  aboutTab({ web, ...deps });
  settingsForm({ web, ...deps });
  clearing({ web, ...deps });
}

type PageDeps = RouteDeps & { readonly web: Web };

function aboutTab({ plugin, profiles, web }: PageDeps): void {
  plugin.extend(
    profileTabs,
    {
      id: 'about',
      label: 'profiles:about',
      shown: async ({ id }) => !isEmpty(await profiles.find(id)),
      async render({ id }: Author, viewer: Viewer) {
        const { html, place, links } = await profiles.find(id);
        return web.fragment(viewer, '@profiles/about', {
          html: html === '' ? undefined : new SafeHtml(html),
          place,
          links: links.map((url) => ({ url, label: labelOf(url) })),
        });
      },
    },
    -10,
  );
}

function settingsForm({ plugin, access, accounts, profiles, web }: PageDeps): void {
  const panel = async (viewer: Viewer, retry?: Retry): Promise<SafeHtml> => {
    const { about, place, links } = viewer.id === undefined ? EMPTY : await profiles.find(viewer.id);
    return web.fragment(viewer, '@profiles/panel', {
      values: retry?.body ?? { about, place, links: links.join('\n') },
      target: FORM,
      longest: { about: MAX_ABOUT, place: MAX_PLACE, links: MAX_LINKS * (MAX_LINK + 1) },
      most: MAX_LINKS,
      ...formErrors(retry),
    });
  };
  const page = async (viewer: Viewer, retry?: Retry): Promise<View> =>
    view(
      '@profiles/settings',
      { name: 'settings', title: phrase('profiles:about'), noindex: true, current: SETTINGS },
      { panel: await panel(viewer, retry), ...formErrors(retry) },
    );

  plugin.extend(
    slotFillings,
    fill(profileSettingsEnd, async (contexts, viewer) => {
      if (!access.allows(viewer, editProfile)) return [];
      const shown = await panel(viewer);
      return contexts.map(() => shown);
    }),
    -10,
  );
  plugin.extend(
    firstSteps,
    {
      label: 'profiles:first-step',
      href: SETTINGS,
      done: async ({ id = '' }) => (await accounts.find(id))?.bio !== '' || !isEmpty(await profiles.find(id)),
    },
    10,
  );

  const options = { rerender: (retry: Retry) => page(retry.actor, retry) };
  plugin.route(pages, { method: 'get', path: FORM, can: editProfile })(({ actor }) => page(actor));
  plugin.route(pages, {
    method: 'post',
    path: FORM,
    can: editProfile,
    options,
    // Line breaks are two characters in a submitted form; the final length is checked later.
    body: Type.Object({
      about: Type.Optional(Type.String({ maxLength: 2 * MAX_ABOUT })),
      place: Type.Optional(Type.String({ maxLength: 2 * MAX_PLACE })),
      links: Type.Optional(Type.String({ maxLength: 4 * MAX_LINKS * MAX_LINK })),
    }),
  })(async ({ actor, body: { about, place, links } }) => {
    await profiles.change(actor.id, { about, place, links: links?.split('\n') });
    return redirect(SETTINGS, { notice: phrase('profiles:saved') });
  });
}

function clearing({ plugin, access, accounts, profiles, web }: PageDeps): void {
  const path = '/u/:username/clear';
  const find = ({ params }: { readonly params: { readonly username: string } }): Promise<Account | undefined> =>
    params.username.includes('@') ? Promise.resolve(undefined) : accounts.findByIdentifier(params.username);
  const route = {
    path,
    can: clearProfiles,
    params: Type.Object({ username: Type.String({ maxLength: 100 }) }),
    load: find,
    authorize: ({ actor, target }: { readonly actor: Viewer; readonly target: Account }) =>
      mayClear(access, actor, target),
  } as const;

  plugin.extend(
    slotFillings,
    fill(profileAbout, (people, viewer) =>
      Promise.all(
        people.map(async (person) => {
          if (!access.allows(viewer, clearProfiles)) return undefined;
          const account = await accounts.find(person.id);
          if (!account || !mayClear(access, viewer, account)) return undefined;
          const said = account.bio !== '' || account.displayName !== null || !isEmpty(await profiles.find(person.id));
          return said ? web.fragment(viewer, '@profiles/clear-link', { href: `${pathOf(person)}/clear` }) : undefined;
        }),
      ),
    ),
  );
  plugin.route(pages, { ...route, method: 'get' })(({ target }) =>
    view(
      '@profiles/clear',
      { name: 'profile', title: phrase('profiles:clear'), noindex: true },
      { name: target.username, action: `${pathOf(target)}/clear`, profile: pathOf(target) },
    ),
  );
  plugin.route(pages, { ...route, method: 'post' })(async ({ actor, target }) => {
    await profiles.clear(target.id, actor.id);
    return redirect(pathOf(target), { notice: phrase('profiles:cleared', { name: target.username }) });
  });
}
