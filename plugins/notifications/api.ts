import { defineExtensionPoint, defineToken, Type, type Static } from '#core';
import { Author } from '#plugins/accounts';
import { nullable, Time } from '#plugins/api';

/** A notification as the API shows it. Those of one type about one thing are one while unread: `count` says how many, `actor` who was last. */
export const NotificationRecord = Type.Object({
  id: Type.String(), type: Type.String(), title: Type.String(), url: Type.String(), actor: nullable(Author),
  discussion_id: nullable(Type.String()), post_id: nullable(Type.String()), count: Type.Integer(), is_read: Type.Boolean(), created_at: Time,
});
export type NotificationRecord = Static<typeof NotificationRecord>;

/** A kind of notification: `reply`, `mention`, `reaction`, `quote`, `report_handled`, or another plugin's own. */
export interface NotificationType {
  readonly type: string;
  /** For the member's preferences: completes "Tell me when …". */
  readonly label: string;
  /** Whether it is e-mailed at once before the member chooses. */
  readonly mailed: boolean;
}
export const notificationTypes = defineExtensionPoint<NotificationType>('notifications.types');

export interface NewNotification {
  readonly type: string;
  readonly userId: string;
  readonly actorId?: string;
  readonly discussionId?: string;
  readonly postId?: string;
  /** Path of this site. */
  readonly url: string;
  readonly title: string;
  /** Unread ones of equal type and group are one. Default: the discussion, else each stands alone. */
  readonly group?: string;
  /** The durable work's id: a repeated attempt adds nothing. */
  readonly key: string;
}
export interface Notifications {
  /** Keeps it, counts it, tells the member's open pages, and sends mail by preference. Nothing for the actor themselves, for who muted it, or for what the member may not see. */
  notify(notifications: readonly NewNotification[]): Promise<void>;
  /** Unread ones; in constant time. */
  unread(userId: string): Promise<number>;
}
export const Notifications = defineToken<Notifications>('Notifications');
