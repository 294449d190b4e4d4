import { LEVELS } from 'parley-forum/ports/subscriptions';
import { definePermission, Type } from 'parley-forum';
import { Time } from 'parley-forum/plugins/api';

export const SubscriptionRecord = Type.Object({
  discussion_id: Type.String(),
  level: Type.Enum([...LEVELS]),
  created_at: Time,
});

/**
 * What can be followed besides discussions: whoever does is notified of each discussion that is started there. Or it is
 * muted, which of members is called ignored: then nothing of it stands in the member's lists, and none of it notifies.
 */
export const FOLLOW_KINDS = ['category', 'tag', 'member'] as const;
export type FollowKind = (typeof FOLLOW_KINDS)[number];
export const FOLLOW_LEVELS = ['normal', 'following', 'muted'] as const;
export type FollowLevel = (typeof FOLLOW_LEVELS)[number];
/** How much of it one member follows at most, and has muted at most. */
export const MAX_FOLLOWS = 500;
export const FollowRecord = Type.Object({
  kind: Type.Enum([...FOLLOW_KINDS]),
  subject_id: Type.String(),
  name: Type.String(),
  url: Type.String({ description: 'Path of its page' }),
  created_at: Time,
});

export const follow = definePermission('subscriptions.follow', { label: 'follow discussions', default: 'member' });
