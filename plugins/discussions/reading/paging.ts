import { decodePosition, encodeCursor } from 'parley-forum/plugins/api';

/** The paging parameters of a request for posts. */
export interface PostsRequest {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
  readonly near?: number | undefined;
  readonly descending?: boolean;
}
export interface PostWindow {
  /** Numbers of the first and last post on the page, both inclusive; `from` is greater than `to` for an empty page. */
  readonly from: number;
  readonly to: number;
  readonly descending: boolean;
  readonly hasMore: boolean;
  readonly nextCursor: string | undefined;
}

/**
 * The range of post numbers on a page. Numbers have no gaps, so an offset costs nothing. `near` selects the page
 * containing that post, or the last page for a number beyond the end.
 */
export function postWindow(
  last: number,
  { limit, offset = 0, cursor, near, descending = false }: PostsRequest,
): PostWindow {
  const position = cursor === undefined ? undefined : decodePosition(cursor);
  const skipped = near === undefined ? offset : Math.floor((Math.min(Math.max(near, 1), last) - 1) / limit) * limit;
  if (descending) {
    const to = Math.max(0, Math.min(last, (position ?? last + 1) - 1) - skipped);
    const from = Math.max(1, to - limit + 1);
    const hasMore = to >= from && from > 1;
    return { from, to, descending, hasMore, nextCursor: hasMore ? encodeCursor([from]) : undefined };
  }
  // Clamped, because a number far beyond the end would not fit into the database's integers.
  const from = Math.min(last, (position ?? 0) + skipped) + 1;
  const to = Math.min(last, from + limit - 1);
  const hasMore = to >= from && to < last;
  return { from, to, descending, hasMore, nextCursor: hasMore ? encodeCursor([to]) : undefined };
}
