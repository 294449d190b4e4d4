import { defineAction, defineExtensionPoint, defineToken } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** A kind of notification: `reply`, `mention`, `reaction`, `quote`, `report_handled`, or another plugin's own. */
export interface NotificationType {
  readonly type: string;
  /** Text key (`plugin:key`) for the member's preferences: completes "Tell me when …". */
  readonly label: string;
  /**
   * Text key of a short name by which the list can be filtered; types with the same name are grouped. Without one, the
   * list cannot be filtered by this type.
   */
  readonly name?: string;
  /** Text key of the sentence shown before the title, with `{name}`, the most recent actor, and `count`. */
  readonly sentence: string;
  /**
   * Text key used instead of `sentence` if there was more than one actor, with `{names}`, such as “ada, bob and 3
   * others”, and `count`.
   */
  readonly several?: string;
  /** Text key shown instead of the title for notifications without one. */
  readonly untitled?: string;
  /** Whether the default channel is email. */
  readonly mailed: boolean;
  /**
   * Members are notified even about a discussion whose category, tag or author they muted, because it concerns them
   * personally or they asked for it.
   */
  readonly fromMuted?: true;
  /** Whether the viewer's preferences list this type. Default: everyone's do. Synchronous. */
  visible?(viewer: Viewer): boolean;
}
export const notificationTypes = defineExtensionPoint<NotificationType>(
  'notifications.types',
  'Notification types with their texts, each a row in members’ preferences.',
  { order: 'The position in the preferences.' },
);

export interface NewNotification {
  readonly type: string;
  readonly userId: string;
  readonly actorId?: string;
  /** Members who may not see this discussion get no notification, now or later. */
  readonly discussionId?: string;
  readonly postId?: string;
  /** A path on this site. */
  readonly url: string;
  /** Default: the discussion's current title; without a discussion, the text of the notification's type. */
  readonly title?: string;
  /**
   * Unread notifications of the same type and group are merged. Default: the discussion; without one, each stands
   * alone.
   */
  readonly group?: string;
  /** Id of the job or of its subject: a member gets one notification per key. */
  readonly key: string;
}
/**
 * Notifications were stored, or merged into unread ones (`merged`). Raised in that transaction, for plugins that send
 * them elsewhere; these call `describe` when they do.
 */
export const notificationsStored = defineAction<{
  readonly notifications: readonly { readonly id: string; readonly userId: string; readonly merged: boolean }[];
}>('notifications.stored');

/** A notification in one line, in its member's language. */
export interface DescribedNotification {
  readonly userId: string;
  readonly text: string;
  /** Id of the language. */
  readonly language: string;
  /** A path on this site. */
  readonly url: string;
}

/** Notifies members on the site and, depending on their preferences, by mail. */
export interface Notifications {
  /**
   * Stores and counts notifications, updates the members' open pages, and sends email depending on preferences. Skips
   * the actor, members who ignore the actor or muted the discussion or anything it belongs to (`fromMuted`), and
   * members who may not see it. If a member has several with the same key, the first one counts. Takes any number, in
   * batches of a few statements.
   */
  notify(notifications: readonly NewNotification[]): Promise<void>;
  /** Number of unread notifications that the member may see; in constant time. */
  unread(userId: string): Promise<number>;
  /**
   * What to tell its member now. Undefined if it was read, deleted, hidden or switched off in the meantime, or if the
   * account is no longer active.
   */
  describe(id: string): Promise<DescribedNotification | undefined>;
  /**
   * Marks the notifications of a type and group as read, because the member has seen what they are about. Runs one
   * statement if none of them is unread.
   */
  markRead(userId: string, which: { readonly type: string; readonly group: string }): Promise<void>;
}
export const Notifications = defineToken<Notifications>('Notifications');
