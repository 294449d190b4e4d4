import { decodePosition, encodeCursor } from 'parley-forum/plugins/api';

/** What a page of posts may be asked for. */
export interface PostsRequest {
  readonly limit: number;
  readonly offset?: number | undefined;
  readonly cursor?: string | undefined;
  readonly near?: number | undefined;
  readonly descending?: boolean;
}
export interface PostWindow {
  /** Numbers of the first and last post of the page, both included; `from` above `to` for an empty page. */
  readonly from: number;
  readonly to: number;
  readonly descending: boolean;
  readonly hasMore: boolean;
  readonly nextCursor: string | undefined;
}

/**
 * Which numbers a page of posts has. Numbers have no gaps, so an offset costs nothing. `near` opens the page that has
 * that post; a number beyond the end opens the last one.
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
  // Far beyond the end no number fits the database's integers.
  const from = Math.min(last, (position ?? 0) + skipped) + 1;
  const to = Math.min(last, from + limit - 1);
  const hasMore = to >= from && to < last;
  return { from, to, descending, hasMore, nextCursor: hasMore ? encodeCursor([to]) : undefined };
}
