import { defineToken, Type, type Static } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';
import { Author, type Author as AuthorRecord } from 'parley-forum/plugins/accounts';
import type { DiscussionHead, DiscussionRecord } from 'parley-forum/plugins/discussions';
import { nullable, Time, type Page } from 'parley-forum/plugins/api';
import { defineSlot } from 'parley-forum/plugins/web';

export const SEARCH_TYPES = ['discussions', 'posts', 'users'] as const;
export type SearchType = (typeof SEARCH_TYPES)[number];
export const SEARCH_SORTS = ['relevance', 'newest'] as const;
export type SearchSort = (typeof SEARCH_SORTS)[number];

/** One result. `excerpt` is safe HTML: escaped text with matches in `<mark>`. */
export const SearchResult = Type.Object({
  type: Type.Enum([...SEARCH_TYPES]),
  id: Type.String(),
  title: Type.String(),
  url: Type.String(),
  excerpt: Type.String(),
  author: nullable(Author),
  discussion_id: nullable(Type.String()),
  number: nullable(Type.Integer()),
  category_id: nullable(Type.String()),
  created_at: Time,
});
export type SearchResult = Static<typeof SearchResult> & { readonly author: AuthorRecord | null };

export interface SearchRequest {
  /** Words, `"phrases"`, `-not`, `author:`, `category:`, `tag:`, `before:`, `after:`. */
  readonly q: string;
  readonly type: SearchType;
  /** `relevance` by default; members are ordered by name. */
  readonly sort?: SearchSort | undefined;
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Finds discussions, posts and members. */
export interface Search {
  /**
   * Results are ranked by relevance and recency, and limited to what the viewer may see. Throws 400 for an empty or
   * unusable query, and 503, with advice, for one that took longer than 2 s.
   */
  search(request: SearchRequest, viewer: Viewer): Promise<Page<SearchResult>>;
  /**
   * Visible discussions whose titles contain at least half of the significant words of a title, closest first. The last
   * word may be incomplete. Returns none for fewer than three characters.
   */
  similar(title: string, viewer: Viewer): Promise<readonly DiscussionRecord[]>;
  /**
   * Other visible discussions whose title or first post contains at least two words of a discussion's title, closest
   * first.
   */
  related(discussion: Pick<DiscussionHead, 'id' | 'title'>, viewer: Viewer): Promise<readonly DiscussionRecord[]>;
}
export const Search = defineToken<Search>('Search');

/** Cache tag of everything that shows search results, purged when more can be found than before. */
export const searchTag = 'search';

export const searchFilters = defineSlot<object>(
  'search.filters',
  'On the search page, between the field and the results.',
);
