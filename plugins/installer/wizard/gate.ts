import type { Http, Request, RequestHandler, Response } from 'parley-forum';
import { DATA_POLICY, type Protection } from 'parley-forum/plugins/protection';

export interface GateDeps {
  readonly protection: Protection;
  readonly http: Http;
  readonly installed: () => boolean;
}

/** Seconds after which a program may retry. */
const RETRY_AFTER = '30';
const isBelow = (path: string, prefix: string): boolean => path === prefix || path.startsWith(`${prefix}/`);

/** Until there is a forum, only the installer is let through: pages redirect to it, programs get 503. */
export function createGate({ protection, http, installed }: GateDeps): RequestHandler {
  return (req, res, next) => {
    if (installed() || isBelow(req.path, '/install')) return next();
    for (const [name, value] of protection.headers(DATA_POLICY)) res.setHeader(name, value);
    res.set({ 'Cache-Control': 'no-store', 'X-Request-Id': http.requestId(req) });
    if (isBelow(req.path, '/api'))
      return unavailable(req, res, http, { error: 'Nothing is installed here yet', seconds: RETRY_AFTER });
    res.redirect(302, '/install');
  };
}

/** 503 with the API's failure envelope. */
export function unavailable(
  req: Request,
  res: Response,
  http: Http,
  { error, seconds }: { readonly error: string; readonly seconds: string },
): void {
  res
    .status(503)
    .set('Retry-After', seconds)
    .json({ success: false, error, code: 'unavailable', request_id: http.requestId(req) });
}
