import type { Clock, PluginHandle } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { createId } from 'parley-forum/plugins/api';
import { moderated } from 'parley-forum/plugins/discussions';
import type { ActionName } from 'parley-forum/plugins/moderation';

/** Who changes something, and what they say of it. */
export interface By {
  readonly viewer: Viewer;
  readonly reason?: string | undefined;
}
/** What of a discussion a moderator may have changed. */
export interface State {
  readonly title: string;
  readonly categoryId: string;
  readonly isPinned: boolean;
  readonly isLocked: boolean;
}
interface Subject {
  readonly authorId: string;
  readonly discussion: { readonly id: string; readonly number: number; readonly title: string };
  readonly post?: { readonly id: string; readonly number: number };
}
/** What an author may do with their own is no moderation. */
const AUTHORS: readonly ActionName[] = [
  'post.edited',
  'post.deleted',
  'discussion.renamed',
  'discussion.moved',
  'discussion.deleted',
];

/** What was done to a discussion between two states. */
export function deedsBetween(before: State, after: State): readonly ActionName[] {
  const deeds: ActionName[] = [];
  if (before.title !== after.title) deeds.push('discussion.renamed');
  if (before.categoryId !== after.categoryId) deeds.push('discussion.moved');
  if (before.isPinned !== after.isPinned) deeds.push(after.isPinned ? 'discussion.pinned' : 'discussion.unpinned');
  if (before.isLocked !== after.isLocked) deeds.push(after.isLocked ? 'discussion.locked' : 'discussion.unlocked');
  return deeds;
}

/** Tells of what moderators do, for their log. */
export class Deeds {
  readonly #plugin: PluginHandle;
  readonly #clock: Clock;

  constructor({ plugin, clock }: { plugin: PluginHandle; clock: Clock }) {
    this.#plugin = plugin;
    this.#clock = clock;
  }

  /** Inside the transaction that does it. */
  async tell(
    actions: readonly ActionName[],
    { authorId, discussion: { id, number, title }, post }: Subject,
    { viewer, reason = '' }: By,
  ): Promise<void> {
    const now = this.#clock.now();
    const by = {
      actor_id: viewer.id ?? '',
      user_id: authorId,
      reason: reason.trim(),
      created_at: new Date(now).toISOString(),
    };
    for (const action of actions) {
      if (viewer.id === authorId && AUTHORS.includes(action)) continue;
      const about = { discussion: { id, number, title }, ...(post && { post: { id: post.id, number: post.number } }) };
      await this.#plugin.emit(moderated, { entry: { id: createId(now), action, ...by, ...about } });
    }
  }
}
