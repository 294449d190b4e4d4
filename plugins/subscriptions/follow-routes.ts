import { notFound, Type, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { api } from 'parley-forum/plugins/api';
import { follow, FOLLOW_KINDS, FollowRecord } from 'parley-forum/plugins/subscriptions';
import type { Followed, FollowService } from './follow-service.ts';
import type { Subject, Subjects } from './subjects.ts';

export interface FollowDeps {
  readonly follows: FollowService;
  readonly subjects: Subjects;
}
/** What is followed, in bodies of the API and of forms. */
export const FollowBody = {
  kind: Type.Enum([...FOLLOW_KINDS]),
  subject_id: Type.String({ minLength: 1, maxLength: 100, description: 'Of categories and tags the slug will do' }),
};

/**
 * Follows something, or stops. 404 for what the member does not see, unless they stop following it: that is named by its
 * id alone. Undefined then.
 */
export async function changeFollow(
  { follows, subjects }: FollowDeps,
  { kind, id }: Followed,
  following: boolean,
  actor: Viewer,
): Promise<Subject | undefined> {
  const found = await subjects.find(kind, id, actor);
  if (!found && (following || !(await follows.has(actor.id!, { kind, id }))))
    throw notFound('There is nothing of that kind with this id');
  await follows.set(actor.id!, { kind, id: found?.id ?? id }, following);
  return found;
}

/** Following categories, tags and members: POST /api/subscriptions/follow and GET /api/users/follows. */
export function addFollowRoutes(plugin: PluginHandle, deps: FollowDeps): void {
  const { follows, subjects } = deps;
  plugin.route(api, {
    method: 'post',
    path: '/subscriptions/follow',
    can: follow,
    summary: 'Follow a category, a tag or a member, or stop: followers are notified of new discussions there',
    body: Type.Object({ ...FollowBody, following: Type.Boolean() }),
    result: Type.Object({ kind: FollowBody.kind, subject_id: Type.String(), following: Type.Boolean() }),
  })(async ({ actor, body: { kind, subject_id: id, following } }) => {
    const found = await changeFollow(deps, { kind, id }, following, actor);
    return { kind, subject_id: found?.id ?? id, following };
  });

  plugin.route(api, {
    method: 'get',
    path: '/users/follows',
    can: 'member',
    summary: 'Categories, tags and members that the caller follows, the newest first; all of them',
    result: Type.Object({ follows: Type.Array(FollowRecord) }),
  })(async ({ actor }) => ({ follows: [...(await subjects.named(await follows.of(actor.id!), actor))] }));
}
