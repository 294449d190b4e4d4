import type { HttpError } from 'parley-forum';

/** The error envelope; staff see the message for operators. */
export const errorEnvelope = (
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
