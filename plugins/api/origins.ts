import type { IncomingMessage, ServerResponse } from 'node:http';

const EXPOSED = 'ETag, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

/** Lets pages of the named origins read answers; with bearer tokens only, cookies are never asked for. Others get no header at all. */
export function allowOrigin(req: IncomingMessage, res: ServerResponse, origins: readonly string[]): void {
  const { origin } = req.headers;
  if (origins.length === 0) return;
  res.appendHeader('Vary', 'Origin');
  if (origin === undefined || !origins.includes(origin)) return;
  res.setHeader('Access-Control-Allow-Origin', origin);
  res.setHeader('Access-Control-Expose-Headers', EXPOSED);
  if (req.method !== 'OPTIONS' || req.headers['access-control-request-method'] === undefined) return;
  res.setHeader('Access-Control-Allow-Methods', 'GET, HEAD, POST, PUT, PATCH, DELETE');
  res.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, Idempotency-Key, If-None-Match');
  res.setHeader('Access-Control-Max-Age', '600');
}
