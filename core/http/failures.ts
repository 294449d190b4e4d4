import { HttpError } from '../errors.ts';

// Connection errors of Node, PostgreSQL (class 08, shutting down, starting up, too many connections), the pool and
// Redis; and failures that a retry may resolve: statement timeouts, serialization failures and deadlocks.
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
/** Error codes of the system and of PostgreSQL for a full disk. */
const DISK_FULL_CODES = new Set(['ENOSPC', 'EDQUOT', '53100']);
/**
 * Seconds for `Retry-After`: a connection recovers by itself, a failover takes longer, and disk space has to be freed
 * by a person.
 */
const RETRY_AFTER = { unavailable: '5', readOnly: '30', full: '60' };
/** PostgreSQL's SQLSTATE for a write to a standby or to a server set to read-only. */
const READ_ONLY_CODE = '25006';

/**
 * Turns anything thrown into an error response: 503 if the data is unreachable or read-only, 507 if the disk is full.
 * Neither says anything about the request, which may be retried. Everything else whose message must not be shown
 * becomes a 500, to be logged by the caller.
 */
export function failureOf(error: unknown): HttpError {
  if (error instanceof HttpError) return error;
  // A `TypeError` is thrown by `fetch`: its cause says with the same codes why another server was unreachable.
  for (
    let at = error, depth = 0;
    at instanceof Error && !(at instanceof TypeError) && depth < 8;
    at = at.cause, depth++
  ) {
    const code = String((at as { code?: unknown }).code ?? '');
    if (DISK_FULL_CODES.has(code)) {
      const headers = { 'Retry-After': RETRY_AFTER.full };
      return new HttpError(507, 'There is no space left to store this; try again later', {
        code: 'storage_full',
        headers,
        cause: error,
      });
    }
    if (code === READ_ONLY_CODE) {
      const headers = { 'Retry-After': RETRY_AFTER.readOnly };
      return new HttpError(503, 'The site is currently read-only: nothing can be written; try again soon', {
        code: 'read_only',
        headers,
        cause: error,
      });
    }
    if (UNAVAILABLE_CODES.has(code) || /^08...$/.test(code) || UNAVAILABLE_MESSAGES.test(at.message)) {
      return new HttpError(503, 'The site cannot reach its data right now; try again soon', {
        headers: { 'Retry-After': RETRY_AFTER.unavailable },
        cause: error,
      });
    }
  }
  return new HttpError(500, 'Something went wrong on the server', { cause: error });
}
