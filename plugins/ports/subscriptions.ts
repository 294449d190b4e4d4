import { defineToken } from 'parley-forum';
import type { DiscussionCondition, Narrowing } from 'parley-forum/plugins/discussions';

/**
 * How closely a member follows a discussion. `watching`: is notified of every reply. `tracking`: sees what is new, but
 * is notified of mentions only. `normal`: does not follow, and writing in the discussion does not change that. `muted`:
 * gets no notifications.
 */
export const LEVELS = ['watching', 'tracking', 'normal', 'muted'] as const;
export type Level = (typeof LEVELS)[number];
/** How closely members follow discussions. */
export interface Subscriptions {
  /**
   * Members who watch a discussion, or its category or one of its tags unless they chose `normal` or `muted` for the
   * discussion, page by page: pass the last id of the previous page. At most `limit` ids, ascending, in one statement.
   */
  watchers(
    discussion: { readonly id: string; readonly categoryId: string },
    options: { readonly after?: string; readonly limit: number },
  ): Promise<readonly string[]>;
  /**
   * Members who follow the category, a tag or the author of a discussion, page by page like `watchers`: they are
   * notified when the discussion is started.
   */
  followers(
    discussion: { readonly id: string; readonly categoryId: string; readonly authorId: string },
    options: { readonly after?: string; readonly limit: number },
  ): Promise<readonly string[]>;
  /** The levels of these members; members who neither chose one nor wrote in the discussion are missing. */
  levels(discussionId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, Level>>;
  level(discussionId: string, userId: string): Promise<Level>;
  /**
   * A condition for discussions whose category and tags the member has not muted, whose author they do not ignore, and
   * which they have not muted themselves.
   */
  notMutedBy(userId: string): Promise<DiscussionCondition>;
  /** A condition for discussions that a member watches or tracks. */
  followedBy(userId: string): DiscussionCondition;
  /**
   * The note shown above a list from which discussions the member muted are left out; undefined for members who muted
   * nothing but single discussions.
   */
  noteOfMuted(userId: string): Promise<Narrowing['note'] | undefined>;
  /** Those of these members who muted the category or a tag of a discussion, or ignore its author. Two statements. */
  mutersOf(
    discussion: { readonly id: string; readonly categoryId: string; readonly authorId: string },
    userIds: readonly string[],
  ): Promise<ReadonlySet<string>>;
  /** Which of `others` each of these members ignores; members who ignore none of them are missing. One statement. */
  ignoredBy(userIds: readonly string[], others: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Sets a level that the member chose. Only another choice changes it. */
  set(discussionId: string, userId: string, level: Level): Promise<void>;
}
export const Subscriptions = defineToken<Subscriptions>('Subscriptions');
