import { LEVELS } from 'parley-forum/ports/subscriptions';
import { definePermission, Type } from 'parley-forum';
import { Time } from 'parley-forum/plugins/api';

export const SubscriptionRecord = Type.Object({
  discussion_id: Type.String(),
  level: Type.Enum([...LEVELS]),
  created_at: Time,
});

export const follow = definePermission('subscriptions.follow', { label: 'follow discussions', default: 'member' });
