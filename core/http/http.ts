import type { IncomingMessage, ServerResponse } from 'node:http';
import { defineToken } from '../ref.ts';

/**
 * What is known of a request before anything of it is read. A plugin provides it, which knows the proxies in between.
 */
export interface Http {
  /** The client’s IP address, spelled in one way. */
  ip(req: IncomingMessage): string;
  /**
   * Whether the client's own connection is encrypted: where the site's address is https, all are. Cookies are made and
   * read by this.
   */
  secure(req: IncomingMessage): boolean;
  /** Identifies the request in logs and error answers. */
  requestId(req: IncomingMessage): string;
  /** Sets the headers that protect an answer, on one that no surface gives. */
  protect(res: ServerResponse): void;
  /**
   * Aborts when the server starts to stop: answers that would go on for ever end themselves then, all others are waited
   * for.
   */
  readonly closing: AbortSignal;
}
export const Http = defineToken<Http>('Http');
