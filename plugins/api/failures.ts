import { HttpError } from '#core';

// Connection failures of node, of PostgreSQL (class 08 and shutting down) and of the pool.
const CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENOTFOUND', '57P01', '57P02', '57P03', '53300']);
const MESSAGES = /connection terminated|timeout exceeded when trying to connect|cannot use a pool after/i;

/** Whether the database could not be reached: what failed says nothing about the request, which may be tried again. */
function away(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    const code = String((at as { code?: unknown }).code ?? '');
    if (CODES.has(code) || /^08...$/.test(code) || MESSAGES.test(at.message)) return true;
  }
  return false;
}

/** What may be shown of `error`; `undefined`: nothing, it is a fault of ours and to be logged. */
export function presentable(error: unknown): HttpError | undefined {
  if (error instanceof HttpError) return error;
  if (away(error)) return new HttpError(503, 'The forum cannot reach its data at the moment; try again soon', { headers: { 'Retry-After': '5' }, cause: error });
  return undefined;
}

/** The failure envelope. */
export const envelope = ({ message, code, details }: HttpError, requestId: string): object => ({
  success: false, error: message, code, ...(details.length > 0 && { details }), request_id: requestId,
});
