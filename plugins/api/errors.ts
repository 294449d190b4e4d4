import type { HttpError } from 'parley-forum';

export { presentable } from 'parley-forum/plugins/protection';

/** The failure envelope; staff are told what those who run the site should know. */
export const envelope = (
  { message, operators, code, details }: HttpError,
  requestId: string,
  staff = false,
): object => ({
  success: false,
  error: staff ? (operators ?? message) : message,
  code,
  ...(details.length > 0 && { details }),
  request_id: requestId,
});
