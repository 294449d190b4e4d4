import { HttpError, InvalidInput } from 'parley-forum';
import type { DiscussionHead } from 'parley-forum/plugins/discussions';
import type { RouteDeps } from '../discussion-routes.ts';
import { SWITCH_ACTIONS, SWITCHES } from '../writing/editor.ts';
import type { ChangedBy } from '../writing/moderation-log.ts';

/** Actions of moderators on several discussions at once. All are idempotent. */
export const BULK_ACTIONS = [...SWITCH_ACTIONS, 'move', 'delete', 'restore'] as const;
export type BulkAction = (typeof BULK_ACTIONS)[number];
/** Maximum number of discussions at once: each has its own transaction, events and notifications. */
export const MAX_BULK = 50;

/** Path of the page for bulk actions, which lists of discussions link to for moderators. */
export const BULK_PATH = '/mod/discussions';
/** Which discussions that page lists. */
export interface Listed {
  readonly category?: string | undefined;
  readonly author?: string | undefined;
  readonly page?: number | undefined;
}
/** The URL of a page of the filtered list. */
export const bulkPath = ({ category, author, page = 1 }: Listed): string => {
  const query = new URLSearchParams({ ...(category && { category }), ...(author && { author }) });
  if (page > 1) query.set('page', String(page));
  return query.size > 0 ? `${BULK_PATH}?${query}` : BULK_PATH;
};

export interface BulkRequest {
  /** Ids of discussions; duplicates are ignored. */
  readonly ids: readonly string[];
  readonly action: BulkAction;
  /** Target category of a move, by id or slug. */
  readonly categoryId?: string | undefined;
}
/** The result for one discussion; `error` says why nothing was done. */
export interface BulkResult {
  readonly id: string;
  readonly discussion?: DiscussionHead;
  readonly error?: string;
}

/**
 * Applies the action to one discussion after another. An error that concerns one discussion is reported in its result,
 * and the others continue. Throws 400 for a move without a category that the viewer can see, and any error that is not
 * about a single discussion, such as a lost database connection; actions already done are kept.
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
