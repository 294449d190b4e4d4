import type { Viewer } from 'parley-forum/plugins/access';
import type { HeldPostRecord } from 'parley-forum/plugins/approval';
import type { Categories, Discussions } from 'parley-forum/plugins/discussions';
import type { Markdown } from 'parley-forum/plugins/markdown';
import { SafeHtml } from 'parley-forum/plugins/web';
import type { HeldRow } from './rows.ts';

/** Bytes of HTML up to which a text is shown among others, and characters of what is shown of a longer one. */
const MOST_HTML = 20_000;
const EXCERPT = 600;

/** The text as it will look; among others a long one is cut to its first words. */
export const shownText = (
  { html, content }: Pick<HeldPostRecord, 'html' | 'content'>,
  markdown: Pick<Markdown, 'excerpt'>,
  whole: boolean,
): { readonly shown?: SafeHtml; readonly excerpt?: string } =>
  whole || html.length <= MOST_HTML ? { shown: new SafeHtml(html) } : { excerpt: markdown.excerpt(content, EXCERPT) };

/** Where a post goes, as far as the viewer sees it: the discussion of a reply, the category of a discussion. */
export interface Place {
  readonly label: string;
  readonly href: string;
}

/** For a page of posts in one statement at most. */
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
