import { defineToken } from 'parley-forum';
import type { DiscussionCondition, Narrowing } from 'parley-forum/plugins/discussions';

/**
 * How closely a member follows a discussion. `watching`: notified of every reply. `tracking`: sees what is new, is
 * notified of mentions only. `normal`: not followed, and writing in it changes nothing about that. `muted`: no
 * notifications.
 */
export const LEVELS = ['watching', 'tracking', 'normal', 'muted'] as const;
export type Level = (typeof LEVELS)[number];
/** How closely members follow discussions. */
export interface Subscriptions {
  /**
   * Those who watch a discussion, page by page: pass the last id of the page before. At most `limit` ids, ascending.
   */
  watchers(
    discussionId: string,
    options: { readonly after?: string; readonly limit: number },
  ): Promise<readonly string[]>;
  /**
   * Those who follow the category, a tag or the author of a discussion, page by page like `watchers`: they are notified
   * of it when it is started.
   */
  followers(
    discussion: { readonly id: string; readonly categoryId: string; readonly authorId: string },
    options: { readonly after?: string; readonly limit: number },
  ): Promise<readonly string[]>;
  /** The levels of these members; members who neither chose one nor wrote are missing. */
  levels(discussionId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, Level>>;
  level(discussionId: string, userId: string): Promise<Level>;
  /** Whether a member muted neither a discussion, nor its category or a tag, and does not ignore its author. */
  notMutedBy(userId: string): Promise<DiscussionCondition>;
  /** Whether a member watches or tracks a discussion. */
  followedBy(userId: string): DiscussionCondition;
  /** Says above a list that what a member muted is left out of it; undefined for whoever muted nothing but discussions. */
  noteOfMuted(userId: string): Promise<Narrowing['note'] | undefined>;
  /** Those of these members who muted the category or a tag of a discussion, or ignore its author. Two statements. */
  mutersOf(
    discussion: { readonly id: string; readonly categoryId: string; readonly authorId: string },
    userIds: readonly string[],
  ): Promise<ReadonlySet<string>>;
  /** Which of the others each of these members ignores; who ignores none is missing. One statement. */
  ignoredBy(userIds: readonly string[], others: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Chooses a level. Only another choice changes it. */
  set(discussionId: string, userId: string, level: Level): Promise<void>;
}
export const Subscriptions = defineToken<Subscriptions>('Subscriptions');
