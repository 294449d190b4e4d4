import type { Environment } from 'parley-forum';
import type { Account, Accounts } from 'parley-forum/plugins/accounts';
import type { DiscussionRecord } from 'parley-forum/plugins/discussions';
import type { SearchResult } from 'parley-forum/plugins/search';
import { escapeHtml } from 'parley-forum/plugins/web';
import { MARKERS, type FoundRow } from './statements.ts';

/** Text of members escaped first, then what was found marked. */
const marked = (excerpt: string): string =>
  escapeHtml(excerpt).replaceAll(MARKERS.begin, '<mark>').replaceAll(MARKERS.end, '</mark>');

/** Results come without those whose discussion vanished while they were looked for. */
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

/** Each discussion with the excerpt of the post that fits best. */
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
  { id, username, avatarUrl, joinedAt }: Account,
  text: string,
  baseUrl: string,
): SearchResult {
  const at = username.toLowerCase().indexOf(text.toLowerCase());
  const [before, found, after] = [
    username.slice(0, at),
    username.slice(at, at + text.length),
    username.slice(at + text.length),
  ];
  return {
    type: 'users',
    id,
    title: username,
    url: `${baseUrl}/u/${encodeURIComponent(username)}`,
    excerpt: marked(`${before}${MARKERS.begin}${found}${MARKERS.end}${after}`),
    author: { id, username, avatar_url: avatarUrl },
    discussion_id: null,
    number: null,
    category_id: null,
    created_at: joinedAt.toISOString(),
  };
}
