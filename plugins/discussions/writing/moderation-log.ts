import { createId, type Clock, type PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

import { moderated, type PinPlace } from 'parley-forum/plugins/discussions';
import type { ActionName } from 'parley-forum/plugins/moderation';

/** The member who makes a change, and their reason. */
export interface ChangedBy {
  readonly viewer: Viewer;
  readonly reason?: string | undefined;
  /** The change is made regardless of locks, moderators' rights and draft filters. */
  readonly regardless?: boolean;
}
/** The properties of a discussion that moderators may change. */
export interface DiscussionState {
  readonly title: string;
  readonly categoryId: string;
  readonly pinnedIn: PinPlace | null;
  readonly isLocked: boolean;
}
interface Subject {
  /** Undefined if posts of several authors are concerned. */
  readonly authorId: string | undefined;
  readonly discussion: { readonly id: string; readonly number: number; readonly title: string };
  readonly post?: { readonly id: string; readonly number: number };
}
/** Actions that authors may take on their own posts, in which case they are not moderation. */
const AUTHORS: readonly ActionName[] = [
  'post.edited',
  'post.deleted',
  'discussion.renamed',
  'discussion.moved',
  'discussion.deleted',
];

/** The moderation actions that lead from one state of a discussion to another. */
export function changesBetween(before: DiscussionState, after: DiscussionState): readonly ActionName[] {
  const actions: ActionName[] = [];
  if (before.title !== after.title) actions.push('discussion.renamed');
  if (before.categoryId !== after.categoryId) actions.push('discussion.moved');
  if (before.pinnedIn !== after.pinnedIn) actions.push(after.pinnedIn ? 'discussion.pinned' : 'discussion.unpinned');
  if (before.isLocked !== after.isLocked) actions.push(after.isLocked ? 'discussion.locked' : 'discussion.unlocked');
  return actions;
}

/** Raises an action for each thing that moderators do, which the moderation log records. */
export class ModerationLog {
  readonly #plugin: PluginHandle;
  readonly #clock: Clock;

  constructor({ plugin, clock }: { plugin: PluginHandle; clock: Clock }) {
    this.#plugin = plugin;
    this.#clock = clock;
  }

  /** Must be called in the transaction of the change. */
  async record(
    actions: readonly ActionName[],
    { authorId, discussion: { id, number, title }, post }: Subject,
    { viewer, reason = '' }: ChangedBy,
  ): Promise<void> {
    const now = this.#clock.now();
    const by = {
      actor_id: viewer.id ?? '',
      reason: reason.trim(),
      created_at: new Date(now).toISOString(),
      ...(authorId !== undefined && { user_id: authorId }),
    };
    for (const action of actions) {
      if (viewer.id === authorId && AUTHORS.includes(action)) continue;
      const about = { discussion: { id, number, title }, ...(post && { post: { id: post.id, number: post.number } }) };
      await this.#plugin.emit(moderated, { entry: { id: createId(now), action, ...by, ...about } });
    }
  }
}
