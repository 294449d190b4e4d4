import { HttpError, notFound, Type, type PluginHandle } from 'parley-forum';
import { accountsTag, nameOf, profileTabs, type Accounts, type Author } from 'parley-forum/plugins/accounts';
import { pageVisibilityRules } from 'parley-forum/ports/page-visibility';
import { pages, redirect, view } from 'parley-forum/plugins/web';
import type { User, UserRecords } from './user-records.ts';

/** Milliseconds after which the page is shown without a slow tab. */
const TAB_TIMEOUT = 2_000;
const PROFILE = /^\/u\/([^/]+)(?:\/[a-z-]+)?$/;
const ProfileParams = Type.Object({ username: Type.String(), tab: Type.Optional(Type.String()) });

/** The page of a member, with a tab for each plugin that has something to show about them. */
export function addProfile(
  plugin: PluginHandle,
  users: UserRecords,
  accounts: Pick<Accounts, 'idsByUsername' | 'authors'>,
): void {
  // The profile of every existing member is public.
  plugin.extend(pageVisibilityRules, {
    prefixes: ['/u/'],
    tags: [accountsTag],
    async visible(paths) {
      const names = paths.map((path) => PROFILE.exec(path)?.[1]?.toLowerCase());
      const known = await accounts.idsByUsername(names.filter((name) => name !== undefined));
      const authors = await accounts.authors([...known.values()]);
      return names.map((name) => {
        const author = authors.get(known.get(name ?? '') ?? '');
        return author && { path: pathOf(author), title: nameOf(author) };
      });
    },
  });
  for (const path of ['/u/:username', '/u/:username/:tab']) {
    plugin.route(pages, {
      method: 'get',
      path,
      can: 'public',
      params: ProfileParams,
      load: ({ actor, params }) => users.findByUsername(params.username, actor),
    })(async ({ actor, params, req, target: user }) => {
      const address = pathOf(user);
      if (params.username !== user.username)
        return redirect(params.tab === undefined ? address : `${address}/${encodeURIComponent(params.tab)}`, {
          status: 301,
        });
      const profile = authorOf(user);
      const offered = plugin.extensions(profileTabs);
      const shown = await Promise.all(
        offered.map(({ plugin: id, value }) =>
          plugin.attempt(
            id,
            `profile tab ${value.id}: shown`,
            () => value.shown?.(profile, actor) ?? true,
            TAB_TIMEOUT,
          ),
        ),
      );
      const extensions = offered.filter((_tab, index) => shown[index]);
      const current =
        params.tab === undefined ? extensions[0] : extensions.find(({ value }) => value.id === params.tab);
      if (!current && params.tab !== undefined) throw notFound();
      const counts = await Promise.all(
        extensions.map(({ plugin: id, value }) =>
          plugin.attempt(id, `profile tab ${value.id}: count`, () => value.count?.(profile, actor), TAB_TIMEOUT),
        ),
      );
      const query = req.query as Record<string, string | undefined>;
      const content =
        current &&
        (await plugin.attempt(
          current.plugin,
          `profile tab ${current.value.id}`,
          () => current.value.render(profile, actor, query).catch(refusalOnly),
          TAB_TIMEOUT,
        ));
      if (content instanceof HttpError) throw content;
      const items = extensions.map(({ value }, index) => ({
        label: value.label,
        href: index === 0 ? address : `${address}/${value.id}`,
        current: value === current?.value,
        count: counts[index],
      }));
      const page = Number(query['page']) > 1 ? `?page=${encodeURIComponent(query['page']!)}` : '';
      const canonical = (items.find((item) => item.current)?.href ?? address) + page;
      const head = { name: 'profile', title: nameOf(user), canonical, subject: user.id };
      return view('@accounts/profile', head, {
        user,
        tabs: items,
        content,
        missing: current !== undefined && content === undefined,
        own: actor.id === user.id,
      });
    });
  }
}

const pathOf = ({ username }: { readonly username: string }): string => `/u/${encodeURIComponent(username)}`;
const authorOf = ({ id, username, display_name, avatar_url }: User): Author => ({
  id,
  username,
  display_name,
  avatar_url,
});

/** 403 and 404 from a tab apply to the whole page; other errors are failures of the tab. */
function refusalOnly(error: unknown): HttpError {
  if (error instanceof HttpError && error.status < 500) return error;
  throw error;
}
