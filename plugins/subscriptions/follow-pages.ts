import { Type, type PluginHandle } from 'parley-forum';
import { isGuest, type Access, type Viewer } from 'parley-forum/plugins/access';
import { profileAbout } from 'parley-forum/plugins/accounts';
import { categoryActions, listActions } from 'parley-forum/plugins/discussions';
import { follow, type FollowKind } from 'parley-forum/plugins/subscriptions';
import { fill, pages, phrase, redirect, slotFillings, type SafeHtml, type Web } from 'parley-forum/plugins/web';
import { changeFollow, FollowBody, type FollowDeps } from './follow-routes.ts';

/** The button that follows a category, a tag or a member, on its page. */
export function addFollowPages(
  plugin: PluginHandle,
  { access, web, ...deps }: FollowDeps & { readonly access: Access; readonly web: Web },
): void {
  const buttons =
    (kind: FollowKind) =>
    (shown: readonly { readonly id: string }[], viewer: Viewer): Promise<readonly (SafeHtml | undefined)[]> =>
      Promise.all(
        shown.map(async ({ id }) => {
          // Nobody follows themselves.
          if (isGuest(viewer) || id === viewer.id || !access.allows(viewer, follow)) return undefined;
          const following = await deps.follows.has(viewer.id!, { kind, id });
          return web.fragment(viewer, '@subscriptions/follow', { kind, id, following });
        }),
      );
  plugin.extend(slotFillings, fill(categoryActions, buttons('category')));
  plugin.extend(slotFillings, fill(listActions, buttons('tag')));
  plugin.extend(slotFillings, fill(profileAbout, buttons('member')));

  plugin.route(pages, {
    method: 'post',
    path: '/follows',
    can: follow,
    body: Type.Object({ ...FollowBody, following: Type.Enum(['true', 'false']) }),
  })(async ({ actor, body: { kind, subject_id: id, following } }) => {
    const follows = following === 'true';
    const found = await changeFollow(deps, { kind, id }, follows, actor);
    if (!found) return redirect('/following');
    const notice = phrase(`subscriptions:follow.${follows ? 'done' : 'ended'}`, { name: found.name });
    return redirect(found.url, { notice });
  });
}
