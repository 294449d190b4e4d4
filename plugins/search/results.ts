import type { Environment } from 'parley-forum';
import { nameOf, type Account, type Accounts } from 'parley-forum/plugins/accounts';
import type { DiscussionRecord } from 'parley-forum/plugins/discussions';
import type { SearchResult } from 'parley-forum/plugins/search';
import { escapeHtml } from 'parley-forum/plugins/web';
import { MARKERS, type FoundRow } from './statements.ts';

/** Escapes members' text before marking the matches. */
const marked = (excerpt: string): string =>
  escapeHtml(excerpt).replaceAll(MARKERS.begin, '<mark>').replaceAll(MARKERS.end, '</mark>');

/** Omits results whose discussion disappeared during the search. */
function withRecord<T>(
  rows: readonly FoundRow[],
  records: readonly DiscussionRecord[],
  make: (row: FoundRow, record: DiscussionRecord) => T,
): T[] {
  const byId = new Map(records.map((record) => [record.id, record]));
  return rows.flatMap((row) => {
    const record = byId.get(row.discussion_id);
    return record ? [make(row, record)] : [];
  });
}

/** Each discussion with an excerpt of its best matching post. */
export const discussionResults = (rows: readonly FoundRow[], records: readonly DiscussionRecord[]): SearchResult[] =>
  withRecord(rows, records, ({ excerpt }, { id, number, title, url, author, category_id, created_at }) => ({
    type: 'discussions',
    id,
    title,
    url,
    excerpt: marked(excerpt),
    author,
    discussion_id: id,
    number,
    category_id,
    created_at,
  }));

export async function postResults(
  rows: readonly FoundRow[],
  records: readonly DiscussionRecord[],
  { accounts, environment }: { readonly accounts: Accounts; readonly environment: Environment },
): Promise<SearchResult[]> {
  const authors = await accounts.authors(rows.map((row) => row.author_id));
  return withRecord(rows, records, (row, { title, number: discussion, url }) => ({
    type: 'posts',
    id: row.id,
    title,
    url: row.number === 1 ? url : `${environment.baseUrl}/d/${discussion}/${row.number}#post-${row.number}`,
    excerpt: marked(row.excerpt),
    author: authors.get(row.author_id) ?? null,
    discussion_id: row.discussion_id,
    number: row.number,
    category_id: row.category_id,
    created_at: row.created_at.toISOString(),
  }));
}

export function memberResult(
  { id, username, displayName, avatarUrl, joinedAt }: Account,
  text: string,
  baseUrl: string,
): SearchResult {
  const author = { id, username, display_name: displayName, avatar_url: avatarUrl };
  const name = nameOf(author);
  const at = name.toLowerCase().indexOf(text.toLowerCase());
  const end = at + text.length;
  const [before, found, after] = [name.slice(0, at), name.slice(at, end), name.slice(end)];
  return {
    type: 'users',
    id,
    title: displayName ?? username,
    url: `${baseUrl}/u/${encodeURIComponent(username)}`,
    // The name may be spelt differently from the query, so there is not always a match to mark.
    excerpt: at < 0 ? marked(name) : marked(`${before}${MARKERS.begin}${found}${MARKERS.end}${after}`),
    author,
    discussion_id: null,
    number: null,
    category_id: null,
    created_at: joinedAt.toISOString(),
  };
}
