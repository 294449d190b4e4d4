import { HttpError } from '../errors.ts';

// Connection failures of node, of PostgreSQL (class 08, shutting down, starting, too many), of the pool, and of Redis;
// and what is right when it is tried again: a statement that took too long, two transactions that waited for each
// other.
const UNAVAILABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '57014',
  '40001',
  '40P01',
]);
const UNAVAILABLE_MESSAGES = new RegExp(
  [
    'connection terminated',
    'not queryable',
    'timeout exceeded when trying to connect',
    'cannot use a pool after',
    "stream isn't writeable",
    'connection is closed',
    'command timed out',
    'max retries per request',
  ].join('|'),
  'i',
);
/** The system's and PostgreSQL's words for a full disk. */
const DISK_FULL_CODES = new Set(['ENOSPC', 'EDQUOT', '53100']);
/**
 * Seconds after which to retry: a connection comes back by itself, another server takes over, a person has to free disk
 * space.
 */
const RETRY_AFTER = { unavailable: '5', readOnly: '30', full: '60' };
/** PostgreSQL's code for a write where nothing may be written: a standby, or a server that was set to be read only. */
const READ_ONLY_CODE = '25006';

/**
 * Anything thrown as the answer that it becomes: 503 where the data could not be reached or takes no writes, 507 where
 * there is no room for more. Both say nothing about the request, which may be sent again. Whatever else may not be shown
 * is a 500, and to be logged.
 */
export function failureOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  // A `TypeError` is `fetch`'s own: below it stands why another server was not reached, in the same codes.
  for (
    let at = error, depth = 0;
    at instanceof Error && !(at instanceof TypeError) && depth < 8;
    at = at.cause, depth++
  ) {
    const code = String((at as { code?: unknown }).code ?? '');
    if (DISK_FULL_CODES.has(code)) {
      const headers = { 'Retry-After': RETRY_AFTER.full };
      return new HttpError(507, 'There is no room left to store this; try again later', {
        code: 'storage_full',
        headers,
        cause: error,
      });
    }
    if (code === READ_ONLY_CODE) {
      const headers = { 'Retry-After': RETRY_AFTER.readOnly };
      return new HttpError(503, 'The site is read-only at the moment: nothing can be written; try again soon', {
        code: 'read_only',
        headers,
        cause: error,
      });
    }
    if (UNAVAILABLE_CODES.has(code) || /^08...$/.test(code) || UNAVAILABLE_MESSAGES.test(at.message)) {
      return new HttpError(503, 'The site cannot reach its data at the moment; try again soon', {
        headers: { 'Retry-After': RETRY_AFTER.unavailable },
        cause: error,
      });
    }
  }
  return new HttpError(500, 'Something went wrong on the server', { cause: error });
}
