import { defineAction, Type, type Static } from 'parley-forum';
import { Author } from 'parley-forum/plugins/accounts';
import { nullable, Time } from 'parley-forum/plugins/api';
import { defineSlot } from 'parley-forum/plugins/web';

/**
 * A notification as the API returns it. Unread notifications of the same type about the same thing are combined:
 * `count` is their number, `actor` the most recent person, `actors` the last two people out of `actor_count`, and `url`
 * leads to the first of them. `title` names what it is about.
 */
export const NotificationRecord = Type.Object({
  id: Type.String(),
  type: Type.String(),
  title: Type.String(),
  url: Type.String(),
  actor: nullable(Author),
  actors: Type.Optional(Type.Array(Author, { description: 'The two most recent people, most recent first' })),
  actor_count: Type.Optional(Type.Integer({ description: 'Number of people who did it; at most 1,000' })),
  discussion_id: nullable(Type.String()),
  post_id: nullable(Type.String()),
  count: Type.Integer(),
  is_read: Type.Boolean(),
  created_at: Time,
});
export type NotificationRecord = Static<typeof NotificationRecord>;

/** Where a member receives notifications of a type: nowhere, on the site, or on the site and by email. */
export const CHANNELS = ['off', 'site', 'mail'] as const;
export type Channel = (typeof CHANNELS)[number];
export const DIGESTS = ['none', 'daily', 'weekly'] as const;
export type Digest = (typeof DIGESTS)[number];
/** A member's choices as the API returns them. */
export const NotificationPreferences = Type.Object({
  channels: Type.Record(Type.String({ maxLength: 64 }), Type.Enum([...CHANNELS]), {
    description: 'By type of notification; `mail` is on the site too',
  }),
  digest: Type.Enum([...DIGESTS]),
});
export type NotificationPreferences = Static<typeof NotificationPreferences>;

/**
 * The unread notifications of these members changed. Raised in the transaction of the change; the members' cached
 * responses are purged before that resolves.
 */
export const unreadChanged = defineAction<{ readonly userIds: readonly string[] }>('notifications.changed');

export const notificationSettingsEnd = defineSlot<object>(
  'settings.notifications.end',
  'At the end of a member’s notification settings: panels.',
);
