import { defineToken, type RawBuilder } from 'parley-forum';

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
  /** A select of the ids of the discussions that a member muted, for other plugins' statements. */
  mutedBy(userId: string): RawBuilder<{ readonly discussion_id: string }>;
  /** Chooses a level. Only another choice changes it. */
  set(discussionId: string, userId: string, level: Level): Promise<void>;
}
export const Subscriptions = defineToken<Subscriptions>('Subscriptions');
