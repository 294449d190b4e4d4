import type { Category, DiscussionRecord } from 'parley-forum/plugins/discussions';
import { discussionPath } from '../identifiers.ts';

/** A row of a list, as templates expect it. */
export type ListItem = Omit<DiscussionRecord, 'category' | 'last_author'> & {
  /** Absent in the list of the category itself. */
  readonly category: (DiscussionRecord['category'] & { readonly hue: number | undefined }) | undefined;
  /** Absent if there are no replies. */
  readonly last_author: DiscussionRecord['last_author'] | undefined;
};

/**
 * Converts records to the rows of a list: with the hue of their category, and relative links. In the list of a
 * category, rows omit the category and show discussions pinned in it as pinned.
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
