import type { HttpError } from '#core';

export { presentable } from '#plugins/protection';

/** The failure envelope. */
export const envelope = ({ message, code, details }: HttpError, requestId: string): object => ({
  success: false, error: message, code, ...(details.length > 0 && { details }), request_id: requestId,
});
