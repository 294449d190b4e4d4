import type { IncomingMessage, ServerResponse } from 'node:http';
import { defineToken } from '../ref.ts';

/**
 * Facts about a request that are known before any of it is read. Provided by a plugin, because they depend on the
 * proxies in front of the server.
 */
export interface Http {
  /** The client’s IP address in normalised form. */
  ip(req: IncomingMessage): string;
  /**
   * Whether the client's own connection is encrypted; always true if the site's address is https. Decides how cookies
   * are set and read.
   */
  secure(req: IncomingMessage): boolean;
  /** Identifies the request in logs and error responses. */
  requestId(req: IncomingMessage): string;
  /** Sets the security headers on a response that no surface sends. */
  protect(res: ServerResponse): void;
  /**
   * Aborts when the server starts to shut down: streaming responses must end then, while the server waits for all
   * others.
   */
  readonly closing: AbortSignal;
}
export const Http = defineToken<Http>('Http');
