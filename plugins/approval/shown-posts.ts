import type { Viewer } from 'parley-forum/plugins/access';
import type { HeldPostRecord } from 'parley-forum/plugins/approval';
import type { Categories, Discussions } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { SafeHtml } from 'parley-forum/plugins/web';
import type { HeldRow } from './rows.ts';

/**
 * The length of HTML up to which a text is shown whole in lists, and the length of the excerpt of a longer one, in
 * characters.
 */
const MOST_HTML = 20_000;
const EXCERPT = 600;

/** The rendered text; in lists a long one is replaced by an excerpt. */
export const shownText = (
  { html, content }: Pick<HeldPostRecord, 'html' | 'content'>,
  markdown: Pick<Markdown, 'excerpt'>,
  whole: boolean,
): { readonly shown?: SafeHtml; readonly excerpt?: string } =>
  whole || html.length <= MOST_HTML ? { shown: new SafeHtml(html) } : { excerpt: markdown.excerpt(content, EXCERPT) };

/**
 * Where a post goes, as far as the viewer can see it: the discussion of a reply, or the category of a new discussion.
 */
export interface Place {
  readonly label: string;
  readonly href: string;
}

/** For a whole page of posts, with at most one statement. */
export async function placesOf(
  rows: readonly HeldRow[],
  viewer: Viewer,
  { categories, discussions }: { readonly categories: Categories; readonly discussions: Pick<Discussions, 'records'> },
): Promise<(row: HeldRow) => Place | undefined> {
  const ids = [...new Set(rows.flatMap((row) => row.discussion_id ?? []))];
  const records = ids.length === 0 ? [] : await discussions.records(ids, viewer);
  await categories.refresh();
  return ({ discussion_id: discussionId, category_id: categoryId }) => {
    if (discussionId === null) {
      const category = categories.find(categoryId, viewer);
      return category && { label: category.name, href: `/c/${encodeURIComponent(category.slug)}` };
    }
    const found = records.find(({ id }) => id === discussionId);
    return found && { label: found.title, href: `/d/${found.number}` };
  };
}
