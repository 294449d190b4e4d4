import { LEVELS } from 'parley-forum/ports/subscriptions';
import { definePermission, Type } from 'parley-forum';
import { Time } from 'parley-forum/plugins/api';

export const SubscriptionRecord = Type.Object({
  discussion_id: Type.String(),
  level: Type.Enum([...LEVELS]),
  created_at: Time,
});

/** What can be followed besides discussions: whoever does is notified of each discussion that is started there. */
export const FOLLOW_KINDS = ['category', 'tag', 'member'] as const;
export type FollowKind = (typeof FOLLOW_KINDS)[number];
/** How much of it one member follows at most. */
export const MAX_FOLLOWS = 500;
export const FollowRecord = Type.Object({
  kind: Type.Enum([...FOLLOW_KINDS]),
  subject_id: Type.String(),
  name: Type.String(),
  url: Type.String({ description: 'Path of its page' }),
  created_at: Time,
});

export const follow = definePermission('subscriptions.follow', { label: 'follow discussions', default: 'member' });
