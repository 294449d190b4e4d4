import { notFound, Type, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { api } from 'parley-forum/plugins/api';
import { follow, FOLLOW_KINDS, FollowRecord } from 'parley-forum/plugins/subscriptions';
import type { Followed, FollowService } from './follow-service.ts';
import type { Subjects } from './subjects.ts';

export interface FollowDeps {
  readonly follows: FollowService;
  readonly subjects: Subjects;
}
/** What is followed, in bodies of the API and of forms. */
export const FollowBody = {
  kind: Type.Enum([...FOLLOW_KINDS]),
  subject_id: Type.String({ minLength: 1, maxLength: 100, description: 'Of categories and tags the slug will do' }),
};

/** Whether it is to be followed no longer that the member follows and does not see any more, named by its id alone. */
export const endsLeftOver = async (
  follows: FollowService,
  followed: Followed,
  following: boolean,
  { id }: Viewer,
): Promise<boolean> => !following && (await follows.has(id!, followed));

/** Following categories, tags and members: POST /api/subscriptions/follow and GET /api/users/follows. */
export function addFollowRoutes(plugin: PluginHandle, { follows, subjects }: FollowDeps): void {
  plugin.route(api, {
    method: 'post',
    path: '/subscriptions/follow',
    can: follow,
    summary: 'Follow a category, a tag or a member, or stop: followers are notified of new discussions there',
    body: Type.Object({ ...FollowBody, following: Type.Boolean() }),
    result: Type.Object({ kind: FollowBody.kind, subject_id: Type.String(), following: Type.Boolean() }),
  })(async ({ actor, body: { kind, subject_id: id, following } }) => {
    const seen = await subjects.find(kind, id, actor);
    const found = seen ?? ((await endsLeftOver(follows, { kind, id }, following, actor)) && { id });
    if (!found) throw notFound('There is nothing of that kind with this id');
    await follows.set(actor.id!, { kind, id: found.id }, following);
    return { kind, subject_id: found.id, following };
  });

  plugin.route(api, {
    method: 'get',
    path: '/users/follows',
    can: 'member',
    summary: 'Categories, tags and members that the caller follows, the newest first; all of them',
    result: Type.Object({ follows: Type.Array(FollowRecord) }),
  })(async ({ actor }) => ({ follows: [...(await subjects.named(await follows.of(actor.id!), actor))] }));
}
