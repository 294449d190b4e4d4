import { HttpError, InvalidInput, type Awaitable } from 'parley-forum';
import { discussionFields, type DiscussionHead, type Field } from 'parley-forum/plugins/discussions';
import type { RouteDeps } from '../discussion-routes.ts';
import { SWITCH_ACTIONS, SWITCHES } from '../writing/editor.ts';
import { namedDiscussion } from '../moving/destination.ts';
import { changedMeanwhile } from '../writing/conflicts.ts';
import type { ChangedBy } from '../writing/moderation-log.ts';

/** Actions of moderators on several discussions at once. All but merging are idempotent. */
export const BULK_ACTIONS = [...SWITCH_ACTIONS, 'move', 'tag', 'untag', 'merge', 'delete', 'restore'] as const;
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
  /** The tag to add or remove: name, slug or id. */
  readonly tag?: string | undefined;
  /** The discussion to merge them into, by id, number or URL. */
  readonly into?: string | undefined;
}
/** The result for one discussion; `error` says why nothing was done. */
export interface BulkResult {
  readonly id: string;
  readonly discussion?: DiscussionHead;
  readonly error?: string;
}

type BulkDeps = Pick<RouteDeps, 'plugin' | 'reader' | 'rights' | 'categories' | 'editor' | 'mover'>;
type Change = (head: DiscussionHead) => Promise<unknown>;

/** The field of the tags, if a plugin provides them. */
export const tagsIn = ({ plugin }: Pick<BulkDeps, 'plugin'>): Field | undefined =>
  plugin.extensions(discussionFields).find(({ value }) => value.withEntry)?.value;

/** Adds the tag to discussions, or removes it. Throws 400 if no tag is given, or tags are switched off. */
function retagging(deps: BulkDeps, { action, tag = '' }: BulkRequest, by: ChangedBy): Change {
  const field = tagsIn(deps);
  if (!field) throw new InvalidInput([{ field: 'action', message: 'needs tags, which are switched off' }]);
  if (tag.trim() === '') throw new InvalidInput([{ field: 'tag', message: 'is required' }]);
  const valueOf = async ({ id }: DiscussionHead) =>
    field.withEntry!((await field.loadMany([id], by.viewer))[0], action === 'tag' ? { add: tag } : { remove: tag });
  return async (head) => {
    const value = await valueOf(head);
    if (value === undefined) return;
    const check = async () => {
      if (JSON.stringify(await valueOf(head)) !== JSON.stringify(value)) throw changedMeanwhile();
    };
    await deps.editor.change(head, { fields: { [field.name]: value }, as: ['discussion.tagged'] }, by, check);
  };
}

async function merging({ reader, mover }: BulkDeps, { into = '' }: BulkRequest, by: ChangedBy): Promise<Change> {
  const target = await reader.find(namedDiscussion(into) ?? '', by.viewer);
  if (!target || target.deleted)
    throw new InvalidInput([{ field: 'into', message: 'is not a discussion you can see' }]);
  return (head) => mover.merge(head, target.id, by);
}

function moving({ categories, editor }: BulkDeps, { categoryId }: BulkRequest, by: ChangedBy): Change {
  if (categoryId === undefined || !categories.find(categoryId, by.viewer))
    throw new InvalidInput([{ field: 'category_id', message: 'must be a category you can see' }]);
  return (head) => editor.change(head, { categoryId }, by);
}

const switching =
  (action: (typeof SWITCH_ACTIONS)[number]) =>
  ({ editor }: BulkDeps, _request: BulkRequest, by: ChangedBy): Change =>
  (head) =>
    editor.change(head, SWITCHES[action], by);

/** Each returns what the action does with a discussion. Throws 400 if what it needs for that is missing. */
const CHANGES: Readonly<
  Record<BulkAction, (deps: BulkDeps, request: BulkRequest, by: ChangedBy) => Awaitable<Change>>
> = {
  lock: switching('lock'),
  unlock: switching('unlock'),
  pin: switching('pin'),
  unpin: switching('unpin'),
  move: moving,
  tag: retagging,
  untag: retagging,
  merge: merging,
  delete:
    ({ editor }, _request, by) =>
    (head) =>
      editor.remove(head, by),
  restore:
    ({ editor }, _request, by) =>
    (head) =>
      editor.restore(head, by),
};

/** Why a discussion was not changed. */
const reasonOf = (problem: HttpError): string =>
  problem instanceof InvalidInput ? problem.details.map(({ message }) => message).join('; ') : problem.message;

/**
 * Applies the action to one discussion after another. An error that concerns one discussion is reported in its result,
 * and the others continue. Throws 400 if the category, tag or discussion that the action needs is missing, and any
 * error that is not about a single discussion, such as a lost database connection; actions already done are kept.
 */
export async function doInBulk(deps: BulkDeps, request: BulkRequest, by: ChangedBy): Promise<readonly BulkResult[]> {
  const { reader, rights, categories } = deps;
  const { viewer } = by;
  await categories.refresh();
  const change = await CHANGES[request.action](deps, request, by);
  const results: BulkResult[] = [];
  for (const id of new Set(request.ids)) {
    const discussion = await reader.find(id, viewer);
    if (!discussion) {
      results.push({ id, error: 'There is no such discussion' });
      continue;
    }
    try {
      if (!rights.inCategory(discussion.categoryId, viewer).moderate)
        throw new HttpError(403, 'You do not moderate this category');
      await change(discussion);
      results.push({ id, discussion });
    } catch (problem) {
      if (!(problem instanceof HttpError) || problem.status >= 500) throw problem;
      results.push({ id, discussion, error: reasonOf(problem) });
    }
  }
  return results;
}
