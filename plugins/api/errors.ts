import type { HttpError } from 'parley-forum';
import { translateFailure } from 'parley-forum/plugins/api';

interface Reader {
  /** Whether the reader sees the message for operators. */
  readonly staff: boolean;
  /** Translates a message into the reader's language. */
  say(message: string): string;
}

export function errorEnvelope(failure: HttpError, requestId: string, { staff, say }: Reader): object {
  const { operators, code } = failure;
  const { message, details } = translateFailure(failure, say);
  return {
    success: false,
    error: staff && operators !== undefined ? say(operators) : message,
    code,
    ...(details.length > 0 && { details }),
    request_id: requestId,
  };
}
