import { LEVELS } from 'parley-forum/ports/subscriptions';
import { definePermission, Type } from 'parley-forum';
import { Time } from 'parley-forum/plugins/api';

export const SubscriptionRecord = Type.Object({
  discussion_id: Type.String(),
  level: Type.Enum([...LEVELS]),
  created_at: Time,
});

/**
 * The kinds of subjects that can be followed or muted besides discussions. Followers are notified of each new
 * discussion there, and those who watch a category or a tag of each reply as well. Muted subjects (for members: ignored)
 * are left out of the member's lists and do not notify them.
 */
export const FOLLOW_KINDS = ['category', 'tag', 'member'] as const;
export type FollowKind = (typeof FOLLOW_KINDS)[number];
export const FOLLOW_LEVELS = ['normal', 'following', 'watching', 'muted'] as const;
export type FollowLevel = (typeof FOLLOW_LEVELS)[number];
/** The levels that can be chosen for a kind: members cannot be watched. */
export const followLevelsOf = (kind: FollowKind): readonly FollowLevel[] =>
  FOLLOW_LEVELS.filter((level) => kind !== 'member' || level !== 'watching');
/** The maximum number a member can follow, and the maximum number they can mute. */
export const MAX_FOLLOWS = 500;
export const FollowRecord = Type.Object({
  kind: Type.Enum([...FOLLOW_KINDS]),
  subject_id: Type.String(),
  name: Type.String(),
  url: Type.String({ description: 'Path of its page' }),
  level: Type.Enum(['following', 'watching', 'muted'], { description: '`watching`: of each reply as well' }),
  created_at: Time,
});

export const follow = definePermission('subscriptions.follow', { label: 'follow discussions', default: 'member' });
