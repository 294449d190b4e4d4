import { Type, type PluginHandle } from 'parley-forum';
import { accountTag, editProfile, type Account, type Accounts } from 'parley-forum/plugins/accounts';
import { api, IdParams } from 'parley-forum/plugins/api';
import type { Access, Viewer } from 'parley-forum/plugins/access';
import { clearProfiles, MAX_ABOUT, MAX_LINK, MAX_LINKS, MAX_PLACE, ProfileRecord } from 'parley-forum/plugins/profiles';
import type { ProfileService } from './profile-service.ts';
import { recordOf } from './rows.ts';

export interface RouteDeps {
  readonly plugin: PluginHandle;
  readonly access: Access;
  readonly accounts: Accounts;
  readonly profiles: ProfileService;
}

/** Moderators may clear the profiles of members they outrank. */
export const mayClear = (access: Access, viewer: Viewer, { id, groupId }: Account): boolean => {
  const group = access.group(groupId);
  return (
    id !== viewer.id && access.allows(viewer, clearProfiles) && group !== undefined && access.outranks(viewer, group)
  );
};

/** /api/users/{id}/profile. */
export function profileRoutes({ plugin, access, accounts, profiles }: RouteDeps): void {
  const shown = async (id: string): Promise<ProfileRecord> => recordOf(await profiles.find(id));
  const route = {
    path: '/users/:id/profile',
    params: IdParams,
    load: ({ params }: { readonly params: { readonly id: string } }) => accounts.find(params.id),
  } as const;
  const result = Type.Object({ profile: ProfileRecord });

  plugin.route(api, {
    ...route,
    method: 'get',
    can: 'public',
    summary: 'A member’s profile',
    result,
    cacheTags: ({ target }) => [accountTag(target.id)],
  })(async ({ target }) => ({ profile: await shown(target.id) }));

  plugin.route(api, {
    ...route,
    method: 'put',
    can: editProfile,
    summary: 'Change the caller’s profile; omitted fields stay unchanged',
    body: Type.Object({
      about: Type.Optional(Type.String({ description: `Markdown of at most ${MAX_ABOUT} characters` })),
      place: Type.Optional(Type.String({ description: `At most ${MAX_PLACE} characters` })),
      links: Type.Optional(
        Type.Array(Type.String({ description: `An https:// address of at most ${MAX_LINK} characters` }), {
          description: `At most ${MAX_LINKS}`,
        }),
      ),
    }),
    result,
    authorize: ({ actor, target }) => target.id === actor.id,
  })(async ({ target, body }) => {
    await profiles.change(target.id, body);
    return { profile: await shown(target.id) };
  });

  plugin.route(api, {
    ...route,
    method: 'delete',
    can: clearProfiles,
    summary: 'Clear another member’s profile, including the display name',
    result: Type.Object({}),
    authorize: ({ actor, target }) => mayClear(access, actor, target),
  })(async ({ actor, target }) => {
    await profiles.clear(target.id, actor.id);
    return {};
  });
}
