import { InvalidInput, notFound, Type, type PluginHandle } from 'parley-forum';
import type { Member } from 'parley-forum/plugins/access';
import { api, listOf, pageFields, pageOf, Paging } from 'parley-forum/plugins/api';
import {
  follow,
  FOLLOW_KINDS,
  followLevelsOf,
  FollowRecord,
  type FollowLevel,
} from 'parley-forum/plugins/subscriptions';
import type { Followed, FollowService } from './follow-service.ts';
import type { Subject, Subjects } from './subjects.ts';

export interface FollowDeps {
  readonly follows: FollowService;
  readonly subjects: Subjects;
}
/** The subject to follow or mute, in bodies of the API and of forms. */
export const FollowBody = {
  kind: Type.Enum([...FOLLOW_KINDS]),
  subject_id: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'For categories and tags, the slug is accepted too',
  }),
};
/** The level to set, or the levels to leave: the current level ends if it is one of these. */
export type Choice = Exclude<FollowLevel, 'normal'> | { readonly leave: readonly FollowLevel[] };

/**
 * Follows a subject, mutes it, or stops doing so. Throws 404 if the member cannot see the subject, unless they stop,
 * for which its id is enough. Resolves to undefined in that case.
 */
export async function changeFollow(
  { follows, subjects }: FollowDeps,
  { kind, id }: Followed,
  choice: Choice,
  actor: Member,
): Promise<Subject | undefined> {
  const found = await subjects.find(kind, id, actor);
  const chosen = { kind, id: found?.id ?? id };
  const leaves = typeof choice === 'object';
  if (!leaves && !followLevelsOf(kind).includes(choice))
    throw new InvalidInput([{ field: 'level', message: 'is for categories and tags only' }]);
  const level = await follows.level(actor.id, chosen);
  if (!found && (!leaves || !choice.leave.includes(level)))
    throw notFound('There is nothing of that kind with this id');
  if (!leaves) await follows.set(actor.id, chosen, choice);
  else if (level !== 'normal' && choice.leave.includes(level)) await follows.end(actor.id, chosen, level);
  return found;
}

/** Routes to follow and mute categories, tags and members, and to list what the caller follows and has muted. */
export function addFollowRoutes(plugin: PluginHandle, deps: FollowDeps): void {
  const { follows, subjects } = deps;
  plugin.route(api, {
    method: 'post',
    path: '/subscriptions/follow',
    can: follow,
    summary:
      'Follow a category, a tag or a member, or stop: followers are notified of new discussions there, and who watches it of replies, too',
    body: Type.Object({
      ...FollowBody,
      following: Type.Boolean(),
      level: Type.Optional(
        Type.Enum(['following', 'watching'], {
          description: 'With `following`, how closely; `watching` is for categories and tags. Default: `following`',
        }),
      ),
    }),
    result: Type.Object({
      kind: FollowBody.kind,
      subject_id: Type.String(),
      following: Type.Boolean(),
      level: Type.Enum(['normal', 'following', 'watching', 'muted']),
    }),
  })(async ({ actor, body: { kind, subject_id: id, following, level = 'following' } }) => {
    const found = await changeFollow(
      deps,
      { kind, id },
      following ? level : { leave: ['following', 'watching'] },
      actor,
    );
    const subject = found?.id ?? id;
    return { kind, subject_id: subject, following, level: await follows.level(actor.id, { kind, id: subject }) };
  });

  plugin.route(api, {
    method: 'post',
    path: '/subscriptions/mute',
    can: follow,
    summary:
      'Mute a category or a tag, ignore a member, or stop: their content is not on the caller’s front page, does not count as unread, and only mentions notify',
    body: Type.Object({ ...FollowBody, muted: Type.Boolean() }),
    result: Type.Object({ kind: FollowBody.kind, subject_id: Type.String(), muted: Type.Boolean() }),
  })(async ({ actor, body: { kind, subject_id: id, muted } }) => {
    const found = await changeFollow(deps, { kind, id }, muted ? 'muted' : { leave: ['muted'] }, actor);
    return { kind, subject_id: found?.id ?? id, muted };
  });

  plugin.route(api, {
    method: 'get',
    path: '/users/follows',
    can: 'member',
    summary: 'Categories, tags and members that the caller follows, newest first; all of them without `limit`',
    query: Type.Object(Paging),
    result: listOf('follows', FollowRecord),
  })(async ({ actor, query }) => {
    const page = pageOf(await subjects.named(await follows.followed(actor.id), actor), query);
    return { follows: [...page.items], ...pageFields(page) };
  });

  plugin.route(api, {
    method: 'get',
    path: '/users/mutes',
    can: 'member',
    summary:
      'Categories and tags that the caller has muted, and members they ignore, newest first; all of them without `limit`',
    query: Type.Object(Paging),
    result: listOf('mutes', FollowRecord),
  })(async ({ actor, query }) => {
    const page = pageOf(await subjects.named(await follows.muted(actor.id), actor), query);
    return { mutes: [...page.items], ...pageFields(page) };
  });
}
