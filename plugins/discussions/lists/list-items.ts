import type { Category, DiscussionRecord } from 'parley-forum/plugins/discussions';
import { discussionPath } from '../identifiers.ts';

/** A row of a list as templates take it. */
export type ListItem = Omit<DiscussionRecord, 'category' | 'last_author'> & {
  /** Absent in the list of that category. */
  readonly category: (DiscussionRecord['category'] & { readonly hue: number | undefined }) | undefined;
  /** Absent while there is no reply. */
  readonly last_author: DiscussionRecord['last_author'] | undefined;
};

/**
 * Records as rows of a list show them: with the hue of their category, and links that stay on this site. In the list of a
 * category, rows need not say that they are in it, and what is pinned in it alone is so.
 */
export function listItems(
  records: readonly DiscussionRecord[],
  categories: readonly Category[],
  listed?: Category,
): readonly ListItem[] {
  const hues = new Map(categories.map(({ id, hue }) => [id, hue]));
  return records.map((record) => ({
    ...record,
    is_pinned: record.pinned_in === 'everywhere' || (record.is_pinned && listed !== undefined),
    url: discussionPath(record),
    category: record.category_id === listed?.id ? undefined : { ...record.category, hue: hues.get(record.category_id) },
    last_author: record.reply_count > 0 ? record.last_author : undefined,
  }));
}
