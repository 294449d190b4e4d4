import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from '../logger.ts';
import { Http } from './http.ts';
import type { RouteRegistry } from './routes.ts';

/** The header by which tracing systems follow a request: version, trace, span, flags. */
const TRACEPARENT = /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}$/;

/**
 * Writes a line for each request, kept answers included, when its answer has gone out or whoever asked has left. What a
 * query holds, and a credential in a path, is not in it.
 */
export const logRequests =
  (log: Logger, routes: RouteRegistry) =>
  (req: IncomingMessage, res: ServerResponse, answer: () => void): void => {
    const begun = performance.now();
    const http = routes.service(Http);
    // Once the connection is gone nobody knows it.
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
