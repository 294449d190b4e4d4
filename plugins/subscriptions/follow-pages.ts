import { Type, type Environment, type PluginHandle } from 'parley-forum';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { nameOf, profileAbout, userCardActions, type Author } from 'parley-forum/plugins/accounts';
import { categoryActions, listActions, postMenu } from 'parley-forum/plugins/discussions';
import { follow, FOLLOW_LEVELS, followLevelsOf, type FollowKind } from 'parley-forum/plugins/subscriptions';
import {
  fill,
  localPath,
  pages,
  phrase,
  redirect,
  slotFillings,
  type SafeHtml,
  type Web,
} from 'parley-forum/plugins/web';
import { changeFollow, FollowBody, type FollowDeps } from './follow-routes.ts';

type Filled = Promise<readonly (SafeHtml | undefined)[]>;

/**
 * The menu that follows or mutes a category, tag or member on its page, and the button that ignores the author of a
 * post.
 */
export function addFollowPages(
  plugin: PluginHandle,
  {
    access,
    environment,
    web,
    ...deps
  }: FollowDeps & { readonly access: Access; readonly environment: Environment; readonly web: Web },
): void {
  /** Members can neither follow nor ignore themselves. */
  const mayFollow = (viewer: Viewer, id: string): boolean =>
    viewer.id !== undefined && id !== viewer.id && access.allows(viewer, follow);

  const menus =
    (kind: FollowKind) =>
    (shown: readonly { readonly id: string }[], viewer: Viewer): Filled =>
      Promise.all(
        shown.map(async ({ id }) => {
          if (!mayFollow(viewer, id)) return undefined;
          const current = await deps.follows.level(viewer.id!, { kind, id });
          const textOf = (level: string): string =>
            `subscriptions:follow.${level === 'muted' && kind === 'member' ? 'ignored' : level}`;
          const levels = followLevelsOf(kind).map((level) => ({
            level,
            current: level === current,
            label: textOf(level),
            help: `${textOf(level)}.help`,
          }));
          const label = current === 'normal' ? 'subscriptions:follow.button' : textOf(current);
          return web.fragment(viewer, '@subscriptions/follow', { kind, id, label, levels });
        }),
      );
  plugin.extend(slotFillings, fill(categoryActions, menus('category')));
  plugin.extend(slotFillings, fill(listActions, menus('tag')));
  plugin.extend(slotFillings, fill(profileAbout, menus('member')));

  const ignoring = async (author: Author, viewer: Viewer, template: string, returnTo?: string) => {
    const { id } = author;
    if (!mayFollow(viewer, id)) return undefined;
    const ignored = (await deps.follows.level(viewer.id!, { kind: 'member', id })) === 'muted';
    return web.fragment(viewer, template, { id, name: nameOf(author), ignored, return_to: returnTo });
  };
  plugin.extend(
    slotFillings,
    fill(userCardActions, (members, viewer) =>
      Promise.all(
        members.map((member) =>
          ignoring(member, viewer, '@subscriptions/ignore-button', `/u/${encodeURIComponent(member.username)}`),
        ),
      ),
    ),
  );
  plugin.extend(
    slotFillings,
    fill(postMenu, (posts, viewer) =>
      Promise.all(posts.map(({ author, url }) => ignoring(author, viewer, '@subscriptions/ignore-item', url))),
    ),
    10,
  );

  plugin.route(pages, {
    method: 'post',
    path: '/follows',
    can: follow,
    body: Type.Object({
      ...FollowBody,
      level: Type.Enum([...FOLLOW_LEVELS]),
      return_to: Type.Optional(Type.String({ maxLength: 2_048, description: 'The page to redirect to afterwards' })),
    }),
  })(async ({ actor, body: { kind, subject_id: id, level, return_to: returnTo } }) => {
    const choice = level === 'normal' ? { leave: ['following', 'watching', 'muted'] as const } : level;
    const found = await changeFollow(deps, { kind, id }, choice, actor);
    const next = returnTo === undefined ? (found?.url ?? '/following') : localPath(returnTo, environment.baseUrl);
    if (!found) return redirect(next);
    const done = level === 'muted' && kind === 'member' ? 'ignored' : level;
    return redirect(next, { notice: phrase(`subscriptions:follow.${done}.done`, { name: found.name }) });
  });
}
