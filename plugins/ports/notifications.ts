import { defineExtensionPoint, defineToken } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** A kind of notification: `reply`, `mention`, `reaction`, `quote`, `report_handled`, or another plugin's own. */
export interface NotificationType {
  readonly type: string;
  /** A text (`plugin:key`) for the member's preferences: completes "Tell me when …". */
  readonly label: string;
  /**
   * A short text under which the list can be narrowed to it; types of the same text go together. Without one it cannot.
   */
  readonly name?: string;
  /** A text that stands before the title, with `{name}`, who was last, and `count`. */
  readonly sentence: string;
  /** A text in place of `sentence` where it was more than one person, with `{names}`, such as “ada, bob and 3 others”, and `count`. */
  readonly several?: string;
  /** A text in place of the title of those that have none. */
  readonly untitled?: string;
  /** Whether the default channel is email. */
  readonly mailed: boolean;
  /**
   * Members are told also where it is about a discussion of a category, a tag or an author they muted: it is about
   * themselves, or they asked for it.
   */
  readonly fromMuted?: true;
  /** Whose preferences list it. Default: everyone's. Synchronous. */
  visible?(viewer: Viewer): boolean;
}
export const notificationTypes = defineExtensionPoint<NotificationType>(
  'notifications.types',
  'Kinds of notifications with their texts, each a row of members’ preferences.',
  { order: 'The place in the preferences.' },
);

export interface NewNotification {
  readonly type: string;
  readonly userId: string;
  readonly actorId?: string;
  /** Members who may not see it get no notification, now or later. */
  readonly discussionId?: string;
  readonly postId?: string;
  /** Path of this site. */
  readonly url: string;
  /** Default: the discussion's title, also when that changes; without a discussion what their type says. */
  readonly title?: string;
  /** Unread ones of equal type and group are one. Default: the discussion, else each stands alone. */
  readonly group?: string;
  /** Id of the durable work or of its subject: a member gets one notification per key. */
  readonly key: string;
}
/** Notifies members on the page and, as they chose, by mail. */
export interface Notifications {
  /**
   * Stores it, counts it, updates the member's open pages, and sends email by preference. Skips the actor, members who
   * ignore them or muted the discussion or what it belongs to (`fromMuted`), and members who may not see it. Of several with one key for one member the first counts. Any
   * number, in batches of a few statements.
   */
  notify(notifications: readonly NewNotification[]): Promise<void>;
  /** Unread ones that the member may see; in constant time. */
  unread(userId: string): Promise<number>;
  /** The member has seen what those of a type and group are about. One statement where none of them is unread. */
  markRead(userId: string, which: { readonly type: string; readonly group: string }): Promise<void>;
}
export const Notifications = defineToken<Notifications>('Notifications');
