import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../logger.ts';
import { Http } from './http.ts';
import type { RouteRegistry } from './routes.ts';

/** The W3C trace context header: version, trace id, parent id, flags. */
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}$/;

/**
 * Logs a line for each request, including those answered from a cache, once the response has been sent or the client
 * has disconnected. Query strings, and credentials in paths, are left out.
 */
export const logRequests =
  (log: Logger, routes: RouteRegistry) =>
  (req: IncomingMessage, res: ServerResponse, answer: () => void): void => {
    const begun = performance.now();
    const http = routes.service(Http);
    // Read now: once the connection is closed the address is no longer available.
    const address = http?.ip(req);
    res.once('close', () => {
      const trace = TRACEPARENT.exec(String(req.headers['traceparent']))?.[1];
      log.info(
        {
          request: http?.requestId(req),
          ...(trace !== undefined && { trace }),
          address,
          method: req.method,
          path: routes.pathForLog(req),
          status: res.statusCode,
          milliseconds: Math.round(performance.now() - begun),
          ...(!res.writableFinished && { left: true }),
        },
        'answered',
      );
    });
    answer();
  };
