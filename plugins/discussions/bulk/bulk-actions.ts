import { HttpError, InvalidInput } from 'parley-forum';
import type { DiscussionHead } from 'parley-forum/plugins/discussions';
import type { RouteDeps } from '../discussion-routes.ts';
import { SWITCH_ACTIONS, SWITCHES } from '../writing/editor.ts';
import type { ChangedBy } from '../writing/moderation-log.ts';

/** What moderators do with several discussions at once. Each may be done again where it was done: it changes nothing then. */
export const BULK_ACTIONS = [...SWITCH_ACTIONS, 'move', 'delete', 'restore'] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];
/** How many at once: each is a transaction, events and notifications of its own. */
export const MAX_BULK = 50;

export interface BulkRequest {
  /** Of discussions; more than once is once. */
  readonly ids: readonly string[];
  readonly action: BulkAction;
  /** Where they are moved, by id or slug. */
  readonly categoryId?: string | undefined;
}
/** What became of one of them; `error` says why nothing did. */
export interface BulkResult {
  readonly id: string;
  readonly discussion?: DiscussionHead;
  readonly error?: string;
}

/**
 * Does it to one after the other; what stands in the way of one is its result, and the others go on. Throws 400 for a
 * move without a category that the viewer sees, and what is no fault of a discussion, such as a database that cannot be
 * reached: what was done before stays.
 */
export async function doInBulk(
  { reader, rights, categories, editor }: Pick<RouteDeps, 'reader' | 'rights' | 'categories' | 'editor'>,
  { ids, action, categoryId }: BulkRequest,
  by: ChangedBy,
): Promise<readonly BulkResult[]> {
  const { viewer } = by;
  await categories.refresh();
  if (action === 'move' && (categoryId === undefined || !categories.find(categoryId, viewer)))
    throw new InvalidInput([{ field: 'category_id', message: 'must be a category you can see' }]);
  const change = async (head: DiscussionHead): Promise<void> => {
    if (!rights.inCategory(head.categoryId, viewer).moderate)
      throw new HttpError(403, 'You do not moderate this category');
    if (action === 'delete') await editor.remove(head, by);
    else if (action === 'restore') await editor.restore(head, by);
    else await editor.change(head, action === 'move' ? { categoryId } : SWITCHES[action], by);
  };
  const results: BulkResult[] = [];
  for (const id of new Set(ids)) {
    const discussion = await reader.find(id, viewer);
    if (!discussion) {
      results.push({ id, error: 'There is no such discussion' });
      continue;
    }
    try {
      await change(discussion);
      results.push({ id, discussion });
    } catch (problem) {
      if (!(problem instanceof HttpError) || problem.status >= 500) throw problem;
      results.push({ id, discussion, error: problem.message });
    }
  }
  return results;
}
